package proxy

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/feedtree/feedtree"
	"github.com/feedtree/feedtree/feed/store"
)

// stream is what a program hears.
type stream struct {
	t    *testing.T
	code int
	said chan [2]string // event and data; closed at the end
	held [][2]string    // what came while another kind was waited for
}

func hear(t *testing.T, at string) *stream {
	t.Helper()
	w, err := http.Get(at + "/api/v1/events")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Body.Close() })
	s := &stream{t: t, code: w.StatusCode, said: make(chan [2]string, 1000)}
	go func() {
		defer close(s.said)
		kind := ""
		for lines := bufio.NewScanner(w.Body); lines.Scan(); {
			if name, ok := strings.CutPrefix(lines.Text(), "event: "); ok {
				kind = name
			}
			if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
				s.said <- [2]string{kind, data}
			}
		}
	}()
	return s
}

// next waits for an event of a kind. Kinds come in any order beside each other.
func (s *stream) next(kind string, into any) {
	s.t.Helper()
	take := func(m [2]string) {
		if err := json.Unmarshal([]byte(m[1]), into); err != nil {
			s.t.Fatal(err)
		}
	}
	if i := slices.IndexFunc(s.held, func(m [2]string) bool { return m[0] == kind }); i >= 0 {
		take(s.held[i])
		s.held = slices.Delete(s.held, i, i+1)
		return
	}
	timeout := time.After(time.Minute)
	for {
		select {
		case m, ok := <-s.said:
			if !ok {
				s.t.Fatalf("the stream ended before %q", kind)
			}
			if m[0] == kind {
				take(m)
				return
			}
			s.held = append(s.held, m)
		case <-timeout:
			s.t.Fatalf("nothing is heard of %q", kind)
		}
	}
}

func (s *stream) ended() {
	s.t.Helper()
	timeout := time.After(time.Minute)
	for {
		select {
		case _, ok := <-s.said:
			if !ok {
				return
			}
		case <-timeout:
			s.t.Fatal("the stream goes on")
		}
	}
}

func oneItem(feedURL, guid string, received time.Time) store.Batch {
	return store.Batch{Feed: &store.Feed{URL: feedURL}, Items: []store.Item{{
		Feed: feedURL, Key: "guid:" + guid, Hash: [32]byte{guid[0]}, Doc: []byte(rss(guid)), Trust: store.Signed, Received: received,
	}}}
}

func TestProgramsHearWhatChanges(t *testing.T) {
	n, s := newFakeNode(), store.NewMemory()
	n.status.Feeds = []feedtree.FeedStatus{{URL: example, Title: "T", Version: 1}}
	if _, err := s.Apply(t.Context(), oneItem(example, "a", time.Now())); err != nil {
		t.Fatal(err)
	}
	p := newProxy(n, Config{Store: s}, time.Now)
	at := serve(t, p)
	heard := hear(t, at)
	var change struct{ Feeds []string }
	if heard.next("change", &change); len(change.Feeds) != 0 {
		t.Errorf("at first: %v", change)
	}
	// What is there when a program begins to listen is not new; what comes later is.
	eventually(t, "the first item", func() bool { list, _ := p.view.newest.look(n.Status().Feeds); return len(list) == 1 })
	if _, err := s.Apply(t.Context(), oneItem(example, "b", time.Now())); err != nil {
		t.Fatal(err)
	}
	n.change(func(s *feedtree.Status) { s.Feeds[0].Version, s.Feeds[0].Items = 2, 2 })
	var item struct {
		Feed, Key, Title, Trust string
		FeedTitle               string `json:"feed_title"`
	}
	heard.next("item", &item)
	if item.Feed != example || item.Key != "guid:b" || item.Title != "Item b" || item.Trust != "signed" || item.FeedTitle != "T" {
		t.Errorf("%+v", item)
	}
	heard.next("change", &change)
	if len(change.Feeds) != 1 || change.Feeds[0] != example {
		t.Errorf("%v", change)
	}
	n.change(func(s *feedtree.Status) { s.Volunteering.On = !s.Volunteering.On })
	heard.next("change", &change)
	if change.Feeds == nil || len(change.Feeds) != 0 {
		t.Errorf("the switch is told as %v", change)
	}
	n.change(func(s *feedtree.Status) { s.Feeds = nil })
	heard.next("change", &change)
	if len(change.Feeds) != 1 {
		t.Errorf("a feed that was left is told as %v", change)
	}
}

