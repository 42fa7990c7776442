package feedtree

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/feedtree/feedtree/feed"
	"github.com/feedtree/feedtree/feed/fetch/polite"
	"github.com/feedtree/feedtree/feed/store"
	"github.com/feedtree/feedtree/feed/witness"
	"github.com/feedtree/feedtree/multicast"
	"github.com/feedtree/feedtree/signing"
)

const (
	// An item can be disputed for so many polls after it came: those who poll later
	// see that it is gone, and not that it never was there.
	trialPolls = 24

	upgradeAmong = 512 // newest items of a feed, in which those that others confirm are looked for
)

// bench is what the volunteers of one feed say, weighed. It is safe for concurrent
// use.
type bench struct {
	mu    sync.Mutex
	panel *witness.Panel
	lists lists
}

func newBench(k int) bench { return bench{panel: witness.New(witness.Config{K: k})} }

// spaced tells how far apart the feed's polls are.
func (b *bench) spaced(spacing time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.panel.SetTrial(trialPolls * spacing)
}

// hear weighs a statement.
func (b *bench) hear(s witness.Statement) witness.Finding {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.panel.Hear(time.Now(), s)
}

// pardon lets a source be heard whose sentence has ended.
func (b *bench) pardon(by signing.PublicKey) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.panel.Pardon(witness.Source(by))
}

func (b *bench) expel(by signing.PublicKey) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.panel.Expel(witness.Source(by))
}

// locate notes in which network a source is.
func (b *bench) locate(by signing.PublicKey, network string) witness.Finding {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.panel.Locate(witness.Source(by), network)
}

// undecided reports whether it matters where a source is.
func (b *bench) undecided(by signing.PublicKey) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.panel.Undecided(witness.Source(by))
}

// Witnesses is what the volunteers of a feed say of it, in numbers.
type Witnesses struct {
	Heard        int `json:"heard"`        // volunteers whose latest testimony is remembered
	Liars        int `json:"liars"`        // caught, and not heard any more
	Corroborated int `json:"corroborated"` // items that enough independent ones list
	Disputed     int `json:"disputed"`     // items that one who asked later did not see
	Contradicted int `json:"contradicted"` // items that were not in the document they are said to be from
}

func (b *bench) report() Witnesses {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := b.panel.Counts()
	return Witnesses{n.Witnesses, n.Liars, n.Corroborated, n.Disputed, n.Contradicted}
}

// believed is why an item is believed, and what is said against it. What was seen
// here or signed is not touched by what volunteers say.
func (b *bench) believed(r store.Item) (store.Trust, witness.State) {
	if r.Trust >= store.Fetched {
		return r.Trust, witness.Unconfirmed
	}
	it := witness.Item{Key: signing.ItemKey(r.Key), Hash: r.Hash}
	b.mu.Lock()
	defer b.mu.Unlock()
	switch state := b.panel.State(it); state {
	case witness.Disputed, witness.Contradicted:
		return store.Unconfirmed, state
	case witness.Corroborated:
		return store.Corroborated, witness.Unconfirmed
	}
	if b.panel.Tainted(it) { // without the liars there are too few
		return store.Unconfirmed, witness.Unconfirmed
	}
	return r.Trust, witness.Unconfirmed
}

// Belief is what is known now of an item. What it is stored with never sinks, so that
// can say more than is known since.
type Belief struct {
	Trust     store.Trust
	Doubt     witness.State // Disputed or Contradicted by volunteers, or Unconfirmed for nothing
	TakenBack bool          // its key was revoked before it said that, and its origin was not seen to say it: it is not shown
}

// Believed says why an item as it is stored is believed now.
func (n *Node) Believed(it store.Item) Belief {
	if s := n.judges.of(multicast.GroupOf(it.Feed)); s != nil {
		return s.believed(it)
	}
	return Belief{Trust: it.Trust}
}

// believed weighs what the feed's keys say and what its volunteers say. What the
// origin itself showed to this node is no less true because a thief said it, too.
func (s *standing) believed(it store.Item) (b Belief) {
	switch {
	case !s.policy.Load().disowns(&it):
		b.Trust, b.Doubt = s.bench.believed(it)
	case s.bench.seen(it):
		b.Trust = store.Fetched
	default:
		b.TakenBack = true
	}
	return b
}

