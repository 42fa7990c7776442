package kad

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	dht "github.com/libp2p/go-libp2p-kad-dht"
	"github.com/libp2p/go-libp2p/core/event"
	"github.com/libp2p/go-libp2p/core/host"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/p2p/host/eventbus"

	"github.com/feedtree/feedtree/overlay"
)

// Inbound is what a node calls. The calls come from several goroutines, those
// about one peer in order; see the package's invariants 3, 4 and 7.
type Inbound interface {
	// Frame hands over a frame; it is the callee's. Blocking slows that peer.
	Frame(from overlay.ID, frame []byte)
	// Gone says that the link to a peer was lost, and what was queued on it.
	Gone(overlay.ID)
	// Routes says that NextHop and Closest may answer differently now.
	Routes()
}

const (
	refreshEvery = time.Hour              // of what nobody looked up meanwhile, as Kademlia has it
	lookupWidth  = 5                      // nodes asked at a time
	farewell     = 500 * time.Millisecond // for neighbours to take what is queued
	closeLimit   = 2 * time.Second
)

// Node is one node of the overlay. Its methods may be called at any time from any
// goroutine, those that reach for others only after Start.
type Node struct {
	set     *settings
	host    host.Host
	dht     *dht.IpfsDHT
	in      Inbound
	table   *table
	links   *links
	learned learned
	reach   *reach
	local   announcement
	public  rendezvous
	woken   alarm // rings when waiting makes no sense any more
	count   counters
	meter   *meter

	companion atomic.Pointer[peer.ID] // the one found connected last
	life
}

var _ overlay.Router = (*Node)(nil)

// life is how a node ends: ctx is cancelled, then everything it runs is awaited.
type life struct {
	ctx    context.Context
	cancel context.CancelFunc
	outs   sync.WaitGroup // watchers of outbound streams

	mu      sync.Mutex
	started bool
	closing bool
	work    sync.WaitGroup // whatever began with enter
}

// New makes a node that does not listen yet. It must be closed.
func New(c Config) (*Node, error) {
	set, err := c.check()
	if err != nil {
		return nil, fmt.Errorf("overlay: %w", err)
	}
	n := &Node{
		set: set, links: newLinks(),
		learned: learned{known: make(map[peer.ID]bool)}, meter: newMeter(set.MaxUpload),
	}
	n.outs.Add(1) // until Close waits
	n.ctx, n.cancel = context.WithCancel(context.Background())
	n.reach = newReach(n)
	if n.host, err = newHost(set, n.reach, &n.count, n.meter); err != nil {
		n.cancel()
		return nil, fmt.Errorf("overlay: %w", err)
	}
	mode := dht.ModeAutoServer // a server until nobody seems to be able to dial us
	if set.Client {
		mode = dht.ModeClient
	}
	n.dht, err = dht.New(n.host,
		dht.ProtocolPrefix(set.dhtPrefix()), dht.Mode(mode), dht.BucketSize(set.BucketSize), dht.Concurrency(lookupWidth),
		dht.DisableProviders(), dht.DisableValues(),
		dht.RoutingTableRefreshPeriod(refreshEvery))
	if err != nil {
		n.cancel()
		return nil, errors.Join(fmt.Errorf("overlay: %w", err), n.host.Close())
	}
	n.table = newTable(n.Self().Key(), n.dht.RoutingTable())
	return n, nil
}

// Start listens and begins to join; it does not wait for others. The node
// lives until Close, whatever becomes of ctx. An address it cannot listen on is an
// error; the node then has to be closed.
func (n *Node) Start(ctx context.Context, in Inbound) error {
	n.mu.Lock()
	if n.started || n.closing {
		n.mu.Unlock()
		return errors.New("overlay: started before, or closed")
	}
	n.started, n.in = true, in
	n.mu.Unlock()
	sub, err := n.subscribe()
	if err != nil {
		return fmt.Errorf("overlay: %w", err)
	}
	if n.reach.tell, err = n.host.EventBus().Emitter(new(event.EvtLocalReachabilityChanged), eventbus.Stateful); err != nil {
		return errors.Join(fmt.Errorf("overlay: %w", err), sub.Close())
	}
	n.host.Network().Notify(&network.NotifyBundle{
		ConnectedF:    func(_ network.Network, c network.Conn) { n.reach.opened(c); n.vet(c) },
		DisconnectedF: func(_ network.Network, c network.Conn) { n.reach.closed(c); n.meter.closed(c) },
	})
	n.host.SetStreamHandler(n.set.treeProtocol(), n.accept)
	if err := errors.Join(ctx.Err(), listen(n.host, n.set)); err != nil {
		return errors.Join(fmt.Errorf("overlay: %w", err), sub.Close())
	}
	n.goes(func() { n.follow(sub) })
	for _, f := range []func(){n.tend, n.announce, n.kick, n.recall} {
		n.goes(f)
	}
	if len(n.set.rendezvous) > 0 {
		n.goes(n.attend)
	}
	for _, info := range n.set.bootstrap {
		if info.ID != n.host.ID() {
			n.goes(func() { n.pursue(info) })
		}
	}
	n.announceLocally()
	return nil
}

// Close sends what is queued, as long as neighbours take it at once, and ends the
// node within two seconds. A callback that blocks for longer makes it return an
// error. The second Close does nothing.
func (n *Node) Close() error {
	n.mu.Lock()
	if n.closing {
		n.mu.Unlock()
		return nil
	}
	n.closing = true
	n.mu.Unlock()
	limit := time.After(closeLimit)
	for _, s := range n.links.close() {
		endStream(s)
	}
	n.outs.Done()
	waitFor(n.outs.Wait, time.After(farewell))
	n.cancel()
	var errs []error
	ended := waitFor(func() {
		errs = append(errs, n.local.end(), n.dht.Close(), n.host.Close())
		n.work.Wait()
	}, limit)
	if !ended {
		return errors.New("overlay: closed, but something still runs: a callback blocks")
	}
	return errors.Join(errs...)
}

// waitFor reports whether f returned in time.
func waitFor(f func(), limit <-chan time.Time) bool {
	done := make(chan struct{})
	go func() { defer close(done); f() }()
	select {
	case <-done:
		return true
	case <-limit:
		return false
	}
}

// close lets every writer finish what it has and takes nothing more. It returns the
// streams that have no writer, to be ended.
func (ls *links) close() (streams []network.Stream) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	ls.closed = true
	for _, l := range ls.byPeer {
		l.finish = true
		if l.wake != nil {
			l.nudge()
		} else if l.out != nil {
			streams = append(streams, l.out)
			l.out = nil
		}
	}
	return streams
}

// enter begins something that Close has to wait for; it reports false if the
// node is closing already.
func (l *life) enter() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closing {
		return false
	}
	l.work.Add(1)
	return true
}

func (l *life) leave() { l.work.Done() }

// goes runs f on a goroutine that Close waits for.
func (l *life) goes(f func()) {
	if l.enter() {
		go func() { defer l.leave(); f() }()
	}
}
