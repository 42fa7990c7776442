package gossip

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	pubsub "github.com/libp2p/go-libp2p-pubsub"
	"github.com/libp2p/go-libp2p/core/host"
	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/feedtree/feedtree/multicast"
	"github.com/feedtree/feedtree/multicast/internal/limbo"
	"github.com/feedtree/feedtree/overlay"
	"github.com/feedtree/feedtree/signing"
)

// Overlay is what gossip needs of the network. overlay/kad has it.
type Overlay interface {
	Self() overlay.ID
	Host() host.Host

	// Lookup searches for the nodes nearest to a name, nearest first, without Self.
	Lookup(ctx context.Context, name []byte) ([]overlay.ID, error)

	AddrsOf(overlay.ID) [][]byte
	Learn(id overlay.ID, addrs [][]byte)
	Keep(id overlay.ID, on bool)
}

// Metered is an [Overlay] that is told how much it may send.
type Metered interface {
	// Sparing reports whether so much was sent that nothing more must be for others.
	Sparing() bool
}

// Config sets up a Carrier. The zero value accepts every verified event and tells
// nobody.
type Config struct {
	Network  string        // the overlay's network, which is part of every protocol's name; empty: "main"
	Patience time.Duration // how long a hole in a line may close by itself; 0: 5 s
	Log      *slog.Logger  // nil: none
}

const (
	defaultNetwork  = "main"
	defaultPatience = 5 * time.Second // as long as peers hold an event to send it again

	peerQueue   = 1024 // messages that may wait for one peer; pubsub's own default is 32
	verifyQueue = 1024 // and to be verified, of all peers
	groupQueue  = 256  // events of one group that wait to be delivered
	arrivalRoom = 64   // between the groups and the loop
	againMost   = 1024 // events accepted but not forwarded that wait for the loop

	lookEvery = 250 * time.Millisecond // at holes and promises
)

// ErrClosed is returned by calls after Run has ended.
var ErrClosed = errors.New("the gossip carrier has ended")

// Carrier carries events by gossip. All methods are safe for concurrent use.
type Carrier struct {
	net    Overlay
	config Config
	out    multicast.Callbacks[*signing.Envelope]
	pubsub *pubsub.PubSub
	counts counts
	held   limbo.Limbo[arrival]
	asked  asked
	finder finder
	life   life

	box     chan arrival // from the groups, bounded: who waits here slows its group
	calls   sync.Mutex   // held while topics are opened and closed
	mu      sync.Mutex   // guards what follows, never held across a call to pubsub
	groups  map[multicast.Group]*group
	streams map[peer.ID]bool // peers to which pubsub has a stream: it sends to no others
	again   []arrival        // accepted but not forwarded; no more than againMost
}

var _ multicast.Carrier = (*Carrier)(nil)

type life struct {
	ctx  context.Context
	end  context.CancelFunc
	ran  atomic.Bool
	wake chan struct{} // one token: again is not empty

	mu     sync.Mutex
	closed bool
	work   sync.WaitGroup
}

// goes runs f on a goroutine that the end waits for; after the end, not at all.
func (l *life) goes(f func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.closed {
		l.work.Go(f)
	}
}

// arrival is an event that came, or a notice.
type arrival struct {
	group  *group
	env    *signing.Envelope
	from   overlay.ID
	notice multicast.Notice // if there is no envelope
}

