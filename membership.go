package feedtree

import (
	"context"

	"github.com/feedtree/feedtree/feed/store"
	"github.com/feedtree/feedtree/multicast"
)

// settle moves the channel into the overlay or out of it, as its record says.
func (d *desk) settle(ch *channel, rec store.Feed) {
	in := d.groups[ch.group] == ch
	switch {
	case rec.Local != "" && in:
		d.leave(ch)
	case rec.Local == "" && !in:
		d.enter(ch)
		d.node.background(func(ctx context.Context) { d.node.join(ctx, ch) })
	}
}

func (d *desk) enter(ch *channel) {
	d.groups[ch.group] = ch
	d.node.judges.set(ch.group, ch.standing)
	ch.sched.SetAlone(d.now(), d.company.alone)
}

func (d *desk) leave(ch *channel) {
	if d.groups[ch.group] != ch {
		return
	}
	delete(d.groups, ch.group)
	d.node.judges.drop(ch.group)
	_ = d.node.loop.Leave(ch.group) // fails only once the loop has ended, which leaves everything
}

// join joins the tree of a channel with what the store holds of it.
func (n *Node) join(ctx context.Context, ch *channel) {
	cursors, err := n.config.Store.Cursors(ctx, ch.group)
	if err != nil {
		n.complain(ctx, "cannot read where a feed was left", ch.url, err)
	}
	var stamps []multicast.Stamp
	for _, c := range cursors {
		stamps = append(stamps, multicast.Stamp{Source: c.Source, Epoch: c.Epoch, Seq: c.Seq})
	}
	wires, err := n.wires(ctx, ch.group)
	if err != nil {
		n.complain(ctx, "cannot read the events of a feed", ch.url, err)
	}
	if err := n.loop.Join(ctx, ch.group, stamps, wires); err != nil {
		n.complain(ctx, "cannot join a feed's tree", ch.url, err)
	}
}

const recent = 64 // events a joining node brings, as many as its tree keeps

func (n *Node) wires(ctx context.Context, g multicast.Group) ([][]byte, error) {
	held, err := n.config.Store.Envelopes(ctx, g, recent)
	wires := make([][]byte, len(held))
	for i, e := range held {
		wires[i] = e.Wire
	}
	return wires, err
}
