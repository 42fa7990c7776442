package storetest

import (
	"context"
	"fmt"
	"reflect"
	"sync"
	"time"

	"github.com/feedtree/feedtree/feed/store"
)

func (s *suite) feedRoundTrip() {
	zone := time.FixedZone("somewhere", 3600)
	f := store.Feed{
		URL: feedURL, Group: id('g'), Asked: start.In(zone).Add(1234567 * time.Nanosecond), Read: start.Add(time.Hour),
		Doc: []byte("<rss>\x00\xff</rss>"), ContentType: "application/rss+xml; charset=\"x\"",
		Validators: store.Validators{ETag: `W/"a'b"`, LastModified: "sometime last week"},
		Fetched:    start, NotBefore: start.Add(time.Minute), Interval: 90 * time.Minute, Origin: []byte(`{"k":"v\x00"}`),
		Moved: "https://news.example/new", Local: "a token in the query",
		Pin:  store.Pin{Fingerprint: id('p'), How: "https", Since: start},
		Cert: []byte("PEM"), Failure: "404 since Monday",
	}
	s.apply(store.Batch{Feed: &f})
	got, ok, err := s.Feed(s.ctx, feedURL)
	if err != nil || !ok {
		s.Fatalf("Feed: %v, %v", ok, err)
	}
	f.Asked = start.Add(time.Millisecond)
	if !reflect.DeepEqual(got, f) {
		s.Errorf("got  %+v\nwant %+v", got, f)
	}
	s.apply(store.Batch{Feed: feedRecord()})
	got, _, _ = s.Feed(s.ctx, feedURL)
	if !got.Asked.IsZero() || !got.Pin.Since.IsZero() || got.Validators.ETag != "" || len(got.Cert) != 0 || len(got.Origin) != 0 {
		s.Errorf("the next record did not replace the first: %+v", got)
	}
	if _, ok, err := s.Feed(s.ctx, "https://news.example/other"); ok || err != nil {
		s.Errorf("an unknown feed: %v, %v", ok, err)
	}
}

func (s *suite) feedKeepsDocument() {
	f := feedRecord()
	f.Doc = []byte("one")
	s.apply(store.Batch{Feed: f})
	touched := feedRecord()
	touched.Read = start
	s.apply(store.Batch{Feed: touched})
	got, _, _ := s.Feed(s.ctx, feedURL)
	s.want("document after a nil one", string(got.Doc), "one")
	s.want("read", got.Read, start)
	f.Doc = []byte{}
	s.apply(store.Batch{Feed: f})
	got, _, _ = s.Feed(s.ctx, feedURL)
	s.want("document after an empty one", string(got.Doc), "")
}

func (s *suite) feedList() {
	for _, name := range []string{"c", "a", "b"} {
		s.apply(store.Batch{Feed: &store.Feed{URL: "https://" + name + ".example/", Group: id(name[0]), Doc: []byte(name)}})
	}
	feeds, err := s.Feeds(s.ctx)
	if err != nil {
		s.Fatal(err)
	}
	var urls string
	for _, f := range feeds {
		urls += f.URL + " "
		s.want("documents in the list", len(f.Doc), 0)
		s.want("group", f.Group, id(f.URL[len("https://")]))
	}
	s.want("feeds", urls, "https://a.example/ https://b.example/ https://c.example/ ")
}

func (s *suite) dropFeed() {
	line := store.Line{Group: id('g'), Source: id('s'), Epoch: 1, Seq: 4}
	batch := store.Batch{
		Feed: feedRecord(), Items: []store.Item{item("a", 1)},
		Envelopes: []store.Envelope{event('s', 1, 1), until(event('s', 1, 2), start), heartbeat('s', 1, 2, 9)},
		Cursors:   []store.Cursor{{Group: id('g'), Source: id('s'), Epoch: 1, Seq: 2}},
		Line:      &line,
	}
	s.apply(batch)
	if err := s.DropFeed(s.ctx, feedURL); err != nil {
		s.Fatal(err)
	}
	_, ok, _ := s.Feed(s.ctx, feedURL)
	s.want("feed after it was dropped", ok, false)
	s.want("items", s.current(), "")
	s.want("envelopes", s.kept(id('g'), -1), "s/1/2")
	cursors, _ := s.Cursors(s.ctx, id('g'))
	s.want("cursors", len(cursors), 0)
	lines, _ := s.Lines(s.ctx, id('g'))
	if len(lines) != 1 || lines[0] != line {
		s.Errorf("own lines: %v", lines)
	}
	if err := s.DropFeed(s.ctx, feedURL); err != nil {
		s.Errorf("dropping it again: %v", err)
	}
	batch.Line = nil
	s.want("news when it comes again", s.apply(batch), "a:1")
}

