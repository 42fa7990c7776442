package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"syscall"

	"github.com/feedtree/feedtree"
	"github.com/feedtree/feedtree/feed"
	"github.com/feedtree/feedtree/feed/fetch"
	"github.com/feedtree/feedtree/proxy"
)

type proxyCmd struct {
	Listen    string   `help:"Address for readers." default:"127.0.0.1:8089" group:"Readers"`
	Host      []string `help:"Name that readers use for this machine, if they are on others. Repeatable." placeholder:"NAME" group:"Readers"`
	PublicURL string   `name:"public-url" help:"Where the outside reaches this proxy, for hints about news and nothing else: pings, webhooks, and the WebSub hubs of feeds, which are asked to send there." placeholder:"URL" group:"Readers"`
	Data      string   `help:"Directory for items, keys and peers. Default: feedtree in $XDG_DATA_HOME or ~/.local/share; of a systemd service its StateDirectory." type:"path" placeholder:"DIR"`

	Labels bool `help:"Say at the end of each item that readers are served why it is believed." group:"Readers"`

	networkFlags
	originFlags
	pollFlags
	keepFlags
}

// Help teaches the command.
func (proxyCmd) Help() string {
	return `Runs until it is interrupted. Open http://127.0.0.1:8089/ for the status page. In your reader, put http://127.0.0.1:8089/feed/ in front of a feed's own address; /rss/, /atom/ and /json/ convert it.

Whoever publishes beside it can say that there is news: WordPress with http://127.0.0.1:8089/ping as update service, others with a POST to /hub (WebSub) or to /hook/ and the feed's address.

Private feeds (on your network, or with a token in the address) are served too, but stay on this machine.

Examples:

    feedtree proxy
    feedtree proxy --listen 0.0.0.0:8089 --host nas.local
    feedtree proxy --p2p-listen /ip4/0.0.0.0/udp/4001/quic-v1 --poll-min 1h
    FEEDTREE_DATA=/var/lib/feedtree feedtree proxy --config /etc/feedtree.conf

To move in, export the list of feeds from your reader (OPML), drop it on the page, and import what the page gives back; or use feedtree opml wrap. ` + proxy.ReadersText()
}

// Validate refuses an address that nobody could reach.
func (c proxyCmd) Validate() error {
	if err := errors.Join(c.pollFlags.Validate(), c.keepFlags.Validate(), c.checkUpload()); err != nil || c.PublicURL == "" {
		return err
	}
	canonical, err := feed.Canonical(c.PublicURL)
	if err != nil {
		return fmt.Errorf("--public-url %s: it must begin with https:// or http:// and a name", c.PublicURL)
	}
	if ok, why := feed.Public(canonical); !ok {
		return fmt.Errorf("--public-url %s: the outside cannot reach it (%s)", c.PublicURL, why)
	}
	return nil
}

// Run serves until ctx ends.
func (c proxyCmd) Run(ctx context.Context, log *slog.Logger) (err error) {
	if c.Data == "" {
		if c.Data, err = defaultData(); err != nil {
			return err
		}
	}
	listener, err := listen(ctx, c.Listen)
	if err != nil {
		return err
	}
	defer listener.Close() // closed already unless the node did not start
	data, err := openDataWith(c.Data, c.limits())
	if err != nil {
		return err
	}
	defer closing(&err, data.Close)
	ctx, stop := context.WithCancel(ctx)
	var housekeeping sync.WaitGroup
	housekeeping.Go(func() { keep(ctx, data.archive, c.retention(), log) })
	defer housekeeping.Wait()
	defer stop()
	node, err := feedtree.New(ctx, feedtree.Config{
		Dir: data.path, Store: data.archive, Overlay: c.overlay(), Multicast: c.Multicast, Fetch: c.fetch(),
		Polling: c.polling(), Log: log,
	})
	if err != nil {
		return err
	}
	defer closing(&err, node.Close)
	base := "http://" + readable(listener.Addr())
	client, err := fetch.New(c.fetch())
	if err != nil {
		return err
	}
	defer client.Close()
	p := proxy.New(node, proxy.Config{
		Base: base, Hosts: append(c.Host, c.Listen), PublicURL: c.PublicURL, Labels: c.Labels, Client: client, Store: data.archive, Polling: c.polling(), MaxUpload: c.overlay().MaxUpload, Log: log,
		Disk: data.size, Damaged: func() int { return len(data.archive.Damage()) }, Version: version(),
	})
	service{log: log, check: p.Check}.run(ctx)
	log.Info("ready", "page", base+"/", "data", data.path, "peer", node.ID())
	log.Info("some readers refuse that address until they are told not to", readerSettings()...)
	return p.Serve(ctx, listener)
}

// readerSettings names them, for a line of the log.
func readerSettings() (attrs []any) {
	for _, r := range proxy.Readers() {
		if r.Setting != "" {
			attrs = append(attrs, r.Name, r.Setting)
		}
	}
	return attrs
}

// listen opens the address for readers, and explains if it cannot.
func listen(ctx context.Context, addr string) (net.Listener, error) {
	var config net.ListenConfig
	l, err := config.Listen(ctx, "tcp", addr)
	switch {
	case err == nil:
		return l, nil
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("%s is in use, perhaps by another feedtree proxy: stop that one, or choose another address with --listen", addr)
	}
	return nil, fmt.Errorf("--listen %s: %w", addr, err)
}

// readable writes an address that a browser on this machine can open.
func readable(addr net.Addr) string {
	at, ok := addr.(*net.TCPAddr)
	if ok && at.IP.IsUnspecified() {
		return fmt.Sprintf("127.0.0.1:%d", at.Port)
	}
	return addr.String()
}
