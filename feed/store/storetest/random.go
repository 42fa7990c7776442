package storetest

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/feedtree/feedtree/feed/store"
)

// small limits, so that a short random history meets all of them.
var small = store.Limits{Items: 6, ItemBytes: 400, Versions: 3, Envelopes: 8, EnvelopeBytes: 60, LeasedBytes: 50, Sources: 3, Peers: 4, Addrs: 2}

// sameAsMemory does the same random operations to the store and to a Memory:
// after each one, both must hold the same.
func (s *suite) sameAsMemory() {
	const seed, steps = 2005, 250
	rng := rand.New(rand.NewPCG(seed, 1))
	memory := &suite{T: s.T, Store: store.NewMemoryWith(small), ctx: s.ctx}
	for n := range steps {
		var did, same string
		switch rng.IntN(12) {
		case 0:
			url, _ := anyFeed(rng)
			did, same = fmt.Sprint(s.DropFeed(s.ctx, url)), fmt.Sprint(memory.DropFeed(s.ctx, url))
		case 1:
			now := anyTime(rng)
			did, same = fmt.Sprint(s.Expire(s.ctx, now)), fmt.Sprint(memory.Expire(s.ctx, now))
		case 2:
			peers := []store.Peer{{ID: string(anyByte(rng)), Addrs: []string{"1", "2", "3"}[rng.IntN(3):], Seen: anyTime(rng)}}
			did, same = fmt.Sprint(s.PutPeers(s.ctx, peers)), fmt.Sprint(memory.PutPeers(s.ctx, peers))
		default:
			b := anyBatch(rng)
			added, err := s.Apply(s.ctx, b)
			expected, errExpected := memory.Apply(s.ctx, b)
			did, same = outcome(added, err), outcome(expected, errExpected)
		}
		if did != same {
			s.Fatalf("seed %d, step %d:\n%s\nMemory:\n%s", seed, n, did, same)
		}
		if got, want := s.dump(), memory.dump(); got != want {
			s.Fatalf("seed %d, step %d, after %s, the store holds\n%s\nMemory holds\n%s", seed, n, did, got, want)
		}
	}
}

func anyByte(rng *rand.Rand) byte { return byte('a' + rng.IntN(5)) }

func anyTime(rng *rand.Rand) time.Time {
	if rng.IntN(3) == 0 {
		return time.Time{}
	}
	return start.Add(time.Duration(rng.IntN(10)) * time.Minute)
}

func anyFeed(rng *rand.Rand) (url string, group [32]byte) {
	b := byte('a' + rng.IntN(2))
	return fmt.Sprintf("https://%c.example/", b), id(b)
}

func anyBatch(rng *rand.Rand) store.Batch {
	var b store.Batch
	url, group := anyFeed(rng)
	if rng.IntN(2) == 0 {
		b.Feed = &store.Feed{URL: url, Group: group, Read: anyTime(rng)}
		if rng.IntN(2) == 0 {
			b.Feed.Doc = []byte{anyByte(rng)}
		}
	}
	for range rng.IntN(4) {
		i := item(string(anyByte(rng)), byte(rng.IntN(4)))
		i.Feed = url
		i.Trust = store.Trust(rng.IntN(4))
		if i.Trust != store.Fetched {
			i.Source, i.Epoch, i.Seq = id(anyByte(rng)), 1, uint64(rng.IntN(6))
		}
		i.Doc = make([]byte, rng.IntN(100))
		b.Items = append(b.Items, i)
	}
	for range rng.IntN(4) {
		e := event(anyByte(rng), uint64(rng.IntN(2)), uint64(rng.IntN(6)))
		if rng.IntN(3) == 0 {
			e.Beat = uint64(1 + rng.IntN(5))
		}
		e.Group, e.Until = group, anyTime(rng)
		e.Wire = fmt.Appendf(nil, "%c%d%d+%d", e.Source[0], e.Epoch, e.Seq, e.Beat)
		b.Envelopes = append(b.Envelopes, e)
	}
	for range rng.IntN(3) {
		b.Cursors = append(b.Cursors, store.Cursor{Group: group, Source: id(anyByte(rng)), Epoch: uint64(rng.IntN(3)), Seq: uint64(rng.IntN(6))})
	}
	if rng.IntN(8) == 0 {
		b.Line = &store.Line{Group: group, Source: id(anyByte(rng)), Seq: uint64(rng.IntN(40)), Head: id(anyByte(rng)), Beat: uint64(rng.IntN(4))}
	}
	return b
}

func outcome(added []store.Item, err error) string {
	var b strings.Builder
	for _, i := range added {
		fmt.Fprintf(&b, "added %s %s:%d\n", i.Feed, i.Key, i.Hash[0])
	}
	fmt.Fprint(&b, err)
	return b.String()
}

// dump writes all that the store answers, without the numbers of arrival,
// which may have holes.
func (s *suite) dump() string {
	s.Helper()
	var b strings.Builder
	check := func(err error) {
		s.Helper()
		if err != nil {
			s.Fatal(err)
		}
	}
	feeds, err := s.Feeds(s.ctx)
	check(err)
	groups := [][32]byte{id('a'), id('b'), id('g')}
	for _, f := range feeds {
		f, _, err = s.Feed(s.ctx, f.URL)
		check(err)
		items, err := s.Items(s.ctx, f.URL, -1)
		check(err)
		count, err := s.Count(s.ctx, f.URL)
		check(err)
		fmt.Fprintf(&b, "feed %s read %v doc %q items %d\n", f.URL, f.Read, f.Doc, count)
		for _, i := range items {
			fmt.Fprintf(&b, "  item %s:%d %v %c/%d/%d %d bytes\n", i.Key, i.Hash[0], i.Trust, i.Source[0], i.Epoch, i.Seq, len(i.Doc))
		}
	}
	for _, g := range groups {
		envelopes, err := s.Envelopes(s.ctx, g, -1)
		check(err)
		for _, e := range envelopes {
			fmt.Fprintf(&b, "envelope %c %s until %v\n", g[0], e.Wire, e.Until)
		}
		lines, err := s.Lines(s.ctx, g)
		check(err)
		fmt.Fprintf(&b, "group %c cursors %s lines %v\n", g[0], s.cursorText(g), lines)
	}
	leased, err := s.Leased(s.ctx)
	check(err)
	peers, err := s.Peers(s.ctx, -1)
	check(err)
	fmt.Fprintf(&b, "leased %d\npeers %v\n", len(leased), peers)
	return b.String()
}
