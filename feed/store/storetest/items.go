package storetest

import (
	"fmt"
	"math"
	"reflect"
	"time"

	"github.com/feedtree/feedtree/feed/store"
)

func (s *suite) itemRoundTrip() {
	want := store.Item{
		Feed: feedURL, Key: "guid:\x00 'a' \xff", Hash: id(7), Doc: []byte("\x00\xff"), ContentType: "application/atom+xml",
		Trust: store.Signed, Source: id('s'), Epoch: math.MaxUint64, Seq: math.MaxUint64 - 1,
		Published: time.Date(9999, 12, 31, 23, 59, 59, 999e6, time.UTC), Received: start,
	}
	added, err := s.Apply(s.ctx, store.Batch{Feed: feedRecord(), Items: []store.Item{want}})
	if err != nil || len(added) != 1 {
		s.Fatalf("Apply: %v, %v", added, err)
	}
	got, err := s.Items(s.ctx, feedURL, 1)
	if err != nil || len(got) != 1 {
		s.Fatalf("Items: %v, %v", got, err)
	}
	want.Seen = got[0].Seen
	if !reflect.DeepEqual(got[0], want) || !reflect.DeepEqual(added[0], want) {
		s.Errorf("added %+v\nstored %+v\nwant %+v", added[0], got[0], want)
	}
	undated := item("undated", 1)
	undated.Received = time.Time{}
	s.items(undated)
	got, _ = s.Items(s.ctx, feedURL, 1)
	if !got[0].Published.IsZero() || !got[0].Received.IsZero() {
		s.Errorf("times never set: %v, %v", got[0].Published, got[0].Received)
	}
}

func (s *suite) itemOrder() {
	s.want("first batch", s.apply(store.Batch{Feed: feedRecord(), Items: []store.Item{item("a", 1), item("b", 1)}}), "a:1 b:1")
	s.want("second batch", s.items(item("c", 1), item("a", 2), item("b", 1)), "c:1 a:2")
	s.want("items", s.current(), "a:2 c:1 b:1")
	two, err := s.Items(s.ctx, feedURL, 2)
	s.want("two items", fmt.Sprint(names(two), err), "a:2 c:1<nil>")
	none, err := s.Items(s.ctx, feedURL, 0)
	s.want("no items", fmt.Sprint(names(none), err), "<nil>")
	count, err := s.Count(s.ctx, feedURL)
	s.want("count", fmt.Sprint(count, err), "3 <nil>")
	known, err := s.Known(s.ctx, feedURL)
	if err != nil || !reflect.DeepEqual(known, map[string][32]byte{"a": id(2), "b": id(1), "c": id(1)}) {
		s.Errorf("known: %v, %v", known, err)
	}
	if two[0].Seen <= two[1].Seen {
		s.Errorf("Seen %d of the newest, %d of the next", two[0].Seen, two[1].Seen)
	}
}

func (s *suite) idempotent() {
	f := feedRecord()
	f.Doc = []byte("doc")
	batch := store.Batch{
		Feed:      f,
		Items:     []store.Item{item("a", 1), says(store.Signed, 's', 1, item("b", 1)), item("a", 2), item("a", 1)},
		Envelopes: []store.Envelope{event('s', 1, 1), heartbeat('s', 1, 1, 5), heartbeat('s', 1, 1, 6)},
		Cursors:   []store.Cursor{{Group: id('g'), Source: id('s'), Epoch: 1, Seq: 1}},
		Line:      &store.Line{Group: id('g'), Source: id('o'), Epoch: 1, Seq: 1, Head: id('h')},
	}
	s.want("first time", s.apply(batch), "a:1 b:1 a:2")
	before := s.dump()
	s.want("second time", s.apply(batch), "")
	s.want("all that is stored", s.dump(), before)
}

func (s *suite) trust() {
	volunteer := says(store.Unconfirmed, 'v', 7, item("a", 1))
	s.want("first word", s.apply(store.Batch{Feed: feedRecord(), Items: []store.Item{volunteer}}), "a:1")
	steps := []struct {
		in   store.Item
		want store.Trust
		by   byte
	}{
		{says(store.Corroborated, 'w', 3, item("a", 1)), store.Corroborated, 'w'},
		{says(store.Unconfirmed, 'x', 4, item("a", 1)), store.Corroborated, 'w'},
		{item("a", 1), store.Fetched, 0},
		{says(store.Signed, 'p', 9, item("a", 1)), store.Signed, 'p'},
		{item("a", 1), store.Signed, 'p'},
		{volunteer, store.Signed, 'p'},
	}
	first, _ := s.Items(s.ctx, feedURL, 1)
	for _, step := range steps {
		s.want("news", s.items(step.in), "")
		got, _ := s.Items(s.ctx, feedURL, 1)
		s.want("trust after "+step.in.Trust.String(), got[0].Trust, step.want)
		s.want("source after "+step.in.Trust.String(), got[0].Source, id(step.by))
		s.want("order of arrival", got[0].Seen, first[0].Seen)
		if step.in.Trust == step.want {
			s.want("document of the stronger word", string(got[0].Doc), string(step.in.Doc))
			s.want("its place", got[0].Seq, step.in.Seq)
		}
	}
}