// seen reports whether this node saw an item at the origin, as far as it remembers.
func (b *bench) seen(r store.Item) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.panel.Seen(witness.Item{Key: signing.ItemKey(r.Key), Hash: r.Hash})
}

// seen is a document of a feed's origin, and how it came.
type seen struct {
	doc    *feed.Feed
	body   []byte
	state  polite.State
	status int
	taken  time.Time
}

// testimony says what an origin answered.
func (s *seen) testimony() *signing.Testimony {
	v := s.state.Validators
	short := sha256.Sum256(s.body)
	t := &signing.Testimony{
		Status: uint16(s.status), Taken: s.taken.UTC().Truncate(time.Millisecond), Body: short,
		// What was put together from a document and what is new since is nothing
		// that the origin ever sent.
		Partial: !bytes.Equal(short[:len(s.state.Body)], s.state.Body[:]),
	}
	if v.ETag != "" || v.LastModified != "" {
		t.Validators = signing.ValidatorsHash(v.From, v.ETag, v.LastModified)
		t.Strong = v.ETag != "" && !strings.HasPrefix(v.ETag, "W/") && !t.Partial
	}
	listed := map[[16]byte]bool{}
	for _, it := range s.doc.Items {
		key := signing.ItemKey(it.Key())
		switch {
		case listed[key]:
		case len(t.Items) == signing.MaxTestified:
			t.Partial = true
		default:
			listed[key] = true
			t.Items = append(t.Items, signing.Testified{Key: key, Hash: it.Hash()})
		}
	}
	slices.SortFunc(t.Items, func(a, b signing.Testified) int { return bytes.Compare(a.Key[:], b.Key[:]) })
	return t
}

// statement is a testimony as it is weighed.
func statementOf(t *signing.Testimony) witness.Statement {
	s := witness.Statement{
		Parent: t.Parent, Taken: t.Taken, Strong: t.Strong, Partial: t.Partial,
		Validators: t.Validators, Body: t.Body, Items: make([]witness.Item, len(t.Items)),
	}
	for i, it := range t.Items {
		s.Items[i] = witness.Item(it)
	}
	return s
}

// held is what the store has of the origin's last answer; nil if there is none.
func (n *Node) held(ctx context.Context, url string) (*seen, error) {
	rec, ok, err := n.config.Store.Feed(ctx, url)
	if err != nil || !ok || len(rec.Doc) == 0 || rec.Fetched.IsZero() {
		return nil, err
	}
	doc, err := feed.Parse(rec.Doc, rec.ContentType)
	if err != nil {
		return nil, fmt.Errorf("the stored document: %w", err)
	}
	return &seen{doc: doc, body: rec.Doc, state: stateOf(rec), status: 200, taken: rec.Fetched}, nil
}

// witnessed is what a poll saw, and nil if it cannot be said. It is weighed here,
// too.
func (n *Node) witnessed(ctx context.Context, ch *channel, p *poll) *signing.Testimony {
	s, err := n.held(ctx, ch.url)
	switch {
	case p.answer == nil: // it is about the last one
	case p.doc != nil:
		s, err = &seen{doc: p.doc, body: p.answer.Body}, nil
		fallthrough
	case s != nil:
		s.state, s.status, s.taken = p.state, p.answer.Status, p.now
	}
	if err != nil {
		n.complain(ctx, "cannot testify to what a feed's origin answered", ch.url, err)
	}
	if s == nil || len(s.body) == 0 {
		return nil
	}
	t := s.testimony()
	own := statementOf(t)
	own.Own = true
	ch.standing.bench.sees(t, own.Items)
	n.weighed(ctx, ch.standing, ch.group, ch.standing.bench.hear(own))
	if place, ok := n.carrier.Group(ch.group); ok && place.Parent != "" {
		if key, ok := keyOf(place.Parent); ok {
			t.Parent = signing.ParentHash(ch.group, key)
		}
	}
	return t
}

