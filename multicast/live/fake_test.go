package live

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/feedtree/feedtree/multicast"
	"github.com/feedtree/feedtree/multicast/tree"
	"github.com/feedtree/feedtree/overlay"
	"github.com/feedtree/feedtree/signing"
)

// identity returns the n-th key of the tests.
func identity(t testing.TB, n byte) *signing.Identity {
	t.Helper()
	id, err := signing.FromSeed(append(make([]byte, 31), n))
	if err != nil {
		t.Fatal(err)
	}
	return id
}

var (
	groupA = multicast.GroupOf("https://a.example/feed")
	groupB = multicast.GroupOf("https://b.example/feed")
	noon   = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
)

// news seals the seq-th event of an identity in a group.
func news(t testing.TB, id *signing.Identity, g multicast.Group, seq uint64) []byte {
	t.Helper()
	h := signing.Header{Kind: signing.Event, Role: signing.Publisher, Media: signing.RSS,
		Group: g, Epoch: 1, Seq: seq, Time: noon, TTL: time.Minute}
	h.Prev = hashOf(t, id, g, seq-1)
	wire, err := id.Seal(h, []byte("<rss/>"))
	if err != nil {
		t.Fatal(err)
	}
	return wire
}

var hashes sync.Map // what hashOf returned

// hashOf is the hash of the seq-th event of an identity in a group.
func hashOf(t testing.TB, id *signing.Identity, g multicast.Group, seq uint64) [32]byte {
	t.Helper()
	if seq == 0 {
		return [32]byte{}
	}
	type place struct {
		key signing.PublicKey
		g   multicast.Group
		seq uint64
	}
	at := place{id.Public(), g, seq}
	if known, ok := hashes.Load(at); ok {
		return known.([32]byte)
	}
	env, err := signing.Open(news(t, id, g, seq))
	if err != nil {
		t.Fatal(err)
	}
	hashes.Store(at, env.Hash())
	return env.Hash()
}

// beat seals a heartbeat that says seq is the head.
func beat(t testing.TB, id *signing.Identity, g multicast.Group, seq uint64, at time.Time) []byte {
	t.Helper()
	h := signing.Header{Kind: signing.Heartbeat, Role: signing.Publisher, Group: g, Epoch: 1, Seq: seq, Time: at, TTL: time.Minute}
	h.Prev = hashOf(t, id, g, seq)
	wire, err := id.Seal(h, nil)
	if err != nil {
		t.Fatal(err)
	}
	return wire
}

// encoded is encode, with the frames as they arrive.
func encoded(m *tree.Message, addrs addressBook) (whole [][]byte, err error) {
	frames, err := encode(m, addrs)
	for _, f := range frames {
		whole = append(whole, slices.Concat(f.head, f.event))
	}
	return whole, err
}

// frameOf encodes one message.
func frameOf(t testing.TB, m *tree.Message) []byte {
	t.Helper()
	frames, err := encoded(m, nowhere)
	if err != nil || len(frames) != 1 {
		t.Fatalf("%d frames, %v", len(frames), err)
	}
	return frames[0]
}

// dataOf is the frame that carries an envelope, true or not.
func dataOf(t testing.TB, g multicast.Group, wire []byte) []byte {
	t.Helper()
	return frameOf(t, &tree.Message{Type: tree.Data, Group: g, Event: &multicast.Event{Body: wire}})
}

// script is a core that records its inputs and does what react says.
type script struct {
	steps    []tree.Input
	times    []time.Duration
	deadline time.Duration
	react    func(in tree.Input, out *tree.Outbox)
	groups   []tree.GroupStatus
}

func (s *script) Step(now time.Duration, in tree.Input, out *tree.Outbox) {
	s.steps, s.times = append(s.steps, in), append(s.times, now)
	if in.Kind == tree.Tick {
		s.deadline = 1<<63 - 1
	}
	if s.react != nil {
		s.react(in, out)
	}
}

func (s *script) Deadline() time.Duration { return s.deadline }

func (s *script) Status(g multicast.Group) (tree.GroupStatus, bool) {
	i := slices.IndexFunc(s.groups, func(st tree.GroupStatus) bool { return st.Group == g })
	if i < 0 {
		return tree.GroupStatus{}, false
	}
	return s.groups[i], true
}