// A key may be revoked, and with it what it said last: what the next one says as well
// must stand.
func (s *suite) signedAgain() {
	s.apply(store.Batch{Feed: feedRecord(), Items: []store.Item{says(store.Signed, 'p', 9, item("a", 1))}})
	s.want("said by the next key", s.items(says(store.Signed, 'q', 1, item("a", 1))), "")
	s.items(says(store.Unconfirmed, 'v', 1, item("a", 1)))
	held, err := s.Items(s.ctx, feedURL, 1)
	if err != nil || len(held) != 1 || held[0].Source != id('q') || held[0].Seq != 1 || held[0].Trust != store.Signed {
		s.Errorf("%+v, %v: want it as the next key's", held, err)
	}
}

func (s *suite) olderVersion() {
	s.apply(store.Batch{Feed: feedRecord(), Items: []store.Item{says(store.Unconfirmed, 'v', 1, item("a", 1))}})
	s.want("a change", s.items(says(store.Unconfirmed, 'v', 2, item("a", 2))), "a:2")
	s.want("the first version by a slow volunteer", s.items(says(store.Unconfirmed, 'w', 1, item("a", 1))), "")
	s.want("current", s.current(), "a:2")
	known, _ := s.Known(s.ctx, feedURL)
	s.want("known", known["a"], id(2))
}

func (s *suite) weighing() {
	v, w, p := byte('v'), byte('w'), byte('p')
	unconfirmed, signed := store.Unconfirmed, store.Signed
	type step struct {
		in      store.Item
		news    string
		current byte
	}
	for name, steps := range map[string][]step{
		"the publisher's word stands": {
			{says(signed, p, 1, item("", 1)), ":1", 1}, {says(unconfirmed, v, 1, item("", 2)), "", 1},
			{item("", 3), "", 1}, {says(signed, p, 2, item("", 2)), ":2", 2},
		},
		"a line may arrive out of order": {
			{says(signed, p, 5, item("", 2)), ":2", 2}, {says(signed, p, 3, item("", 1)), "", 2},
			{says(signed, p, 3, item("", 1)), "", 2},
		},
		"the publisher takes an edit back": {
			{says(signed, p, 1, item("", 1)), ":1", 1}, {says(signed, p, 4, item("", 2)), ":2", 2},
			{says(signed, p, 6, item("", 1)), "", 1}, {says(signed, p, 4, item("", 2)), "", 1},
			{says(signed, p, 5, item("", 3)), "", 1},
		},
		"an old copy of what was signed since": {
			{item("", 1), ":1", 1}, {says(signed, p, 1, item("", 2)), ":2", 2}, {item("", 1), "", 2},
		},
		"the publisher's new key goes on": {
			{says(signed, p, 9, item("", 1)), ":1", 1}, {says(signed, 'q', 1, item("", 2)), ":2", 2},
		},
		"what the origin shows now": {
			{item("", 1), ":1", 1}, {item("", 2), ":2", 2}, {item("", 1), "", 1},
			{says(unconfirmed, v, 1, item("", 2)), "", 1},
		},
		"own eyes before a volunteer's word": {
			{item("", 1), ":1", 1}, {says(unconfirmed, v, 1, item("", 2)), ":2", 2},
			{says(unconfirmed, w, 1, item("", 1)), "", 2}, {item("", 1), "", 1},
		},
		"two against one": {
			{says(unconfirmed, v, 1, item("", 1)), ":1", 1}, {says(unconfirmed, w, 1, item("", 2)), ":2", 2},
			{says(store.Corroborated, v, 1, item("", 1)), "", 1},
		},
	} {
		key := "guid:" + name
		for n, step := range steps {
			step.in.Key = key
			added, err := s.Apply(s.ctx, store.Batch{Feed: feedRecord(), Items: []store.Item{step.in}})
			news := ""
			for _, a := range added {
				news = fmt.Sprint(":", a.Hash[0])
			}
			known, _ := s.Known(s.ctx, feedURL)
			if err != nil || news != step.news || known[key] != id(step.current) {
				s.Errorf("%s, step %d: news %q, current %d, %v; want %q, %d", name, n+1, news, known[key][0], err, step.news, step.current)
			}
		}
	}
}

