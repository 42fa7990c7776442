package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/feedtree/feedtree"
	"github.com/feedtree/feedtree/feed/fetch"
	"github.com/feedtree/feedtree/feed/store"
	"github.com/feedtree/feedtree/overlay/kad"
	"github.com/feedtree/feedtree/proxy"
)

type demoCmd struct {
	Nodes int           `help:"How many nodes." default:"8" env:"-"`
	For   time.Duration `help:"How long." default:"30s" env:"-"`
}

// Help teaches the command.
func (demoCmd) Help() string {
	return `Runs a web site, a publisher, volunteers and readers on this machine, all with real connections, and tells what happens: items that the publisher pushes, items that a volunteer finds on the site for everybody, a volunteer that goes away, a forger that nobody believes. Open the address it prints to see the status page of one node.

Examples:

    feedtree demo
    feedtree demo --nodes 20 --for 2m`
}

const (
	fewestDemoNodes, mostDemoNodes = 3, 50
	demoPoll                       = 2 * time.Second
	demoScenes                     = 9 // that the time is divided into
)

// demo is the show: nodes on one stage, and who has seen what.
type demo struct {
	out     io.Writer
	begun   time.Time
	site    *demoSite
	nodes   []*demoNode
	forger  *demoNode
	arrived chan arrival
	awaited map[string]*awaited // by title
	results []*awaited
	fooled  int // nodes that showed the forged item
}

// demoNode is one participant. The first one has the page, the last publishes.
type demoNode struct {
	*feedtree.Node
	name  string
	store store.Store
	gone  bool
}

// Run runs the show.
func (c demoCmd) Run(ctx context.Context, t terminal) (err error) {
	if c.Nodes < fewestDemoNodes || c.Nodes > mostDemoNodes {
		return fmt.Errorf("--nodes %d: between %d and %d", c.Nodes, fewestDemoNodes, mostDemoNodes)
	}
	d := &demo{
		out: t.Out, begun: time.Now(), arrived: make(chan arrival, 64), awaited: make(map[string]*awaited),
	}
	if d.site, err = openDemoSite(); err != nil {
		return err
	}
	defer closing(&err, d.site.close)
	defer d.close()
	if err := d.start(ctx, c.Nodes); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	page, err := d.openPage(ctx)
	if err != nil {
		return err
	}
	d.say("the page of node 1 is at %s", page)
	if err := d.subscribe(ctx); err != nil {
		return err
	}
	if err := d.play(ctx, c.For); err != nil {
		return err
	}
	return d.summary(c.For)
}

// say tells what happened, and when.
func (d *demo) say(format string, args ...any) {
	fmt.Fprintf(d.out, "%6.2fs  %s\n", time.Since(d.begun).Seconds(), fmt.Sprintf(format, args...))
}

// start brings up the nodes, each joining through the first, and a forger.
func (d *demo) start(ctx context.Context, n int) error {
	network := fmt.Sprintf("demo-%08x", rand.Uint32())
	for i := range n {
		node, err := d.node(ctx, network, fmt.Sprintf("node %d", i+1))
		if err != nil {
			return err
		}
		d.nodes = append(d.nodes, node)
	}
	d.say("%d nodes are up, in a network of their own", n)
	var err error
	d.forger, err = d.node(ctx, network, "the forger")
	return err
}

func (d *demo) node(ctx context.Context, network, name string) (*demoNode, error) {
	var bootstrap []string
	if len(d.nodes) > 0 {
		bootstrap = d.nodes[0].Addrs()
	}
	kept := store.NewMemory()
	node, err := feedtree.New(ctx, feedtree.Config{
		Store: kept,
		Overlay: kad.Config{
			Network: network, Listen: []string{"/ip4/127.0.0.1/udp/0/quic-v1"}, Bootstrap: bootstrap,
			NoMDNS: true, NoNAT: true, NoRendezvous: true,
		},
		Fetch:   fetch.Config{Resolve: d.site.resolve(), RootCAs: d.site.roots},
		Polling: feedtree.Polling{Min: demoPoll, Max: demoPoll},
	})
	if err != nil {
		return nil, err
	}
	return &demoNode{Node: node, name: name, store: kept}, nil
}

// openPage serves the proxy of the first node.
func (d *demo) openPage(ctx context.Context) (string, error) {
	l, err := listen(ctx, "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	base := "http://" + l.Addr().String()
	p := proxy.New(d.nodes[0].Node, proxy.Config{Base: base, Store: d.nodes[0].store})
	go func() { _ = p.Serve(ctx, l) }() // its end is the end of the show
	return base + "/", nil
}

// subscribe lets every node follow both feeds.
func (d *demo) subscribe(ctx context.Context) error {
	for _, n := range d.nodes {
		for _, url := range []string{d.site.news, d.site.blog} {
			sub, err := n.Subscribe(ctx, url)
			if err != nil {
				return err
			}
			go d.listen(ctx, n, sub)
		}
	}
	d.say("all of them follow %s, which its site only serves,", d.site.news)
	d.say("and %s, which its publisher pushes; %d requests so far", d.site.blog, d.site.requests())
	return nil
}

// listen passes on what a node gets.
func (d *demo) listen(ctx context.Context, n *demoNode, sub *feedtree.Subscription) {
	for u, err := range sub.Items(ctx) {
		if err != nil {
			return
		}
		select {
		case d.arrived <- arrival{n, u, time.Now()}:
		case <-ctx.Done():
			return
		}
	}
}

func (d *demo) publisher() *demoNode { return d.nodes[len(d.nodes)-1] }

// volunteer returns the node that polls the news for everybody, nil if none does
// at the moment.
func (d *demo) volunteer() *demoNode {
	for _, n := range d.nodes {
		if n.gone {
			continue
		}
		if f, ok := n.Feed(d.site.news); ok && f.Role == feedtree.RoleVolunteer {
			return n
		}
	}
	return nil
}

// close ends the nodes, all at once.
func (d *demo) close() {
	all := d.nodes
	if d.forger != nil {
		all = append(all, d.forger)
	}
	ended := make(chan error, len(all))
	for _, n := range all {
		go func() { ended <- n.Close() }()
	}
	for range all {
		if err := <-ended; err != nil {
			slog.New(slog.NewTextHandler(d.out, nil)).Warn("a node did not close well", "error", err)
		}
	}
}
