package live

import (
	"context"
	"fmt"
	"time"

	"github.com/feedtree/feedtree/multicast"
	"github.com/feedtree/feedtree/multicast/tree"
	"github.com/feedtree/feedtree/overlay"
	"github.com/feedtree/feedtree/signing"
)

// Join joins a group. The cursor says up to where each source's line is held
// without a hole: what came after is asked for; nil says that this node was
// never a member, and what came before it is not missed. Recent are the latest envelopes
// held, oldest first, to serve others from; one that does not verify is left
// out and counted. Join returns when the request is queued: how it goes is told
// by notices.
func (l *Loop) Join(ctx context.Context, g multicast.Group, cursor []multicast.Stamp, recent [][]byte) error {
	return l.call(ctx, sizeOf(recent), item{input: tree.Input{
		Kind: tree.JoinGroup, Group: g, Cursor: cursor, Recent: l.events(g, recent),
	}})
}

// Lease serves a group for others from envelopes that Config.Keep was given
// before a restart, oldest first, without joining it.
func (l *Loop) Lease(ctx context.Context, g multicast.Group, recent [][]byte) error {
	return l.call(ctx, sizeOf(recent), item{input: tree.Input{
		Kind: tree.Lease, Group: g, Recent: l.events(g, recent),
	}})
}

// Leave leaves a group.
func (l *Loop) Leave(g multicast.Group) error {
	return l.put(item{input: tree.Input{Kind: tree.LeaveGroup, Group: g}})
}

// Publish sends a sealed envelope to its group, and asks that so many nodes
// say when they hold it: a Receipt notice tells who does. The envelope must be
// stored by its source before it is published. Publish returns when the request
// is queued, and waits only while very much is queued before it.
func (l *Loop) Publish(ctx context.Context, wire []byte, want int) error {
	env, err := signing.Open(wire)
	if err != nil {
		return fmt.Errorf("publish: %w", err)
	}
	event := EventOf(env)
	return l.call(ctx, len(wire), item{
		input: tree.Input{Kind: tree.Publish, Group: event.Group, Event: event, Want: want},
		env:   env,
	})
}

// Ask asks nodes, members or not, what they know of a group joined. A Told notice
// names each that answers; what it has more is asked for.
func (l *Loop) Ask(g multicast.Group, whom []overlay.ID) error {
	return l.put(item{input: tree.Input{Kind: tree.Ask, Group: g, Nearest: whom}})
}

// Stored says that the event of a stamp is held durably, which its source may
// be waiting to hear.
func (l *Loop) Stored(g multicast.Group, s multicast.Stamp) error {
	return l.put(item{input: tree.Input{Kind: tree.Stored, Group: g, Stamp: s}})
}

// Recheck has the events of a group judged again that wait because their
// source was not known: call it when the feed's keys became known.
func (l *Loop) Recheck(g multicast.Group) error {
	for _, it := range l.gate.recheck(time.Now(), g) {
		if err := l.put(it); err != nil {
			return err
		}
	}
	if l.life.ctx.Err() != nil {
		return ErrClosed
	}
	return nil
}

// Group returns a group as the node sees it now. What was queued but not yet
// done does not show. It never blocks for long, and works after Run has ended.
func (l *Loop) Group(g multicast.Group) (tree.GroupStatus, bool) {
	l.node.Lock()
	defer l.node.Unlock()
	return l.node.Status(g)
}

// Status returns all groups as the node sees them now.
func (l *Loop) Status() []tree.GroupStatus {
	l.node.Lock()
	groups := l.node.Groups()
	l.node.Unlock()
	var all []tree.GroupStatus
	for _, g := range groups { // one at a time, so that thousands do not hold up the loop
		if s, ok := l.Group(g); ok {
			all = append(all, s)
		}
	}
	return all
}

// Counters returns what the tree counted, and what was refused or dropped
// around it, by reason.
func (l *Loop) Counters() (tree.Counters, map[string]uint64) {
	l.node.Lock()
	defer l.node.Unlock()
	return l.node.Counters(), l.gate.refused.All()
}

// call queues a request with a body, when there is room for it.
func (l *Loop) call(ctx context.Context, bytes int, it item) error {
	if l.life.ctx.Err() != nil {
		return ErrClosed
	}
	done, err := l.calls.take(ctx, min(bytes, roomForCalls))
	if err != nil {
		return err
	}
	it.done = done
	if err := l.put(it); err != nil {
		done()
		return err
	}
	return nil
}

func (l *Loop) put(it item) error {
	if !l.box.put(it) {
		return ErrClosed
	}
	return nil
}

// events opens envelopes that the application held.
func (l *Loop) events(g multicast.Group, wires [][]byte) []multicast.Event {
	var events []multicast.Event
	for _, wire := range wires {
		env, err := signing.Open(wire)
		if err != nil || env.Group != g {
			l.gate.refused.count(recentBad)
			continue
		}
		events = append(events, EventOf(env))
	}
	return events
}

func sizeOf(wires [][]byte) (n int) {
	for _, w := range wires {
		n += len(w)
	}
	return n
}
