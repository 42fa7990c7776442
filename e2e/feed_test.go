package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

const interval = 3 * time.Second // the poll interval of these tests

// stage is one origin with a legacy feed and a signed one, and proxies.
type stage struct {
	*swarm
	origin *origin
	legacy *rss
	signed *rss
	key    string
	file   string // what the publisher watches
}

func newStage(t testing.TB, proxies int, more ...string) *stage {
	t.Helper()
	o := newOrigin(t, "news.feedtree-test.org", true)
	st := &stage{origin: o, legacy: &rss{url: o.base + "/legacy.xml"}, signed: &rss{url: o.base + "/signed.xml"}}
	args := append([]string{"--poll-min", interval.String(), "--poll-max", interval.String()}, o.resolve()...)
	st.swarm = newSwarm(t, o.env(), append(args, more...)...)
	dir := t.TempDir()
	st.key, st.file = filepath.Join(dir, "key"), filepath.Join(dir, "feed.xml")
	st.signed.extra = keygen(t, st.key, st.signed.url)
	st.legacy.add("urn:first?a=1&amp;b=2")
	st.signed.add("signed-first")
	st.put()
	st.add(proxies)
	return st
}

// keygen makes a key and returns the snippet to paste.
func keygen(t testing.TB, key, url string) string {
	t.Helper()
	code, out := run(t, nil, "keygen", "--out", key, "--url", url)
	from, to := strings.Index(out, "<ft:tree"), strings.LastIndex(out, "</ft:tree>")
	if to >= 0 {
		to += len("</ft:tree>")
	} else if to = strings.LastIndex(out, "/>"); to >= 0 {
		to += len("/>")
	}
	if code != 0 || from < 0 || to < from {
		t.Fatalf("keygen: exit %d, no snippet in\n%s", code, out)
	}
	return out[from:to]
}

func (st *stage) put() {
	st.origin.set("/legacy.xml", st.legacy.String())
	st.origin.set("/signed.xml", st.signed.String())
	if err := os.WriteFile(st.file, []byte(st.signed.String()), 0o600); err != nil {
		st.t.Fatal(err)
	}
}

// subscribe makes every proxy ask for a feed and waits for the tree.
func (st *stage) subscribe(url string) {
	st.t.Helper()
	for _, p := range st.proxies {
		p.ask(url)
	}
	st.attached(url)
}

// publish runs the publisher and returns its exit status.
func (st *stage) publish(key string, more ...string) (int, string) {
	args := append([]string{"publish", "--url", st.signed.url, "--file", st.file, "--key", key}, st.overlay()...)
	args = append(args, st.origin.resolve()...)
	return run(st.t, append(st.origin.env(), "XDG_STATE_HOME="+filepath.Dir(st.file), "XDG_DATA_HOME="+filepath.Dir(st.file)), append(args, more...)...)
}

func TestLegacyFeed(t *testing.T) {
	st := newStage(t, 6)
	url := st.legacy.url
	st.subscribe(url)
	if n := st.origin.requests("/legacy.xml"); n < 6 {
		t.Fatalf("%d first GETs of 6 proxies", n)
	}

	t.Run("an item put in the origin's file reaches everybody once", func(t *testing.T) {
		var all []time.Duration // one turn in ten is missed on a busy machine, and the next one's is in time
		for i := range 3 {
			guid := fmt.Sprintf("tag:feedtree-test.org,2026:%d/ä?x=1", i)
			st.legacy.add(guid)
			st.put()
			took := st.spread(url, guid, time.Now(), 20*time.Second)
			all = append(all, took)
			t.Logf("item %d at all 6 proxies after %v (poll interval %v)", i, took.Round(time.Millisecond), interval)
		}
		if slices.Sort(all); all[1] > interval+2*time.Second {
			t.Errorf("of three items the second took %v, want an interval and 2 s", all[1])
		}
	})

	t.Run("1,000 readers' polls cost the origin one volunteer's schedule", func(t *testing.T) {
		before, begin := st.origin.requests("/legacy.xml"), time.Now()
		for i := range 1000 {
			if code, _ := st.proxies[i%6].get("/feed/" + url); code != 200 {
				t.Fatalf("poll %d: %d", i, code)
			}
		}
		eventually(t, 10*time.Second, "three intervals", func() bool { return time.Since(begin) > 3*interval })
		polls := st.origin.requests("/legacy.xml") - before
		most := int(time.Since(begin)/(interval*9/10)) + 1
		t.Logf("%d requests at the origin in %v, a volunteer's schedule allows %d", polls, time.Since(begin).Round(time.Second), most)
		// On a busy machine a claim takes longer than the 94 ms that it is left to be contradicted, and two ask.
		if polls > 2*most || polls == 0 {
			t.Errorf("%d requests at the origin, want 1 to %d, and twice as many at most", polls, most)
		}
	})
}

