package feedtree

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/feedtree/feedtree/feed/store"
	"github.com/feedtree/feedtree/multicast"
	"github.com/feedtree/feedtree/signing"
)

// authors finds the one author of each line this node writes.
type authors struct {
	byLine  sync.Map   // lineKey → *author
	opening sync.Mutex // of those who begin to publish
}

type lineKey struct {
	group  multicast.Group
	source signing.PublicKey
}

// author writes one line: what one identity says in one group. Statements are
// made one after the other, each stored before it is sent, so that the line can
// neither fork nor have a hole.
type author struct {
	node  *Node
	id    *signing.Identity
	group multicast.Group
	due   chan struct{} // one token: its line was silent for as long as it promised

	ear ear

	mu     sync.Mutex
	line   signing.Line
	loaded bool
	opened bool // this run of the program began the line's epoch

	consulting consulting          // of the network, before that
	said       []*signing.Envelope // the latest events since the program started
	sure       bool                // they were said again in a new epoch, which is done once

	promises map[*Publisher]time.Duration // of heartbeats; whatever is said repeats the longest
}

func (n *Node) author(id *signing.Identity, g multicast.Group) *author {
	key := lineKey{g, id.Public()}
	a, _ := n.authors.byLine.LoadOrStore(key, &author{node: n, id: id, group: g, due: make(chan struct{}, 1)})
	return a.(*author)
}

// beatDue wakes whoever keeps the promise of heartbeats on a line.
func (n *Node) beatDue(g multicast.Group, s multicast.Source) {
	if a, ok := n.authors.byLine.Load(lineKey{g, signing.PublicKey(s)}); ok {
		select {
		case a.(*author).due <- struct{}{}:
		default: // told already
		}
	}
}

// statement is what an author is to say: an event if there is a payload, else a
// heartbeat.
type statement struct {
	role    signing.Role
	payload []byte
	media   signing.Media
	ttl     time.Duration
	seen    []byte // a testimony: what a volunteer's heartbeat carries
	want    int
	told    []store.Item          // the items in the payload
	batch   store.Batch           // to be stored with it
	change  func(*store.Feed)     // of the feed's record, with it
	ledger  *ledger               // of the feed; nil only for what is said again
	before  func(multicast.Stamp) // called when it is stored, before it is sent
	added   []store.Item          // what the store found new
}

// say signs, stores and sends.
func (a *author) say(ctx context.Context, s *statement) (multicast.Stamp, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if why := s.ledger.record().Local; why != "" { // it became so
		return multicast.Stamp{}, fmt.Errorf("%w: %s", ErrLocal, why)
	}
	if err := a.load(ctx); err != nil {
		return multicast.Stamp{}, err
	}
	for _, ttl := range a.promises {
		s.ttl = max(s.ttl, ttl)
	}
	return a.utter(ctx, s)
}

// promise makes every word from now on repeat a publisher's promise; 0 takes it
// back.
func (a *author) promise(p *Publisher, ttl time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.promises == nil {
		a.promises = map[*Publisher]time.Duration{}
	}
	a.promises[p] = ttl
	if ttl == 0 {
		delete(a.promises, p)
	}
}

// utter says the next word of the line. The author is locked.
func (a *author) utter(ctx context.Context, s *statement) (multicast.Stamp, error) {
	if err := a.open(ctx, s.role); err != nil {
		return multicast.Stamp{}, err
	}
	env, next, err := a.seal(s)
	if err != nil {
		return multicast.Stamp{}, fmt.Errorf("sign: %w", err)
	}
	if err := a.store(ctx, s, env, next); err != nil {
		return multicast.Stamp{}, err
	}
	a.line = next
	a.remember(env)
	a.node.came(s.told, Way{How: Said, At: time.Now()})
	stamp := stampOf(env)
	if s.before != nil {
		s.before(stamp)
	}
	// From here on it is said, so it is handed over even if ctx ends: the tree
	// would lack it until the program starts again.
	if err := a.node.carrier.Publish(a.node.life.ctx, env.Wire(), s.want); err != nil {
		return stamp, fmt.Errorf("hand the event to the tree: %w", err)
	}
	return stamp, nil
}

func (a *author) seal(s *statement) (*signing.Envelope, signing.Line, error) {
	h := signing.Header{
		Role: s.role, Media: s.media, Group: a.group, TTL: wholeSeconds(s.ttl), Time: time.Now(),
		KeyState: a.node.judges.of(a.group).keyState(),
	}
	if s.payload != nil {
		if s.media != signing.Keys {
			h.Coding = signing.Zstd
		}
		a.line.Event(&h)
	} else {
		a.line.Heartbeat(&h)
	}
	payload := s.payload
	if payload == nil && s.seen != nil {
		h.Media, payload = signing.Witness, s.seen
	}
	wire, err := a.id.Seal(h, payload)
	if err != nil {
		return nil, a.line, err
	}
	env, err := signing.Open(wire)
	if err != nil {
		return nil, a.line, err
	}
	next, err := a.line.Advance(env)
	return env, next, err
}