// New makes a carrier on a node of the overlay, whose host speaks its protocols
// from now on. It must be run.
func New(o Overlay, c Config, out multicast.Callbacks[*signing.Envelope]) (*Carrier, error) {
	if c.Network == "" {
		c.Network = defaultNetwork
	}
	if c.Patience <= 0 {
		c.Patience = defaultPatience
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	g := &Carrier{
		net: o, config: c, out: out,
		box: make(chan arrival, arrivalRoom), groups: make(map[multicast.Group]*group), streams: make(map[peer.ID]bool),
	}
	g.life.ctx, g.life.end = context.WithCancel(context.Background())
	g.life.wake = make(chan struct{}, 1)
	var err error
	if g.pubsub, err = pubsub.NewGossipSub(g.life.ctx, o.Host(), g.options()...); err != nil {
		g.life.end()
		return nil, fmt.Errorf("multicast/gossip: %w", err)
	}
	o.Host().SetStreamHandler(g.protocol(), g.answer)
	return g, nil
}

// Run carries until ctx ends, then leaves all groups.
func (c *Carrier) Run(ctx context.Context) error {
	if c.life.ran.Swap(true) {
		return errors.New("multicast/gossip: Run was called before; make a new Carrier")
	}
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			c.close()
			return nil
		case a := <-c.box:
			c.take(a)
		case <-c.life.wake:
			c.mu.Lock()
			again := c.again
			c.again = nil
			c.mu.Unlock()
			for _, a := range again {
				c.take(a)
			}
		case now := <-tick.C:
			c.look(now)
		}
	}
}

// close leaves the groups, so that peers know, and ends everything.
func (c *Carrier) close() {
	c.calls.Lock()
	defer c.calls.Unlock()
	c.mu.Lock()
	groups := c.groups
	c.groups = make(map[multicast.Group]*group)
	c.mu.Unlock()
	for _, g := range groups {
		c.part(g)
	}
	c.net.Host().RemoveStreamHandler(c.protocol())
	c.life.end()
	c.life.mu.Lock()
	c.life.closed = true
	c.life.mu.Unlock()
	c.life.work.Wait()
}

// put hands something to the loop, unless the carrier ends first.
func (c *Carrier) put(ctx context.Context, a arrival) {
	select {
	case c.box <- a:
	case <-ctx.Done():
	}
}

// take delivers what came, if it is news to this node.
func (c *Carrier) take(a arrival) {
	if a.env == nil {
		c.tell(a.notice)
		return
	}
	event := eventOf(a.env)
	c.mu.Lock()
	if c.groups[event.Group] != a.group || !a.group.member {
		c.mu.Unlock()
		return // left meanwhile
	}
	cursor, lost, why := a.group.book.accept(event, time.Now(), c.config.Patience)
	c.mu.Unlock()
	if lost != nil {
		c.missing(event.Group, event.Stamp, *lost)
	}
	if why != "" {
		c.counts.refuse(why)
		return
	}
	c.counts.add(delivered)
	if c.out.Deliver != nil {
		c.out.Deliver(multicast.Delivery{Event: event, From: a.from, Via: multicast.ViaTree, Cursor: cursor}, a.env)
	}
}

// look finds the holes and promises whose time is up.
func (c *Carrier) look(now time.Time) {
	for range c.held.Expire(now) {
		c.counts.refuse(whyExpired)
	}
	var due []multicast.Notice
	c.mu.Lock()
	for id, g := range c.groups {
		for _, n := range g.book.due(now, c.config.Patience) {
			n.Group = id
			if g.member || n.Kind == multicast.BeatDue {
				due = append(due, n)
			}
		}
	}
	c.mu.Unlock()
	for _, n := range due {
		if n.Kind == multicast.Missing {
			c.missing(n.Group, n.Stamp, span{n.From, n.To})
		} else {
			c.tell(n)
		}
	}
}

func (c *Carrier) missing(g multicast.Group, s multicast.Stamp, lost span) {
	c.counts.add(missing)
	c.tell(multicast.Notice{Kind: multicast.Missing, Group: g, Stamp: s, From: lost.from, To: lost.to})
}

func (c *Carrier) tell(n multicast.Notice) {
	if c.out.Notice != nil {
		c.out.Notice(n)
	}
}

// Frame, Gone and Routes are what the overlay calls. Gossip has its own streams:
// a frame of the tree is refused.
func (c *Carrier) Frame(overlay.ID, []byte) {
	c.counts.refuse("frame: of a tree, in a node that gossips")
}

// Gone does nothing.
func (c *Carrier) Gone(overlay.ID) {}

// Routes does nothing.
func (c *Carrier) Routes() {}
