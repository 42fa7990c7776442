package feedtree

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/feedtree/feedtree/feed/store"
	"github.com/feedtree/feedtree/multicast"
	"github.com/feedtree/feedtree/overlay"
	"github.com/feedtree/feedtree/signing"
)

const maxSaid = 4 << 20 // bytes of events that are remembered to be said again

// ear is what an author hears of its own line from others. What it does not
// remember to have said shows that its state was lost or came from a backup, or
// that somebody else speaks with its key.
type ear struct {
	mu    sync.Mutex
	heard *signing.Envelope   // furthest of its line; nil: nothing since it was last asked
	told  map[overlay.ID]bool // nodes asked for it, and whether they answered
}

// ask returns those of the nodes nearest first that were not asked yet, as far as
// there is room, and notes that they are.
func (e *ear) ask(nearest []overlay.ID) (whom []overlay.ID) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.told == nil {
		e.told = map[overlay.ID]bool{}
	}
	for _, id := range nearest {
		if _, asked := e.told[id]; !asked && len(e.told) < consultMost {
			e.told[id] = false
			whom = append(whom, id)
		}
	}
	return whom
}

// answered notes that a node told what it knows.
func (e *ear) answered(id overlay.ID) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if _, asked := e.told[id]; asked {
		e.told[id] = true
	}
}

// asked reports whether any node was.
func (e *ear) asked() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.told) > 0
}

// waits reports whether one of the nodes was asked and did not answer yet.
func (e *ear) waits(connected []overlay.ID) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.ContainsFunc(connected, func(id overlay.ID) bool {
		told, asked := e.told[id]
		return asked && !told
	})
}

func (e *ear) hear(env *signing.Envelope) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.heard == nil || stampOf(env).Compare(stampOf(e.heard)) > 0 {
		e.heard = env
	}
}

func (e *ear) last() *signing.Envelope {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.heard
}

func (e *ear) take() *signing.Envelope {
	e.mu.Lock()
	defer e.mu.Unlock()
	env := e.heard
	e.heard = nil
	return env
}

// overheard tells an author of this node what came of its own line. It does not
// wait for one that is speaking.
func (n *Node) overheard(env *signing.Envelope) {
	found, ok := n.authors.byLine.Load(lineKey{env.Group, env.Key})
	if !ok {
		return // it will find it in the store when it begins to speak
	}
	a := found.(*author)
	a.ear.hear(env)
	n.desk.post(func(*desk) { n.background(a.answer) })
}

// answer puts right at once what was said on a lost line.
func (a *author) answer(ctx context.Context) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.loaded || !a.opened {
		return // so far nothing was said
	}
	if err := a.reconsider(ctx); err != nil {
		a.node.complain(ctx, "cannot go on with a line in a new epoch", "", err)
	}
}

// reconsider begins a new epoch if the line cannot go on: others know more of it
// than this node, or its last word is in the future, where nobody listens. What
// was said here on the lost line since it was loaded is said again, once: where
// others hold something else, they did not take it.
func (a *author) reconsider(ctx context.Context) error {
	now := time.Now()
	if heard := a.ear.take(); heard != nil {
		_, err := a.line.Advance(heard)
		if err == nil || signing.ReasonOf(err) != signing.ReasonStale {
			err = a.begin(ctx, heard, now)
			if err != nil {
				a.ear.hear(heard) // it still has to be done
			}
			return err
		}
	}
	if a.line.Beat > uint64(now.Add(maxAhead).UnixMilli()) {
		return a.begin(ctx, nil, now)
	}
	return nil
}

// begin begins an epoch later than the line's and than what was heard of it.
func (a *author) begin(ctx context.Context, heard *signing.Envelope, now time.Time) error {
	lost := a.said
	a.node.config.Log.Warn("a line is not where it was left: going on in a new epoch",
		"source", multicast.Source(a.id.Public()), "epoch", a.line.Epoch, "seq", a.line.Seq, "said again", len(lost))
	a.line = a.bumped(heard, now)
	a.said, a.sure = nil, true
	for i, env := range lost {
		s := &statement{role: env.Role, payload: env.Payload, media: env.Media, ttl: env.TTL, want: wantHolders}
		if _, err := a.utter(ctx, s); err != nil {
			a.said, a.sure = lost[i:], false
			return err
		}
	}
	return nil
}

// remember keeps an event as it was said: in the store, what was heard at its
// place before would stand. Only the latest are kept.
func (a *author) remember(env *signing.Envelope) {
	if a.sure || env.Kind != signing.Event {
		return
	}
	a.said = append(a.said, env)
	size := 0
	for i, e := range slices.Backward(a.said) {
		if size += len(e.Wire()); size > maxSaid || len(a.said)-i > recent {
			a.said = slices.Clone(a.said[i+1:])
			return
		}
	}
}

// held returns what the store holds of the line, in its order.
func (a *author) held(ctx context.Context) (own []store.Envelope, err error) {
	all, err := a.node.config.Store.Envelopes(ctx, a.group, -1)
	for _, e := range all {
		if e.Source == a.id.Public() {
			own = append(own, e)
		}
	}
	return own, err
}
