package feedtree

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/feedtree/feedtree/multicast"
	"github.com/feedtree/feedtree/signing"
)

const (
	whyForked = "its source said two things at one place"

	maxForks = 16 // proofs kept per feed; the publisher's does not give way to a volunteer's
)

// Fork is a source of a feed that is proved to have said two different things at
// one place of its line. Nothing it says in that epoch is believed any more, until
// it opens a new one; where its key is vouched for by a key state, with a later one.
type Fork struct {
	Source    string    `json:"source"`    // the fingerprint of its key
	Publisher bool      `json:"publisher"` // it is the feed's own key
	Epoch     uint64    `json:"epoch"`
	Place     uint64    `json:"place"` // the seq at which it contradicts itself
	Seen      time.Time `json:"seen"`
	Proof     []byte    `json:"proof"` // signing.OpenFork reads it
}

// fork is a proof as it is kept and judged by.
type fork struct {
	Proof []byte    `json:"proof"`
	Seen  time.Time `json:"seen"`

	epoch, place uint64
	keyState     uint32
	key          signing.PublicKey
}

func newFork(proof []byte, seen time.Time) (fork, error) {
	p, err := signing.OpenFork(proof)
	if err != nil {
		return fork{}, err
	}
	return fork{
		Proof: proof, Seen: seen, epoch: p.First.Epoch, place: p.Place, key: p.First.Key,
		keyState: max(p.First.KeyState, p.Second.KeyState),
	}, nil
}

// bars reports whether what an envelope says is not believed because of the fork.
// Whoever holds the key can open a new epoch. If somebody stands above the key, as a
// key state says, only what came after a new word of theirs counts.
func (f *fork) bars(env *signing.Envelope) bool {
	return env.Epoch <= f.epoch || f.keyState != 0 && env.KeyState <= f.keyState
}

// forkBook is the forks of one feed by source. It is replaced, never changed.
type forkBook map[signing.PublicKey]fork

// barred reports whether an envelope's source is proved to lie where it speaks.
func (s *standing) barred(env *signing.Envelope) bool {
	book := s.forks.Load()
	if book == nil {
		return false
	}
	f, ok := (*book)[env.Key]
	return ok && f.bars(env)
}

// book returns the forks known.
func (s *standing) book() forkBook {
	if book := s.forks.Load(); book != nil {
		return *book
	}
	return nil
}

// convict adds a fork to those known. Only the desk and resume call it. It returns
// false if it is known, or if there is no room for it.
func (s *standing) convict(f fork) bool {
	have := s.book()
	if old, ok := have[f.key]; ok && old.epoch >= f.epoch {
		return false
	}
	book := maps.Clone(have)
	if book == nil {
		book = forkBook{}
	}
	book[f.key] = f
	names := s.policy.Load().names
	for len(book) > maxForks {
		oldest := slices.MinFunc(slices.Collect(maps.Values(book)), func(a, b fork) int {
			if an, bn := names(a.key), names(b.key); an != bn {
				if an {
					return 1
				}
				return -1
			}
			return a.Seen.Compare(b.Seen)
		})
		delete(book, oldest.key)
	}
	s.forks.Store(&book)
	_, kept := book[f.key]
	return kept
}

func forksOf(url string) string { return "forks " + url }

// forked takes a proof that the tree brought: it is kept, and if it is against the
// publisher, others look after the feed until it opens a new epoch.
func (d *desk) forked(n multicast.Notice) {
	ch := d.groups[n.Group]
	if ch == nil {
		return
	}
	f, err := newFork(n.Proof, time.Now().UTC())
	if err != nil || !ch.standing.convict(f) {
		return
	}
	own := ch.standing.policy.Load().names(f.key)
	d.node.config.Log.Warn("a source of a feed said two different things at one place", "feed", ch.url,
		"source", f.key.Fingerprint(), "publisher", own, "epoch", f.epoch, "place", f.place)
	if own {
		ch.sched.Published(d.now(), 0, 0)
		ch.standing.promise(time.Now())
		d.missing(multicast.Notice{Kind: multicast.Missing, Group: ch.group, Stamp: n.Stamp})
	}
	ch.refresh(false)
	d.arm(ch)
	d.node.background(func(ctx context.Context) { d.node.keepForks(ctx, ch) })
	if a, ok := d.node.authors.byLine.Load(lineKey{ch.group, f.key}); ok {
		d.node.background(func(ctx context.Context) { a.(*author).convicted(ctx, f.epoch) })
	}
}

// convicted leaves an epoch in which nobody believes the line any more: another
// process speaks with its key, or did.
func (a *author) convicted(ctx context.Context, epoch uint64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.opened || a.line.Epoch > epoch {
		return
	}
	a.line.Epoch = epoch
	if err := a.begin(ctx, nil, time.Now()); err != nil {
		a.node.complain(ctx, "cannot go on with a line in a new epoch", "", err)
	}
}

// keepForks makes what is known of a feed's forks durable.
func (n *Node) keepForks(ctx context.Context, ch *channel) {
	var all []fork
	ch.standing.keeping.Lock() // the later book is kept later
	defer ch.standing.keeping.Unlock()
	for _, f := range ch.standing.book() {
		all = append(all, f)
	}
	value, err := json.Marshal(all)
	if err == nil {
		err = n.config.Store.PutSetting(context.WithoutCancel(ctx), forksOf(ch.url), value)
	}
	if err != nil {
		n.complain(ctx, "cannot keep the proof of a fork", ch.url, err)
	}
}

// recallForks takes up what is kept of a feed's forks. Nothing of the feed is
// judged yet.
func (n *Node) recallForks(ctx context.Context, s *standing) error {
	value, ok, err := n.config.Store.Setting(ctx, forksOf(s.url))
	if err != nil || !ok {
		return err
	}
	var kept []fork
	if err := json.Unmarshal(value, &kept); err != nil {
		return fmt.Errorf("the proofs of forks: %w", err)
	}
	for _, k := range kept {
		if f, err := newFork(k.Proof, k.Seen); err == nil {
			s.convict(f)
		}
	}
	return nil
}

// tellForks tells the tree what is proved of a feed's sources.
func (n *Node) tellForks(ctx context.Context, ch *channel) {
	for _, f := range ch.standing.book() {
		if err := n.carrier.Convict(ctx, f.Proof); err != nil {
			n.complain(ctx, "cannot tell others of a fork", ch.url, err)
			return
		}
	}
}

func (f *fork) report(s *standing) Fork {
	return Fork{
		Source: f.key.Fingerprint().String(), Publisher: s.policy.Load().names(f.key),
		Epoch: f.epoch, Place: f.place, Seen: f.Seen, Proof: f.Proof,
	}
}

// reports lists the forks of a feed, the publisher's first, then the latest.
func (s *standing) reports() []Fork {
	all := []Fork{}
	for _, f := range s.book() {
		all = append(all, f.report(s))
	}
	slices.SortFunc(all, func(a, b Fork) int {
		switch {
		case a.Publisher && !b.Publisher:
			return -1
		case b.Publisher && !a.Publisher:
			return 1
		}
		return b.Seen.Compare(a.Seen)
	})
	return all
}