func (s *suite) versions() {
	h, ok := s.Store.(store.Historian)
	if !ok {
		s.Skip("it does not tell the history of feeds")
	}
	s.apply(store.Batch{Feed: feedRecord(), Items: []store.Item{item("a", 1), item("b", 1), item("c", 1), item("a", 2)}})
	s.items(item("b", 2), item("c", 1))
	told := func(feed string, after, upTo int64, limit int) string {
		s.Helper()
		found, err := h.Versions(s.ctx, feed, after, upTo, limit)
		if err != nil {
			s.Fatal(err)
		}
		return names(found)
	}
	all, _ := h.Versions(s.ctx, feedURL, 0, 1<<62, -1)
	s.want("all", names(all), "a:1 b:1 c:1 a:2 b:2")
	s.want("the first two", told(feedURL, 0, 1<<62, 2), "a:1 b:1")
	s.want("after the first up to the fourth", told(feedURL, all[0].Seen, all[3].Seen, -1), "b:1 c:1 a:2")
	s.want("of another feed", told("https://unknown.example/", 0, 1<<62, -1), "")
}

func (s *suite) unknownFeed() {
	_, err := s.Apply(s.ctx, store.Batch{
		Items:     []store.Item{item("a", 1)},
		Envelopes: []store.Envelope{event('s', 1, 1)},
	})
	s.refused(err, store.ErrFeed)
	s.want("envelopes of the refused batch", s.kept(id('g'), -1), "")
	s.apply(store.Batch{Feed: feedRecord()})
	s.want("items of the refused batch", s.current(), "")
	for _, call := range []error{
		func() error { _, err := s.Items(s.ctx, "https://unknown.example/", 5); return err }(),
		func() error { _, err := s.Known(s.ctx, "https://unknown.example/"); return err }(),
		func() error { _, err := s.Count(s.ctx, "https://unknown.example/"); return err }(),
	} {
		s.want("asking for an unknown feed", call, error(nil))
	}
}

func (s *suite) feedsApart() {
	other := item("a", 1)
	other.Feed = "https://other.example/"
	s.apply(store.Batch{Feed: feedRecord(), Items: []store.Item{item("a", 1)}})
	s.want("the same item of another feed", s.apply(store.Batch{
		Feed: &store.Feed{URL: other.Feed, Group: id('o')}, Items: []store.Item{other},
	}), "a:1")
	if err := s.DropFeed(s.ctx, other.Feed); err != nil {
		s.Fatal(err)
	}
	s.want("items of the feed that stays", s.current(), "a:1")
}

func (s *suite) itemLimit() {
	s.apply(store.Batch{Feed: feedRecord(), Items: []store.Item{item("a", 1), item("b", 1), item("c", 1)}})
	s.want("the fourth", s.items(item("d", 1)), "d:1")
	s.want("items", s.current(), "d:1 c:1 b:1")
	s.items(item("b", 2), item("e", 1))
	s.want("items after b changed", s.current(), "e:1 b:2 d:1")
	count, _ := s.Count(s.ctx, feedURL)
	s.want("count", count, 3)
}

func (s *suite) itemByteLimit() {
	sized := func(key string, version byte, size int) store.Item {
		i := item(key, version)
		i.Doc = make([]byte, size)
		return i
	}
	s.apply(store.Batch{Feed: feedRecord(), Items: []store.Item{sized("a", 1, 40), sized("b", 1, 40)}})
	s.items(sized("b", 2, 20))
	s.want("100 bytes", s.current(), "b:2 a:1")
	s.items(sized("c", 1, 1))
	s.want("101 bytes", s.current(), "c:1 b:2")
	s.items(sized("d", 1, 200))
	s.want("one item above the limit", s.current(), "d:1")
	s.items(sized("e", 1, 100))
	s.want("100 bytes again", s.current(), "e:1")
}

func (s *suite) versionLimit() {
	s.apply(store.Batch{Feed: feedRecord()})
	for v := byte(1); v <= 4; v++ {
		s.items(item("a", v))
	}
	s.want("a version still held", s.items(says(store.Unconfirmed, 'v', 1, item("a", 2))), "")
	s.want("the version that was let go", s.items(says(store.Unconfirmed, 'v', 2, item("a", 1))), "a:1")
	count, _ := s.Count(s.ctx, feedURL)
	s.want("count", count, 1)
}