func (a *author) store(ctx context.Context, s *statement, env *signing.Envelope, next signing.Line) (err error) {
	b := s.batch
	for i := range s.told {
		s.told[i].Source, s.told[i].Epoch, s.told[i].Seq = env.Key, env.Epoch, env.Seq
	}
	b.Items = append(s.told, b.Items...)
	b.Envelopes = append(b.Envelopes, stored(env))
	b.Cursors = append(b.Cursors, store.Cursor{Group: a.group, Source: env.Key, Epoch: env.Epoch, Seq: env.Seq})
	b.Line = &store.Line{Group: a.group, Source: env.Key, Epoch: next.Epoch, Seq: next.Seq, Head: next.Head, Beat: next.Beat}
	if s.ledger != nil {
		s.added, err = s.ledger.write(ctx, b, s.change)
	} else {
		s.added, err = a.node.config.Store.Apply(ctx, b)
	}
	if err != nil {
		a.loaded = false // whatever the store holds now is where the line is
		return fmt.Errorf("store before sending: %w", err)
	}
	return nil
}

// load finds where the line was left, and begins it anew if others know more of
// it. The author is locked.
func (a *author) load(ctx context.Context) error {
	if !a.loaded {
		if err := a.read(ctx); err != nil {
			return err
		}
	}
	if !a.opened {
		return nil // it will begin anew before it says anything
	}
	return a.reconsider(ctx)
}

// read takes the line out of the store.
func (a *author) read(ctx context.Context) error {
	lines, err := a.node.config.Store.Lines(ctx, a.group)
	if err != nil {
		return fmt.Errorf("read the line: %w", err)
	}
	opened := a.line.Epoch
	a.line = signing.Line{}
	for _, l := range lines {
		if l.Source == a.id.Public() {
			a.line = signing.Line{Epoch: l.Epoch, Seq: l.Seq, Head: l.Head, Beat: l.Beat}
		}
	}
	a.opened = a.opened && a.line.Epoch == opened // or the store did not take the first word of the epoch
	own, err := a.held(ctx)
	if err != nil {
		return fmt.Errorf("read what was said on the line: %w", err)
	}
	for _, e := range own { // the network may have told of more than the line remembers
		if env, err := signing.Open(e.Wire); err == nil {
			a.ear.hear(env)
		}
	}
	a.loaded = true
	return nil
}

// repeat sends the line's last event again and returns its stamp; a zero one if
// there is none. If it is of an earlier epoch, which nobody listens to any more, it
// is said anew: those who have its items notice.
func (a *author) repeat(ctx context.Context, want int, before func(multicast.Stamp)) (multicast.Stamp, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.load(ctx); err != nil {
		return multicast.Stamp{}, err
	}
	held, err := a.held(ctx)
	switch {
	case err != nil:
		return multicast.Stamp{}, err
	case a.line.Seq == 0:
		return a.anew(ctx, held, want, before)
	}
	stamp := multicast.Stamp{Source: multicast.Source(a.id.Public()), Epoch: a.line.Epoch, Seq: a.line.Seq}
	if before != nil {
		before(stamp)
	}
	for _, e := range held {
		if e.Epoch == stamp.Epoch && e.Seq == stamp.Seq && e.Beat == 0 {
			return stamp, a.node.carrier.Publish(ctx, e.Wire, want)
		}
	}
	return stamp, nil // too old to be held: others have got it from each other since
}

func stampOf(env *signing.Envelope) multicast.Stamp {
	s := multicast.Stamp{Source: multicast.Source(env.Key), Epoch: env.Epoch, Seq: env.Seq}
	if env.Kind == signing.Heartbeat {
		s.Beat = uint64(env.Time.UnixMilli())
	}
	return s
}

func stored(env *signing.Envelope) store.Envelope {
	s := stampOf(env)
	return store.Envelope{
		Group: env.Group, Source: env.Key, Epoch: s.Epoch, Seq: s.Seq, Beat: s.Beat, Wire: env.Wire(),
	}
}

// wholeSeconds rounds a promise up: it must not be broken by rounding.
func wholeSeconds(d time.Duration) time.Duration {
	return min((d+time.Second-1)/time.Second*time.Second, signing.MaxTTL)
}