func TestSignedFeed(t *testing.T) {
	st := newStage(t, 6)
	url := st.signed.url
	st.subscribe(url)

	t.Run("publish --once", func(t *testing.T) {
		st.signed.add("pushed-once")
		if err := os.WriteFile(st.file, []byte(st.signed.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		code, out := st.publish(st.key, "--once")
		if code != 0 {
			t.Fatalf("exit %d\n%s", code, out)
		}
		if code, out := st.publish(st.key, "--once"); code != 0 {
			t.Errorf("again, with nothing new: exit %d\n%s", code, out)
		}
		took := st.spread(url, "pushed-once", time.Now(), 2*time.Second)
		t.Logf("pushed, held durably, asked for again; %v in all, at all 6 proxies %v later", time.Since(begin).Round(time.Millisecond), took.Round(time.Millisecond))
	})

	t.Run("a key that is not the feed's reaches no reader and is counted", func(t *testing.T) {
		forged := filepath.Join(t.TempDir(), "forged")
		keygen(t, forged, url)
		good, err := os.ReadFile(st.file)
		if err != nil {
			t.Fatal(err)
		}
		doc := &rss{url: url}
		doc.add("forged-item")
		if err := os.WriteFile(st.file, []byte(doc.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		code, out := st.publish(forged, "--once", "--timeout", "6s")
		if code != 3 {
			t.Errorf("exit %d, want 3: nobody may hold it\n%s", code, out)
		}
		refused := 0
		for i, p := range st.proxies {
			if p.holds(url, "forged-item") != 0 {
				t.Errorf("proxy %d shows the forged item", i)
			}
			if f, _ := p.feed(url); len(f.Refused) > 0 {
				refused++
			}
		}
		if refused == 0 {
			t.Error("no status page counts it")
		}
		if err := os.WriteFile(st.file, good, 0o600); err != nil {
			t.Fatal(err)
		}
	})

	t.Run("publish --watch reaches everybody within 2 s", func(t *testing.T) {
		args := append([]string{"publish", "--watch", "--url", url, "--file", st.file, "--key", st.key}, st.overlay()...)
		pub := start(t, append(st.origin.env(), "XDG_STATE_HOME="+filepath.Dir(st.file), "XDG_DATA_HOME="+filepath.Dir(st.file)), append(args, st.origin.resolve()...)...)
		st.signed.add("before-watch")
		st.put()
		st.spread(url, "before-watch", time.Now(), 20*time.Second)
		for i := range 3 {
			guid := fmt.Sprintf("watched-%d", i)
			st.signed.add(guid)
			st.put()
			took := st.spread(url, guid, time.Now(), 2*time.Second)
			t.Logf("pushed item %d at all 6 proxies after %v", i, took.Round(time.Millisecond))
		}
		if took := pub.stop(t); took > 3*time.Second {
			t.Errorf("stopping took %v", took)
		}
	})
}

func TestSurvival(t *testing.T) {
	st := newStage(t, 7)
	url := st.legacy.url
	st.subscribe(url)
	n := 0
	// later puts an item at the origin and wants it everywhere among the living
	later := func(what string, within time.Duration) {
		n++
		guid := fmt.Sprintf("item-%d", n)
		st.legacy.add(guid)
		st.put()
		took := st.spread(url, guid, time.Now(), within)
		t.Logf("%s: %s at all %d after %v", what, guid, len(st.proxies), took.Round(time.Millisecond))
	}
	later("calm", 2*interval+2*time.Second)

	// remove kills the first proxy that is what is wanted, as soon as there is
	// one: who was killed before may have been it.
	remove := func(what string, pick func(feedStatus) bool) (victim *proxy) {
		eventually(t, 30*time.Second, what, func() bool {
			i := slices.IndexFunc(st.proxies, func(p *proxy) bool {
				f, ok := p.feed(url)
				return ok && pick(f)
			})
			if i >= 0 {
				victim = st.proxies[i]
				victim.kill()
				st.proxies = append(st.proxies[:i:i], st.proxies[i+1:]...)
			}
			return i >= 0
		})
		return victim
	}
	// A takeover: silence for one interval, then a random part of another.
	const takeover = 4*interval + 2*time.Second
	remove("a volunteer", func(f feedStatus) bool { return f.Role == "volunteer" })
	later("the volunteer killed", takeover)

	root := remove("a root", func(f feedStatus) bool { return f.Root })
	later("the root killed", takeover)

	root.start()
	st.proxies = append(st.proxies, root)
	if f, _ := root.feed(url); f.OriginRequests != 0 {
		t.Errorf("the proxy started again made %d requests before anything else", f.OriginRequests)
	}
	eventually(t, 15*time.Second, "the proxy started again has what it missed", func() bool {
		return root.holds(url, fmt.Sprintf("item-%d", n)) == 1
	})
	if f, _ := root.feed(url); f.OriginRequests != 0 {
		t.Errorf("it caught up with %d requests to the origin, want from its parent", f.OriginRequests)
	}

	remove("a node with children", func(f feedStatus) bool { return f.childCount() > 0 })
	later("an interior node killed", takeover)

	var wg sync.WaitGroup
	for range 2 {
		p := st.proxies[0]
		st.proxies = st.proxies[1:]
		wg.Go(p.kill)
	}
	wg.Wait()
	later("two killed at once", takeover)

	for i, p := range st.proxies {
		for k := 1; k <= n; k++ {
			if c := p.holds(url, fmt.Sprintf("item-%d", k)); c != 1 {
				t.Errorf("survivor %d serves item-%d %d times", i, k, c)
			}
		}
	}
}

// The node that everybody joined through has nobody to join through itself.
// Killed and started again it is where it was, and remembers whom it met.
func TestFirstNodeComesBack(t *testing.T) {
	st := newStage(t, 4)
	url := st.legacy.url
	st.subscribe(url)
	first := st.proxies[0]
	addr := first.addr
	begin := time.Now()
	eventually(t, 10*time.Second, "peers are remembered", func() bool { return time.Since(begin) > 4*time.Second })
	first.kill()
	first.start()
	if first.addr != addr {
		t.Errorf("it was at %s and is at %s", addr, first.addr)
	}
	eventually(t, 10*time.Second, "back among the others", func() bool {
		s, err := first.status()
		return err == nil && s.Peers >= 3
	})
	st.attached(url)
	st.legacy.add("after-the-return")
	st.put()
	st.spread(url, "after-the-return", time.Now(), 4*interval+2*time.Second)
}
