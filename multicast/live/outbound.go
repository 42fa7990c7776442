package live

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/feedtree/feedtree/multicast"
	"github.com/feedtree/feedtree/multicast/tree"
	"github.com/feedtree/feedtree/overlay"
	"github.com/feedtree/feedtree/signing"
)

// carryOut does what a step wants, in the order the tree's contract names:
// sends, lookups, deliveries and what is kept, notices.
func (l *Loop) carryOut(it item) {
	l.kept.note(l.now(), it.input, &l.out)
	l.sendAll(l.out.Sends)
	for _, g := range l.out.Lookups {
		l.lookup(g)
	}
	for i := range l.out.Deliveries {
		if d := l.out.Deliveries[i]; l.config.Deliver != nil {
			l.config.Deliver(d, l.envelope(it, d.Event))
		}
	}
	for i := range l.out.Kept {
		if e := l.out.Kept[i]; l.config.Keep != nil {
			l.config.Keep(e, l.envelope(it, e))
		}
	}
	for i := range l.out.Notices {
		switch no := &l.out.Notices[i]; no.Kind {
		case tree.Silent:
			l.overlay.Suspect(no.Peers[0])
		case tree.Contradiction:
			l.convict(no.Events)
		}
		if l.config.Notice != nil {
			l.config.Notice(l.out.Notices[i])
		}
	}
}

// sendAll encodes and sends. What the overlay has no room for is dropped and
// counted; the tree finds the gap and asks again. One message to several is encoded once.
func (l *Loop) sendAll(sends []tree.Send) {
	var frames []frame
	for i, s := range sends {
		if i == 0 || s.Msg != sends[i-1].Msg {
			frames = l.encode(s.Msg)
		}
		for _, f := range frames {
			l.volume.add(s.Msg.Type, f.len())
			if err := l.overlay.Send(s.To, f.head, f.event); err != nil {
				l.gate.refused.count(sendRefused)
				l.config.Log.Debug("a message was dropped on the way out", "type", s.Msg.Type, "error", err)
			}
		}
	}
}

func (l *Loop) encode(m *tree.Message) []frame {
	frames, err := encode(m, l.overlay.AddrsOf)
	if err != nil {
		l.gate.refused.count(sendTooMany)
		l.config.Log.Error("a message was not sent: its bounds and the wire's disagree", "error", err)
	}
	return frames
}

// envelope finds the envelope of an event the tree hands out. Mostly it came
// in with this very step; an event from the tree's buffer is opened again.
func (l *Loop) envelope(it item, e multicast.Event) *signing.Envelope {
	if it.env != nil && same(it.env.Wire(), e.Body) {
		return it.env
	}
	env, err := l.gate.opened.open(e.Body)
	if err != nil {
		panic("multicast/live: an event that does not verify came out of the tree: " + err.Error())
	}
	return env
}

func same(a, b []byte) bool { return len(a) == len(b) && len(a) > 0 && &a[0] == &b[0] }

// What lookups may take.
const (
	maxLookups    = 8                // at once
	lookupTimeout = 10 * time.Second // the tree does not wait longer
)

// lookups are the searches the node wants, each group once. Only the loop
// touches it; the searches run beside the loop and come back by the mailbox.
type lookups struct {
	wanted  []multicast.Group        // waiting for their turn
	pending map[multicast.Group]bool // waiting or under way
	active  int
	running sync.WaitGroup
}

func (l *Loop) lookup(g multicast.Group) {
	s := &l.lookups
	if s.pending[g] {
		return
	}
	if s.pending == nil {
		s.pending = make(map[multicast.Group]bool)
	}
	s.pending[g] = true
	s.wanted = append(s.wanted, g)
	l.nextLookup()
}

func (l *Loop) nextLookup() {
	s := &l.lookups
	if s.active >= maxLookups || len(s.wanted) == 0 || l.life.ctx.Err() != nil {
		return
	}
	g := s.wanted[0]
	s.wanted = s.wanted[1:]
	s.active++
	s.running.Go(func() {
		nearest, err := l.search(g)
		if err != nil {
			l.gate.refused.count(lookupFail)
		}
		l.box.put(item{input: tree.Input{Kind: tree.Looked, Group: g, Nearest: nearest, OK: err == nil}})
	})
}

func (l *Loop) search(g multicast.Group) ([]overlay.ID, error) {
	ctx, cancel := context.WithTimeout(l.life.ctx, lookupTimeout)
	defer cancel()
	nearest, err := l.overlay.Lookup(ctx, g[:])
	self := l.overlay.Self()
	return slices.DeleteFunc(nearest, func(id overlay.ID) bool { return id == self }), err
}

// lookupEnded makes place for the next search.
func (l *Loop) lookupEnded(g multicast.Group) {
	delete(l.lookups.pending, g)
	l.lookups.active--
	l.nextLookup()
}
