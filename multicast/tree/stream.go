package tree

import (
	"time"

	"github.com/feedtree/feedtree/multicast"
)

// A stream is a line whose events come several a second. There would be a third as many
// heads as events, and each wakes two nodes between two events. What they are for, to show
// that others go on while the parent is silent, a stream shows by itself: where nothing
// comes for a few times as long as usual, the parent and two lazy links are asked. So
// neighbours are told of a stream seldom; not never, for a parent that hands on every
// second event is not silent.

const (
	streamGap    = 500 * time.Millisecond // events of a stream are this close in the mean,
	streamBefore = 8 * time.Second        // which begins with this: it takes some ten of them
	streamRarer  = 4                      // neighbours are told of a stream, and acknowledge it, so many times more seldom
	silentAfter  = 500 * time.Millisecond // a stream is silent after this,
	silentGaps   = 3                      // and so many of its pauses
	silentAsks   = 3                      // questions about one silence, each after twice as long
)

// stream is how fast a line's events come.
type stream struct {
	gap  time.Duration // between two, in the mean of the latest; 0: none has come
	at   time.Duration // when silence is worth a question; 0: never
	asks uint8         // about this silence
}

func (s *stream) flows() bool { return s.gap > 0 && s.gap <= streamGap }

func (s *stream) silence() time.Duration { return max(silentAfter, silentGaps*s.gap) << s.asks }

// streams reports whether one of the group's lines is a stream, and has not ended.
func (g *group) streams(now time.Duration) bool {
	for _, l := range g.lines {
		if l.stream.flows() && now-l.heard < streamBefore {
			return true
		}
	}
	return false
}

// comes notes a new event of a line. One that was asked for says nothing of how fast they
// come, and of its own line a node knows when it ends.
func (n *Node) comes(l *line, a arrival) {
	s := &l.stream
	switch own := a.from == ""; {
	case !own && a.via != multicast.ViaTree:
	case s.gap == 0:
		s.gap = streamBefore
	default:
		s.gap = (3*s.gap + min(n.step.now-l.heard, streamBefore)) / 4
	}
	s.asks, s.at = 0, 0
	if s.flows() && a.from != "" {
		s.at = n.step.now + s.silence()
	}
}

// silent asks whether a stream goes on elsewhere. Lazy links may hang below the same dead
// node: others are asked after them.
func (n *Node) silent(g *group, l *line) {
	s := &l.stream
	if s.asks == 0 && g.place.parent != "" {
		n.expect(g.place.parent, 0)
	}
	s.asks, s.at = s.asks+1, 0
	if s.asks < silentAsks {
		s.at = n.step.now + s.silence()
	}
	some := n.sample(g)
	n.askHeads(g, some[:min(len(some), 2)], 0)
}