func (s *script) Groups() (all []multicast.Group) {
	for _, st := range s.groups {
		all = append(all, st.Group)
	}
	return all
}

func (s *script) Counters() tree.Counters { return tree.Counters{} }

// received lists the stamps of the events that were stepped.
func (s *script) received() (stamps []multicast.Stamp) {
	for _, in := range s.steps {
		if in.Kind == tree.Receive && in.Msg.Event != nil {
			stamps = append(stamps, in.Msg.Event.Stamp)
		}
	}
	return stamps
}

// kinds lists what was stepped.
func (s *script) kinds() (kinds []tree.Kind) {
	for _, in := range s.steps {
		kinds = append(kinds, in.Kind)
	}
	return kinds
}

// desk is an overlay of one node that notes what it is asked to do.
type desk struct {
	mu      sync.Mutex
	sent    []tree.Send
	frames  []*byte // where each of those begins
	learnt  map[overlay.ID][][]byte
	kept    map[overlay.ID]bool
	refuse  error // what Send returns
	lookup  func(ctx context.Context) ([]overlay.ID, error)
	lookups int
	hidden  atomic.Bool // nobody can dial this node
	sparing atomic.Bool // it has sent enough
}

func (d *desk) Self() overlay.ID                       { return "self" }
func (d *desk) NextHop(overlay.Key) (overlay.ID, bool) { return "", false }
func (d *desk) Closest(overlay.Key, int) []overlay.ID  { return nil }
func (d *desk) RTT(overlay.ID) (time.Duration, bool)   { return 0, false }
func (d *desk) AddrsOf(id overlay.ID) [][]byte         { return [][]byte{[]byte("/at/" + id)} }

func (d *desk) Send(to overlay.ID, parts ...[]byte) error {
	frame := slices.Concat(parts...)
	m, _, r := decode(frame)
	if r != "" {
		panic("a frame was sent that would be refused: " + string(r))
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.sent = append(d.sent, tree.Send{To: to, Msg: m})
	d.frames = append(d.frames, &parts[0][0])
	return d.refuse
}

func (d *desk) Lookup(ctx context.Context, _ []byte) ([]overlay.ID, error) {
	d.mu.Lock()
	d.lookups++
	d.mu.Unlock()
	if d.lookup == nil {
		return nil, nil
	}
	return d.lookup(ctx)
}

func (d *desk) Learn(id overlay.ID, addrs [][]byte) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.learnt == nil {
		d.learnt = map[overlay.ID][][]byte{}
	}
	d.learnt[id] = addrs
}

func (d *desk) Suspect(overlay.ID) {}
func (d *desk) Reachable() bool    { return !d.hidden.Load() }
func (d *desk) Sparing() bool      { return d.sparing.Load() }

func (d *desk) Keep(id overlay.ID, on bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.kept == nil {
		d.kept = map[overlay.ID]bool{}
	}
	if d.kept[id] == on {
		panic("told twice to keep or to let go")
	}
	d.kept[id] = on
}

// scripted runs a loop over a script, in a bubble of its own time.
func scripted(t *testing.T, c Config, body func(t *testing.T, l *Loop, s *script, d *desk)) {
	synctest.Test(t, func(t *testing.T) {
		s, d := &script{deadline: 1<<63 - 1}, &desk{}
		l := newLoop(d, c, s)
		end := running(t, l)
		body(t, l, s, d)
		end()
	})
}

// running runs a loop until the function returned is called.
func running(t *testing.T, l *Loop) (end func()) {
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- l.Run(ctx) }()
	synctest.Wait()
	return func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// pass lets time go by in a bubble, and then everything come to rest.
func pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// counted checks how often each reason was counted, and that no other was.
func counted(t *testing.T, l *Loop, want map[reason]uint64) {
	t.Helper()
	_, got := l.Counters()
	for why, n := range want {
		if got[string(why)] != n {
			t.Errorf("%q counted %d times, want %d", why, got[string(why)], n)
		}
		delete(got, string(why))
	}
	if len(got) > 0 {
		t.Errorf("counted besides: %v", got)
	}
}