func (s *suite) peers() {
	seen := func(id string, minutes int, addrs ...string) store.Peer {
		return store.Peer{ID: id, Addrs: addrs, Seen: start.Add(time.Duration(minutes) * time.Minute)}
	}
	put := func(peers ...store.Peer) {
		s.Helper()
		if err := s.PutPeers(s.ctx, peers); err != nil {
			s.Fatal(err)
		}
	}
	list := func(limit int) string {
		s.Helper()
		peers, err := s.Peers(s.ctx, limit)
		if err != nil {
			s.Fatal(err)
		}
		text := ""
		for _, p := range peers {
			text += fmt.Sprintf("%s%v%v ", p.ID, p.Addrs, p.Seen.Sub(start).Minutes())
		}
		return text
	}
	put(seen("a", 1, "/ip4/192.0.2.1"), seen("b", 2, "1", "2", "3"), seen("c", 3))
	s.want("peers", list(-1), "c[]3 b[1 2]2 a[/ip4/192.0.2.1]1 ")
	s.want("two of them", list(2), "c[]3 b[1 2]2 ")
	put(seen("b", 1, "old"), seen("a", 5, "new"))
	s.want("after a was seen again, and an old word of b", list(-1), "a[new]5 c[]3 b[1 2]2 ")
	put(seen("d", 4, "d"))
	s.want("above the limit", list(-1), "a[new]5 d[d]4 c[]3 ")
}

func (s *suite) settings() {
	if _, ok, err := s.Setting(s.ctx, "key"); ok || err != nil {
		s.Errorf("a setting never put: %v, %v", ok, err)
	}
	for _, value := range []string{"one", "two", ""} {
		if err := s.PutSetting(s.ctx, "key", []byte(value)); err != nil {
			s.Fatal(err)
		}
		got, ok, err := s.Setting(s.ctx, "key")
		if string(got) != value || !ok || err != nil {
			s.Errorf("got %q, %v, %v, want %q", got, ok, err, value)
		}
	}
}

func (s *suite) copies() {
	buffer := []byte("same")
	it := item("a", 1)
	it.Doc = buffer
	e := event('s', 1, 1)
	e.Wire = buffer
	f := feedRecord()
	f.Doc, f.Cert = buffer, buffer
	s.apply(store.Batch{Feed: f, Items: []store.Item{it}, Envelopes: []store.Envelope{e}})
	s.PutSetting(s.ctx, "key", buffer)
	copy(buffer, "diff")
	items, _ := s.Items(s.ctx, feedURL, 1)
	got, _, _ := s.Feed(s.ctx, feedURL)
	value, _, _ := s.Setting(s.ctx, "key")
	for _, text := range []string{string(items[0].Doc), s.kept(id('g'), 1), string(got.Doc), string(got.Cert), string(value)} {
		s.want("after the caller used its buffer again", text, "same")
	}
}

func (s *suite) cancelled() {
	s.apply(store.Batch{Feed: feedRecord()})
	ctx, cancel := context.WithCancel(s.ctx)
	cancel()
	_, err := s.Apply(ctx, store.Batch{Items: []store.Item{item("a", 1)}})
	s.refused(err, context.Canceled)
	_, err = s.Items(ctx, feedURL, 1)
	s.refused(err, context.Canceled)
	s.want("items", s.current(), "")
}

func (s *suite) closed() {
	if err := s.Close(); err != nil {
		s.Fatal(err)
	}
	_, err := s.Apply(s.ctx, store.Batch{Feed: feedRecord()})
	s.refused(err, store.ErrClosed)
	_, err = s.Feeds(s.ctx)
	s.refused(err, store.ErrClosed)
	_, err = s.Items(s.ctx, feedURL, 1)
	s.refused(err, store.ErrClosed)
	_, err = s.Envelopes(s.ctx, id('g'), 1)
	s.refused(err, store.ErrClosed)
	s.refused(s.PutPeers(s.ctx, nil), store.ErrClosed)
	s.refused(s.PutSetting(s.ctx, "a", nil), store.ErrClosed)
	s.refused(s.Expire(s.ctx, start), store.ErrClosed)
	if err := s.Close(); err != nil {
		s.Errorf("closing again: %v", err)
	}
}

func (s *suite) concurrent() {
	const writers, each = 4, 25
	s.apply(store.Batch{Feed: feedRecord()})
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			for n := range each {
				_, err := s.Apply(s.ctx, store.Batch{Items: []store.Item{item(fmt.Sprint(w, "/", n), 1)}})
				if err != nil {
					s.Error(err)
				}
			}
		})
		all.Go(func() {
			for range each {
				items, err := s.Items(s.ctx, feedURL, 10)
				if err != nil {
					s.Error(err)
				}
				for i := 1; i < len(items); i++ {
					if items[i].Seen >= items[i-1].Seen {
						s.Errorf("Seen %d after %d", items[i].Seen, items[i-1].Seen)
					}
				}
			}
		})
	}
	all.Wait()
	n, err := s.Count(s.ctx, feedURL)
	s.want("count", fmt.Sprint(n, err), fmt.Sprint(writers*each, " <nil>"))
}
