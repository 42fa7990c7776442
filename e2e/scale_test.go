package e2e

import (
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

var figures = flag.Bool("figures", false, "measure and print the README's figures")

// twenty makes a tree with more members than one node has children.
func twenty(t *testing.T) *stage {
	st := newStage(t, 20)
	st.subscribe(st.signed.url)
	return st
}

// watched starts a publisher that pushes what changes in the file.
func (st *stage) watched() *process {
	args := append([]string{"publish", "--watch", "--ttl", "1m", "--url", st.signed.url, "--file", st.file, "--key", st.key}, st.overlay()...)
	return start(st.t, append(st.origin.env(), "XDG_STATE_HOME="+filepath.Dir(st.file), "XDG_DATA_HOME="+filepath.Dir(st.file)), append(args, st.origin.resolve()...)...)
}

// Twenty members are more than a root takes as children: some hang below
// others. One that has children and is not the root is killed while news flows.
func TestInteriorNodeKilled(t *testing.T) {
	st := twenty(t)
	url := st.signed.url
	st.watched()
	st.signed.add("before")
	st.put()
	st.spread(url, "before", time.Now(), 20*time.Second)
	victim := -1
	for i, p := range st.proxies {
		if f, ok := p.feed(url); ok && !f.Root && f.childCount() > 0 {
			victim = i
		}
	}
	if victim < 0 {
		t.Fatal("no interior node beside the root among 20")
	}
	dead := st.proxies[victim]
	f, _ := dead.feed(url)
	dead.kill()
	st.proxies = slices.Delete(slices.Clone(st.proxies), victim, victim+1)
	for i := range 3 {
		guid := fmt.Sprintf("after-%d", i)
		st.signed.add(guid)
		st.put()
		took := st.spread(url, guid, time.Now(), 10*time.Second)
		t.Logf("with a node of %d children dead for %d items: %s at all 19 after %v", f.childCount(), i, guid, took.Round(time.Millisecond))
	}
	dead.start()
	st.proxies = append(st.proxies, dead)
	for i := range 3 {
		st.spread(url, fmt.Sprintf("after-%d", i), time.Now(), 15*time.Second)
	}
	if f, _ := dead.feed(url); f.OriginRequests != 0 {
		t.Errorf("the one that was away made %d requests to the origin, want what it missed from its parent", f.OriginRequests)
	}
}

// TestFigures prints the figures of the README.
func TestFigures(t *testing.T) {
	if !*figures {
		t.Skip("measures for minutes: go test ./e2e -run TestFigures -figures -v")
	}
	t.Run("start to ready", figureStart)
	t.Run("memory", figureMemory)
	t.Run("publish to the last of 20", figurePublish)
	t.Run("requests per second", figureRequests)
}

func median[T ~int64 | ~float64](all []T) T {
	slices.Sort(all)
	return all[len(all)/2]
}

func figureStart(t *testing.T) {
	var ready, bare []time.Duration
	for range 9 {
		begin := time.Now()
		if code, out := run(t, nil, "version"); code != 0 {
			t.Fatal(out)
		}
		bare = append(bare, time.Since(begin))
		s := newSwarm(t, nil)
		begin = time.Now()
		p := &proxy{t: t, data: filepath.Join(t.TempDir(), "data"), listen: freePort(t)}
		p.args = append([]string{"proxy", "--listen", p.listen, "--data", p.data}, s.overlay()...)
		p.process = start(t, nil, p.args...)
		tick := time.NewTicker(time.Millisecond)
		for range tick.C {
			if code, _ := p.get("/healthz"); code == http.StatusOK {
				break
			}
		}
		tick.Stop()
		ready = append(ready, time.Since(begin))
		p.stop(t)
	}
	t.Logf("start to ready, first start with an empty directory: median %v of 9 (the bare process, `feedtree version`: %v)",
		median(ready).Round(time.Millisecond), median(bare).Round(time.Millisecond))
}

func figureMemory(t *testing.T) {
	o := newOrigin(t, "news.feedtree-test.org", false)
	s := newSwarm(t, nil, o.resolve()...)
	s.add(2)
	p := s.proxies[1]
	empty := resident(t, p)
	for i := range 50 {
		doc := &rss{url: fmt.Sprintf("%s/%d.xml", o.base, i)}
		for k := range 30 {
			doc.add(fmt.Sprintf("item-%d-%d", i, k))
		}
		o.set(fmt.Sprintf("/%d.xml", i), doc.String())
		p.ask(doc.url)
		s.proxies[0].ask(doc.url)
	}
	for range 3 {
		for i := range 50 {
			p.ask(fmt.Sprintf("%s/%d.xml", o.base, i))
		}
	}
	t.Logf("resident memory: %d MiB with 0 feeds, %d MiB with 50 feeds of 30 items", empty, resident(t, p))
}

// resident is VmRSS in MiB.
func resident(t *testing.T, p *proxy) int {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		t.Skip("no /proc: ", err)
	}
	var kib int
	for line := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			fmt.Sscan(rest, &kib)
		}
	}
	return kib / 1024
}