// listen weighs what a volunteer's envelope says: the items that it brings, which are
// in the store, and what it testifies. Who brings what it does not testify to is
// held to it all the same.
func (n *Node) listen(ctx context.Context, s *standing, env *signing.Envelope, items []witness.Item) {
	if env.Role != signing.Volunteer || env.Key == n.id.Public() {
		return
	}
	if !n.liars.hold(env.Key, env.Group, time.Now()) {
		s.bench.pardon(env.Key)
	}
	by := witness.Source(env.Key)
	t, err := env.Testimony()
	if err != nil {
		s.refused.Count(whyTestimony)
	}
	taken := env.Time
	if t != nil && t.Taken.Before(taken) {
		taken = t.Taken
	}
	if len(items) > 0 {
		n.weighed(ctx, s, env.Group, s.bench.hear(witness.Statement{By: by, Taken: taken, Partial: true, Items: items}))
	}
	if t != nil {
		said, ok := n.said(ctx, s, t)
		if !ok {
			return
		}
		said.By, said.Network, said.Taken = by, n.networkOf(env.Key), taken
		n.weighed(ctx, s, env.Group, s.bench.hear(said))
		if said.Network == "" {
			n.seek(s, env.Key, env.Group)
		}
	}
}

// said is a testimony as it is weighed, with the items that it leaves out. One to a
// list that this node does not have says nothing to it.
func (n *Node) said(ctx context.Context, s *standing, t *signing.Testimony) (said witness.Statement, ok bool) {
	said, ok = statementOf(t), true
	if t.List != [32]byte{} {
		if said.Items, ok = n.listed(ctx, s, t.List); !ok {
			s.refused.Count(whyList)
		}
	}
	s.bench.heeds(t, said.Items)
	return said, ok
}

// itemsOf is what an event brings, as it is weighed.
func itemsOf(items []store.Item) []witness.Item {
	all := make([]witness.Item, len(items))
	for i, it := range items {
		all[i] = witness.Item{Key: signing.ItemKey(it.Key), Hash: it.Hash}
	}
	slices.SortStableFunc(all, func(a, b witness.Item) int { return bytes.Compare(a.Key[:], b.Key[:]) })
	return slices.CompactFunc(all, func(a, b witness.Item) bool { return a.Key == b.Key })
}

// weighed does what follows from a statement: liars are remembered, and readers see
// how items stand now.
func (n *Node) weighed(ctx context.Context, s *standing, g multicast.Group, f witness.Finding) {
	for _, l := range f.Liars {
		n.config.Log.Warn("a volunteer lied about a feed and is not heard any more",
			"feed", s.url, "key", signing.PublicKey(l.By), "seen here", l.Own)
		n.liars.add(ctx, n.config.Store, signing.PublicKey(l.By), sentence(g, l.Own, time.Now()))
	}
	if len(f.Changed) == 0 {
		return
	}
	if err := n.upgrade(ctx, s, f.Changed); err != nil {
		n.complain(ctx, "cannot note which items others confirm", s.url, err)
	}
	n.desk.post(func(d *desk) {
		if ch := d.channels[s.url]; ch != nil {
			ch.refresh(true)
		}
	})
}

// upgrade notes in the store which items are corroborated now.
func (n *Node) upgrade(ctx context.Context, s *standing, changed []witness.Item) error {
	confirmed := map[witness.Item]bool{}
	s.bench.mu.Lock()
	for _, it := range changed {
		if s.bench.panel.State(it) == witness.Corroborated {
			confirmed[it] = true
		}
	}
	s.bench.mu.Unlock()
	if len(confirmed) == 0 {
		return nil
	}
	items, err := n.config.Store.Items(ctx, s.url, upgradeAmong)
	if err != nil {
		return err
	}
	var b store.Batch
	for _, it := range items {
		if it.Trust < store.Corroborated && confirmed[witness.Item{Key: signing.ItemKey(it.Key), Hash: it.Hash}] {
			it.Trust = store.Corroborated
			b.Items = append(b.Items, it)
		}
	}
	_, err = n.config.Store.Apply(ctx, b)
	return err
}

// recall hears again what the store holds of a feed's volunteers, after what this
// node saw itself.
func (n *Node) recall(ctx context.Context, ch *channel, held []store.Envelope) {
	s, err := n.held(ctx, ch.url)
	if err != nil {
		return // Document will say so
	}
	if s != nil {
		own := statementOf(s.testimony())
		own.Own = true
		ch.standing.bench.hear(own)
	}
	var liars []signing.PublicKey
	for _, e := range held {
		env, err := signing.Open(e.Wire)
		if err != nil {
			continue // it was verified when it came
		}
		n.listen(ctx, ch.standing, env, nil)
		if n.liars.hold(env.Key, env.Group, time.Now()) {
			liars = append(liars, env.Key)
		}
	}
	for _, key := range liars {
		ch.standing.bench.expel(key)
	}
}
