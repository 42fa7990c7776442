package live

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/feedtree/feedtree/multicast"
	"github.com/feedtree/feedtree/multicast/tree"
	"github.com/feedtree/feedtree/overlay"
	"github.com/feedtree/feedtree/signing"
)

// Overlay is what the loop needs of the network. Its methods are safe for
// concurrent use; only Lookup blocks.
type Overlay interface {
	overlay.Router

	// Send puts a frame on the way, dialling if need be; a failed dial comes
	// back as Loop.Gone. The frame comes in parts, which must not change any
	// more: some go to others too. An error means that it is dropped.
	Send(to overlay.ID, parts ...[]byte) error

	// Lookup searches the network for the nodes nearest to a name, nearest
	// first, without Self. It ends early when ctx does.
	Lookup(ctx context.Context, name []byte) ([]overlay.ID, error)

	// AddrsOf returns the binary multiaddrs at which a node may be dialled,
	// best first.
	AddrsOf(overlay.ID) [][]byte

	// Learn takes a hint where a node may be dialled. The addresses are what
	// some peer said; the overlay bounds what it keeps.
	Learn(id overlay.ID, addrs [][]byte)

	// Keep says whether the node is a neighbour in some tree, whose connection
	// is worth keeping.
	Keep(id overlay.ID, on bool)

	// Reachable reports whether others can dial this node, as far as is known. The
	// loop asks whenever Routes was called.
	Reachable() bool

	// Suspect says that a node answered no keep-alive: the overlay checks on it
	// before it names it as a next hop again.
	Suspect(overlay.ID)
}

// Metered is an [Overlay] that is told how much it may send.
type Metered interface {
	// Sparing reports whether so much was sent that nothing more must be for others.
	// The loop asks whenever Routes was called.
	Sparing() bool
}

// Config sets up a Loop. The zero value runs: it accepts every verified event
// and tells nobody.
//
// Deliver, Keep and Notice are called from the loop's goroutine and may block
// for a moment: everything else then waits, down to the senders.
type Config struct {
	Tree    tree.Config
	Judge   Judge                                       // nil: accept whatever is signed
	Deliver func(multicast.Delivery, *signing.Envelope) // an event of a group joined
	Keep    func(multicast.Event, *signing.Envelope)    // an event to hold durably under a lease
	Notice  func(tree.Notice)                           // what the application may want to act on
	Seed    uint64                                      // of the tree's random choices; 0: a random one
	Log     *slog.Logger                                // nil: none
}

// ErrClosed is returned by calls after Run has ended.
var ErrClosed = errors.New("the multicast loop has ended")

// core is the tree's node as the loop sees it.
type core interface {
	Step(now time.Duration, in tree.Input, out *tree.Outbox)
	Deadline() time.Duration
	Status(multicast.Group) (tree.GroupStatus, bool)
	Groups() []multicast.Group
	Counters() tree.Counters
}

// owned is the node and the lock between the loop, which steps it, and those
// who ask for its status. The lock is held neither during callbacks nor I/O.
type owned struct {
	sync.Mutex
	core
}

// Loop owns a tree's node. All methods are safe for concurrent use.
type Loop struct {
	overlay Overlay
	config  Config
	gate    gate
	box     *mailbox
	frames  room
	calls   room
	life    lifetime
	node    owned
	out     tree.Outbox // the loop's own from here on
	lookups lookups
	kept    neighbours
	volume  volume
}

// lifetime is when the loop began, whether it runs, and a context that ends
// with it.
type lifetime struct {
	ctx      context.Context
	end      context.CancelFunc
	start    time.Time
	ran      atomic.Bool
	rerouted atomic.Bool // a Routes input waits already
	leaf     bool        // as the tree was told last; the loop's own
	sparing  bool
}

