package feedtree

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/feedtree/feedtree/feed/store"
	"github.com/feedtree/feedtree/multicast"
	"github.com/feedtree/feedtree/overlay"
	"github.com/feedtree/feedtree/signing"
)

// Each run of the program opens an epoch of its own on every line that it speaks
// on. No run can know that its state is not a copy, restored or moved, of which
// another has said more; and a job of CI has no state at all. Going on where the
// state says would let two of them say two things at one place, which is a proof
// against the source. What ties the epochs together is the link: an epoch's first
// words name the last head that is known of the line, to this node or to the
// network, which is asked for it.

const (
	consultFor  = 3 * time.Second        // how long the network is waited for
	consultRest = 300 * time.Millisecond // where none can be asked: what neighbours know of the line, they have said by then
	consultLook = 20 * time.Millisecond
	consultMost = 8 // neighbours that are asked themselves
	lastWordsOf = 8 // events of the epoch before that are sent again, should they have been kept back by a crash

	epochSpread = 1 << 10 // milliseconds: two that begin in one instant, or from one copy, take different epochs
)

// open begins this run's epoch on the line, if that is not done. The author is
// locked.
func (a *author) open(ctx context.Context, role signing.Role) error {
	if a.opened {
		return nil
	}
	if role == signing.Publisher { // of a volunteer's line nothing is missed
		if err := a.consult(ctx); err != nil {
			return fmt.Errorf("ask the network where the line is: %w", err)
		}
	}
	held, err := a.held(ctx)
	if err != nil {
		return err
	}
	if a.line.Epoch != 0 {
		a.sendLast(ctx, held)
	}
	a.line = a.bumped(a.ear.take(), time.Now())
	a.opened = true
	return nil
}

// bumped is the line in a new epoch, behind the furthest that is known of it.
func (a *author) bumped(heard *signing.Envelope, now time.Time) signing.Line {
	line := a.line
	if heard != nil && (heard.Epoch > line.Epoch || heard.Epoch == line.Epoch && heard.Seq > line.Seq) {
		line = heard.Line()
	}
	line.Epoch += rand.Uint64N(epochSpread)
	return line.Bump(now.Add(rand.N(epochSpread * time.Millisecond)))
}

// sendLast sends the last events of an earlier epoch once more, before others hear
// of the next one: a crash may have come between storing and sending them.
func (a *author) sendLast(ctx context.Context, held []store.Envelope) {
	var last [][]byte
	for _, e := range held {
		if e.Epoch == a.line.Epoch && e.Beat == 0 {
			last = append(last, e.Wire)
		}
	}
	for _, wire := range last[max(0, len(last)-lastWordsOf):] {
		if a.node.carrier.Publish(ctx, wire, 0) != nil {
			return // closed, or given up: they are in the store yet
		}
	}
}

// anew says the last event of an earlier epoch in this one.
func (a *author) anew(ctx context.Context, held []store.Envelope, want int, before func(multicast.Stamp)) (multicast.Stamp, error) {
	for _, e := range slices.Backward(held) {
		env, err := signing.Open(e.Wire)
		if err != nil || env.Kind != signing.Event {
			continue
		}
		return a.utter(ctx, &statement{role: env.Role, payload: env.Payload, media: env.Media, ttl: a.promised(), want: want, before: before})
	}
	return multicast.Stamp{}, nil
}

// promised is the longest promise of heartbeats on the line.
func (a *author) promised() (ttl time.Duration) {
	for _, p := range a.promises {
		ttl = max(ttl, p)
	}
	return ttl
}

// consulting is how long the network was waited for: the wait goes on where a call
// that was too short for it ended.
type consulting struct {
	until    time.Time // the end of patience
	attached time.Time // since when this node is in the group's tree
}

// consult waits until the ear has heard what the network knows of the line: the
// tree brings it to who joins. But who has only just met others may take itself for
// the group's root and never ask them, so that the nearest neighbours are asked as
// well. It does not wait long, nor where there is nobody.
func (a *author) consult(ctx context.Context) error {
	if a.consulting.until.IsZero() {
		a.consulting.until = time.Now().Add(consultFor)
	}
	tick := time.NewTicker(consultLook)
	defer tick.Stop()
	for !a.consulted() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		case <-a.node.life.ctx.Done():
			return ErrClosed
		}
	}
	return nil
}

func (a *author) consulted() bool {
	now, c := time.Now(), &a.consulting
	status, ok := a.node.carrier.Group(a.group)
	connected := a.node.net.Connected()
	if ok {
		a.inquire(connected)
	}
	switch {
	case len(connected) == 0, now.After(c.until):
		return true
	case a.ear.waits(connected):
		return false
	case !ok || !status.Attached:
		c.attached = time.Time{}
	case a.ear.asked(): // and all answered; what a parent knows came with the place below it
		return a.heardOf(status.Heads)
	case c.attached.IsZero():
		c.attached = now
	default:
		return now.Sub(c.attached) > consultRest && a.heardOf(status.Heads)
	}
	return false
}

// inquire asks neighbours that were not asked yet, those nearest to the group's key
// first: they are most likely to hold something of it.
func (a *author) inquire(connected []overlay.ID) {
	if !a.node.carrier.Abilities().Ask {
		return
	}
	key := a.group.Key()
	slices.SortFunc(connected, func(x, y overlay.ID) int {
		dx, dy := key.Distance(x.Key()), key.Distance(y.Key())
		return bytes.Compare(dx[:], dy[:])
	})
	if whom := a.ear.ask(connected); len(whom) > 0 {
		_ = a.node.carrier.Ask(a.group, whom) // it fails only when all ends
	}
}

// told notes which neighbour answered what the authors of a group asked.
func (n *Node) told(g multicast.Group, who overlay.ID) {
	n.authors.byLine.Range(func(key, a any) bool {
		if key.(lineKey).group == g {
			a.(*author).ear.answered(who)
		}
		return true
	})
}

// heardOf reports whether nothing that heads say of the line is still on its way.
func (a *author) heardOf(heads []multicast.Stamp) bool {
	known := multicast.Stamp{Epoch: a.line.Epoch, Seq: a.line.Seq}
	if heard := a.ear.last(); heard != nil && (heard.Epoch > known.Epoch || heard.Epoch == known.Epoch && heard.Seq > known.Seq) {
		known.Epoch, known.Seq = heard.Epoch, heard.Seq
	}
	return !slices.ContainsFunc(heads, func(h multicast.Stamp) bool {
		return signing.PublicKey(h.Source) == a.id.Public() && (h.Epoch > known.Epoch || h.Epoch == known.Epoch && h.Seq > known.Seq)
	})
}

// since is from where on a line is asked for again after a restart. Within an epoch
// the cursor says it. But between epochs that came in quick succession, one that
// overtook another may have moved the cursor over what was still to come: what the
// latest ones held brought is compared once more.
func since(c store.Cursor, held []store.Envelope) multicast.Stamp {
	at := multicast.Stamp{Source: c.Source, Epoch: c.Epoch, Seq: c.Seq}
	highest := map[uint64]uint64{}
	for _, e := range held {
		if e.Source == c.Source && e.Beat == 0 && e.Epoch < c.Epoch {
			highest[e.Epoch] = max(highest[e.Epoch], e.Seq)
		}
	}
	epochs := slices.Sorted(maps.Keys(highest))
	if len(epochs) > 0 {
		at.Epoch = epochs[max(0, len(epochs)-againEpochs)]
		at.Seq = highest[at.Epoch]
	}
	return at
}

const againEpochs = 6 // fewer than the tree remembers of a line
