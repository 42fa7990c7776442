package feedtree

import (
	"bytes"
	"cmp"
	"context"
	"maps"
	"math"
	"slices"

	"github.com/feedtree/feedtree/feed/store"
	"github.com/feedtree/feedtree/multicast"
	"github.com/feedtree/feedtree/signing"
)

// settle moves the channel into the overlay or out of it, as its record says.
func (d *desk) settle(ch *channel, rec store.Feed) {
	in := d.groups[ch.group] == ch
	switch {
	case rec.Local != "" && in:
		d.leave(ch)
		ch.sched.SetAlone(d.now(), true) // nobody else polls it
		ch.sched.SetOff(d.now(), false)
	case rec.Local == "" && !in:
		d.enter(ch)
		d.node.background(func(ctx context.Context) { d.node.join(ctx, ch) })
	}
}

func (d *desk) enter(ch *channel) {
	d.groups[ch.group] = ch
	d.node.judges.set(ch.group, ch.standing)
	ch.work.apart = false
	ch.sched.SetAlone(d.now(), d.company.alone)
}

func (d *desk) leave(ch *channel) {
	if d.groups[ch.group] != ch {
		return
	}
	delete(d.groups, ch.group)
	d.node.judges.drop(ch.group)
	_ = d.node.carrier.Leave(ch.group) // fails only once the loop has ended, which leaves everything
}

// apart takes that the node has no place in a feed's tree, as none of the neighbours that it
// keeps is in it, or has one again. Until then it polls, whatever a publisher promised.
func (d *desk) apart(g multicast.Group, apart bool) {
	ch := d.groups[g]
	if ch == nil || ch.work.apart == apart {
		return
	}
	ch.work.apart = apart
	ch.sched.SetAlone(d.now(), d.company.alone || apart)
	if apart {
		d.node.config.Log.Info("no node that is connected anyway carries the feed, and there are connections enough: it is polled", "feed", ch.url)
	}
	ch.refresh(false)
	d.arm(ch)
}

// join joins the tree of a channel with what the store holds of it.
func (n *Node) join(ctx context.Context, ch *channel) {
	if err := n.readLeased(ctx, ch); err != nil {
		n.complain(ctx, "cannot read what was held of a feed for others", ch.url, err)
	}
	cursors, err := n.config.Store.Cursors(ctx, ch.group)
	if err != nil {
		n.complain(ctx, "cannot read where a feed was left", ch.url, err)
	}
	held, err := n.config.Store.Envelopes(ctx, ch.group, recent)
	if err != nil {
		n.complain(ctx, "cannot read the events of a feed", ch.url, err)
	}
	n.recall(ctx, ch, held)
	still := n.present(ch, cursors, held)
	var stamps []multicast.Stamp // nil only if there never was a cursor
	for _, c := range cursors {
		stamps = slices.Grow(stamps, 1)
		if still[c.Source] {
			stamps = append(stamps, since(c, held))
		}
	}
	held = slices.DeleteFunc(held, func(e store.Envelope) bool { return !still[e.Source] })
	if err := n.carrier.Join(ctx, ch.group, stamps, wiresOf(held)); err != nil {
		n.complain(ctx, "cannot join a feed's tree", ch.url, err)
	}
	n.tellForks(ctx, ch)
	n.desk.post(func(d *desk) {
		if d.groups[ch.group] == nil { // left meanwhile, and the tree heard that first
			_ = n.carrier.Leave(ch.group) // fails only once the loop has ended
		}
	})
}

const (
	recent = 64 // events a joining node brings, as many as its tree keeps
	former = 16 // sources it remembers, half as many as its tree: the others are yet to come
)

// present chooses the sources whose lines are taken up again: the publisher, this
// node and those who spoke last. A feed has many volunteers in the course of time,
// and the tree refuses whoever comes when it knows too many. Of one left out that
// speaks again, the store knows what it has.
func (n *Node) present(ch *channel, cursors []store.Cursor, held []store.Envelope) map[[32]byte]bool {
	spoke := map[[32]byte]int64{}
	for _, c := range cursors {
		spoke[c.Source] = 0
	}
	for _, e := range held {
		at := int64(e.Beat)
		if env, err := signing.Open(e.Wire); err == nil {
			at = env.Time.UnixMilli()
		}
		spoke[e.Source] = max(spoke[e.Source], at)
	}
	rec := ch.ledger.record()
	book := bookOf(&rec)
	for source := range spoke {
		key := signing.PublicKey(source)
		if key == n.id.Public() || book.names(rec.Pin, key) {
			spoke[source] = math.MaxInt64
		}
	}
	order := slices.SortedFunc(maps.Keys(spoke), func(a, b [32]byte) int {
		return cmp.Or(cmp.Compare(spoke[b], spoke[a]), bytes.Compare(a[:], b[:]))
	})
	still := map[[32]byte]bool{}
	for _, source := range order[:min(len(order), former)] {
		still[source] = true
	}
	return still
}

func wiresOf(held []store.Envelope) [][]byte {
	wires := make([][]byte, len(held))
	for i, e := range held {
		wires[i] = e.Wire
	}
	return wires
}