func figurePublish(t *testing.T) {
	st := twenty(t)
	st.watched()
	st.signed.add("warm")
	st.put()
	st.spread(st.signed.url, "warm", time.Now(), 30*time.Second)
	var took []time.Duration
	for i := range 11 {
		guid := fmt.Sprintf("timed-%d", i)
		st.signed.add(guid)
		st.put()
		took = append(took, st.last(guid, time.Now()))
	}
	t.Logf("file written to the last of 20 proxies' documents, 200 ms of it the watcher's wait for a quiet file: median %v of 11, worst %v",
		median(took).Round(time.Millisecond), slices.Max(took).Round(time.Millisecond))
}

// last asks all proxies at once until the last one serves the item.
func (st *stage) last(guid string, since time.Time) time.Duration {
	var wg sync.WaitGroup
	for _, p := range st.proxies {
		wg.Go(func() {
			for time.Since(since) < 10*time.Second && p.holds(st.signed.url, guid) != 1 {
				runtime.Gosched()
			}
		})
	}
	wg.Wait()
	return time.Since(since)
}

func figureRequests(t *testing.T) {
	o := newOrigin(t, "news.feedtree-test.org", false)
	doc := &rss{url: o.base + "/feed.xml"}
	for k := range 30 {
		doc.add(fmt.Sprintf("item-%d", k))
	}
	o.set("/feed.xml", doc.String())
	s := newSwarm(t, nil, o.resolve()...)
	s.add(1)
	url := "http://" + s.proxies[0].listen + "/feed/" + doc.url
	s.proxies[0].ask(doc.url)
	req, err := http.NewRequest(http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Accept-Encoding", "identity") // as rate asks: each coding has a tag of its own
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(resp.Body)
	resp.Body.Close()
	etag := resp.Header.Get("ETag")
	static := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Write(body) }))
	defer static.Close()
	var full, unchanged, bare []float64
	for range 5 {
		bare = append(bare, rate(t, static.URL, "", http.StatusOK))
		full = append(full, rate(t, url, "", http.StatusOK))
		unchanged = append(unchanged, rate(t, url, etag, http.StatusNotModified))
	}
	t.Logf("/feed/ of %d bytes: %.0f/s answered 200, %.0f/s answered 304 (net/http writing the same bytes from memory, in the client's process: %.0f/s)",
		len(body), median(full), median(unchanged), median(bare))
}

// rate asks over 16 connections for two seconds.
func rate(t *testing.T, url, etag string, want int) float64 {
	tr := &http.Transport{MaxIdleConnsPerHost: 16, DisableCompression: true}
	defer tr.CloseIdleConnections()
	c := &http.Client{Transport: tr}
	var n, bad atomic.Int64
	var wg sync.WaitGroup
	begin := time.Now()
	for range 16 {
		wg.Go(func() {
			for time.Since(begin) < 2*time.Second {
				req, _ := http.NewRequest(http.MethodGet, url, nil)
				if etag != "" {
					req.Header.Set("If-None-Match", etag)
				}
				resp, err := c.Do(req)
				if err != nil || resp.StatusCode != want {
					bad.Add(1)
					return
				}
				io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
				n.Add(1)
			}
		})
	}
	wg.Wait()
	if bad.Load() > 0 {
		t.Errorf("%d answers were not %d", bad.Load(), want)
	}
	return float64(n.Load()) / time.Since(begin).Seconds()
}