func TestListenersAreBounded(t *testing.T) {
	p := newProxy(newFakeNode(), Config{}, time.Now)
	at := serve(t, p)
	var all []*stream
	for range mostListeners {
		all = append(all, hear(t, at))
	}
	if s := hear(t, at); s.code != http.StatusServiceUnavailable {
		t.Errorf("one more: %d", s.code)
	}
	if p.overall().Refused[whyListeners] != 1 {
		t.Errorf("counted: %v", p.overall().Refused)
	}
	p.view.events.close() // as when the proxy stops
	for _, s := range all {
		s.ended()
	}
	p.view.events.mu.Lock()
	defer p.view.events.mu.Unlock()
	if len(p.view.events.to) != 0 || p.view.events.stop != nil {
		t.Error("somebody still looks")
	}
}

// A listener that does not read is cut off; the others are not.
func TestSlowListenerIsCutOff(t *testing.T) {
	p := newProxy(newFakeNode(), Config{}, time.Now)
	e := p.view.events
	slow, quick := e.listen(), e.listen()
	<-quick // what each is told at first
	got := 1
	for i := range listenerRoom {
		e.send(newMessage("item", i))
		<-quick
		got++
	}
	for range slow {
	}
	if _, open := <-slow; open || got != listenerRoom+1 || p.overall().Refused[whySlow] != 1 {
		t.Errorf("open %v, the other got %d, counted %v", open, got, p.overall().Refused)
	}
	e.leave(slow) // as its handler does
	e.leave(quick)
	if e.stop != nil {
		t.Error("somebody still looks though nobody listens")
	}
}

// A proxy that stops lets its listeners go, and does not wait for them.
func TestStreamsDoNotHoldUpTheEnd(t *testing.T) {
	p := newProxy(newFakeNode(), Config{}, time.Now)
	ctx, stop := context.WithCancel(t.Context())
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- p.Serve(ctx, l) }()
	s := hear(t, "http://"+l.Addr().String())
	stop()
	s.ended()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestItemsAsJSON(t *testing.T) {
	n, s, now := newFakeNode(), store.NewMemory(), newClock().now()
	other := "https://other.example/feed"
	n.status.Feeds = []feedtree.FeedStatus{{URL: example, Title: "T", Version: 1, Items: 2}, {URL: other, Version: 1}}
	for i, b := range []store.Batch{oneItem(example, "a", now.Add(-2*time.Hour)), oneItem(other, "b", now.Add(-time.Hour)), oneItem(example, "c", now)} {
		b.Items[0].Trust = store.Trust(i)
		if _, err := s.Apply(t.Context(), b); err != nil {
			t.Fatal(err)
		}
	}
	p := newProxy(n, Config{Store: s}, newClock().now)
	for _, c := range []struct{ query, want string }{
		{"", "c fetched, b corroborated, a unconfirmed"},
		{"?limit=1", "c fetched"},
		{"?feed=" + example, "c fetched, a unconfirmed"},
		{"?feed=" + other + "&limit=500", "b corroborated"},
	} {
		var got struct {
			Items []struct{ Key, Trust string }
		}
		w := get(p, "/api/v1/items"+c.query)
		if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
			t.Fatal(err)
		}
		var list []string
		for _, it := range got.Items {
			list = append(list, fmt.Sprint(strings.TrimPrefix(it.Key, "guid:"), " ", it.Trust))
		}
		if text := strings.Join(list, ", "); text != c.want {
			t.Errorf("%q: %s, want %s", c.query, text, c.want)
		}
	}
	for query, want := range map[string]int{"?limit=0": 400, "?limit=501": 400, "?limit=x": 400, "?feed=https://evil.example/": 404} {
		if w := get(p, "/api/v1/items"+query); w.Code != want {
			t.Errorf("%s: %d, want %d", query, w.Code, want)
		}
	}
	var one struct{ Title, HTML, Trust string }
	if err := json.Unmarshal(get(p, "/api/v1/item?feed="+example+"&key=guid:a").Body.Bytes(), &one); err != nil || one.Title != "Item a" || one.Trust != "unconfirmed" {
		t.Errorf("%+v, %v", one, err)
	}
	if w := get(p, "/api/v1/item?feed="+example+"&key=guid:zzz"); w.Code != 404 {
		t.Errorf("an unknown item: %d", w.Code)
	}
}