// New makes a loop over an overlay. It does nothing until Run.
func New(o Overlay, c Config) *Loop {
	c.Tree.Lines = min(c.Tree.Lines, maxHeads) // or a message could not name them all
	seed := c.Seed
	for seed == 0 {
		seed = rand.Uint64()
	}
	return newLoop(o, c, tree.New(c.Tree, o, rand.New(rand.NewPCG(seed, seed))))
}

func newLoop(o Overlay, c Config, node core) *Loop {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	l := &Loop{
		overlay: o,
		config:  c,
		gate:    gate{judge: c.Judge},
		box:     newMailbox(),
		frames:  newRoom(roomForFrames),
		calls:   newRoom(roomForCalls),
	}
	l.life.ctx, l.life.end = context.WithCancel(context.Background())
	l.life.start, l.life.leaf = time.Now(), c.Tree.Leaf
	l.node.core = node
	return l
}

// now is the tree's time: monotonic, since the loop was made.
func (l *Loop) now() time.Duration { return time.Since(l.life.start) }

// Run runs the loop until ctx ends; then it says goodbye to the neighbours,
// hands the overlay what there is to send, and returns nil. A loop runs once.
func (l *Loop) Run(ctx context.Context) error {
	if l.life.ran.Swap(true) {
		return errors.New("multicast/live: Run was called before; make a new Loop")
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	var rings time.Duration // when the timer does; set anew for what is due before, as most inputs put it off
	var spare []item
	for {
		select {
		case <-ctx.Done():
			l.close()
			return nil
		case <-l.box.wake:
		case <-timer.C:
			rings = math.MaxInt64
		}
		items := l.box.take(spare)
		for i := range items {
			l.tick()
			l.step(items[i])
		}
		clear(items)
		spare = items
		l.tick()
		l.audit()
		now := l.now()
		if next := l.next(now); next < rings {
			timer.Reset(next - now)
			rings = next
		}
	}
}

// tick wakes the node if its deadline is reached, however busy the mailbox is.
func (l *Loop) tick() {
	if l.deadline() <= l.now() {
		l.step(item{input: tree.Input{Kind: tree.Tick}})
	}
}

func (l *Loop) deadline() time.Duration {
	l.node.Lock()
	defer l.node.Unlock()
	return l.node.Deadline()
}

// next is until when the loop may sleep. The floor keeps a deadline that does
// not move from turning the loop into a busy one.
func (l *Loop) next(now time.Duration) time.Duration {
	return max(min(l.deadline(), l.kept.due), now+time.Millisecond)
}

// step hands the node one input and carries out what it wants.
func (l *Loop) step(it item) {
	switch it.input.Kind {
	case tree.Routes:
		l.life.rerouted.Store(false)
		l.redirect()
	case tree.Looked:
		l.lookupEnded(it.input.Group)
	}
	l.node.Lock()
	l.node.Step(l.now(), it.input, &l.out)
	l.node.Unlock()
	l.carryOut(it)
	l.out.Reset()
	if it.done != nil {
		it.done()
	}
}

// redirect tells the tree if others can dial this node now and could not before,
// or the other way round, and if it has to send less.
func (l *Loop) redirect() {
	if o, ok := l.overlay.(Metered); ok && o.Sparing() != l.life.sparing {
		l.life.sparing = !l.life.sparing
		l.step(item{input: tree.Input{Kind: tree.Spare, OK: l.life.sparing}})
	}
	if leaf := !l.overlay.Reachable(); leaf != l.life.leaf {
		l.life.leaf = leaf
		l.step(item{input: tree.Input{Kind: tree.Dialable, OK: !leaf}})
	}
}

// close ends the loop. What the application asked for before is still done;
// what the network sent is not looked at any more.
func (l *Loop) close() {
	l.life.end()
	for _, it := range l.box.close() {
		if it.input.Kind != tree.Receive {
			l.step(it)
		}
	}
	l.step(item{input: tree.Input{Kind: tree.Close}})
	l.releaseAll()
	l.lookups.running.Wait()
}
