package sim

import (
	"fmt"
	"math/bits"
	"time"

	"github.com/feedtree/feedtree/overlay"
)

// What says what kind of event a trace shows.
type What uint8

// The events. From and To mean what the comment says.
const (
	Received What = iota + 1 // To got the message of From
	Lost                     // the message of From will never reach To
	Gone                     // To was told that the connection to From is lost
	Routes                   // To was told that its routing table changed
	Ticked                   // To reached its deadline
	Looked                   // To got the result of a lookup
	Started                  // To came up
	Crashed                  // To went silently
	Closed                   // To went and said so
)

func (w What) String() string {
	return [...]string{"?", "received", "lost", "gone", "routes", "tick", "looked", "started", "crashed", "closed"}[w]
}

// Event is one event of the run as a trace shows it.
type Event[M any] struct {
	At       time.Duration
	What     What
	From, To overlay.ID
	Kind     uint8 // of a message, as Config.Measure says
	Size     int
	Msg      M // of Received and Lost
}

// String returns the event as one line.
func (e Event[M]) String() string {
	switch e.What {
	case Received, Lost:
		return fmt.Sprintf("%v %v %s>%s kind %d, %d bytes", e.At, e.What, e.From, e.To, e.Kind, e.Size)
	case Gone:
		return fmt.Sprintf("%v %v %s at %s", e.At, e.What, e.From, e.To)
	}
	return fmt.Sprintf("%v %v %s", e.At, e.What, e.To)
}

// Counts are what happened in the whole network so far.
type Counts struct {
	Events     uint64 // everything that the hash covers
	Sent       uint64
	Bytes      uint64 // of the messages sent
	Received   uint64
	Lost       uint64
	Duplicated uint64
	Dials      uint64 // connections opened or tried beyond those of the tables
	Lookups    uint64
	Queries    uint64 // of lookups, joins and refreshes, beside the messages
}

func (c *Counts) add(o *Counts) {
	c.Events += o.Events
	c.Sent += o.Sent
	c.Bytes += o.Bytes
	c.Received += o.Received
	c.Lost += o.Lost
	c.Duplicated += o.Duplicated
	c.Dials += o.Dials
	c.Lookups += o.Lookups
	c.Queries += o.Queries
}

// trace adds an event without a message to the hash and shows it to whoever
// asked.
func (n *Net[M]) trace(what What, from, to int32) {
	n.traceMessage(n.laneOf(to), what, from, to, nil, 0, 0)
}

// The hash of a run is the sum of those of its events: it does not matter which lane
// handles one first.
func (n *Net[M]) traceMessage(at *lane[M], what What, from, to int32, m *M, kind uint8, size uint32) {
	h := mix(n.cfg.Seed, uint64(at.now))
	if from >= 0 {
		h = mix(h, n.pos[from])
	}
	h = mix(h, n.pos[to])
	at.hash += mix(h, uint64(what)<<56|uint64(kind)<<48|uint64(size))
	at.counts.Events++
	if n.cfg.Trace == nil {
		return
	}
	e := Event[M]{At: at.now, What: what, To: n.nodes[to].id, Kind: kind, Size: int(size)}
	if from >= 0 {
		e.From = n.nodes[from].id
	}
	if m != nil {
		e.Msg = *m
	}
	n.cfg.Trace(e)
}

// mix folds b into a. It is a fast hash to compare runs by, no more.
func mix(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a^0x9e3779b97f4a7c15, b^0xe7037ed1a0b428db)
	return bits.RotateLeft64(a, 23) ^ hi ^ lo
}

// next is one step of splitmix64, the generator behind everything the network
// itself draws: eight bytes of state per node.
func next(state *uint64) uint64 {
	*state += 0x9e3779b97f4a7c15
	z := *state
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// unit maps a draw to [0, 1).
func unit(draw uint64) float64 { return float64(draw>>11) / (1 << 53) }

// within maps a draw to [0, n).
func within(draw uint64, n int) int {
	hi, _ := bits.Mul64(draw, uint64(n))
	return int(hi)
}

// span maps a draw to [0, d).
func span(draw uint64, d time.Duration) time.Duration {
	hi, _ := bits.Mul64(draw, uint64(d))
	return time.Duration(hi)
}
