package proxy_test

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/feedtree/feedtree"
	"github.com/feedtree/feedtree/feed/fetch"
	"github.com/feedtree/feedtree/feed/fetch/polite"
	"github.com/feedtree/feedtree/feed/opml"
	"github.com/feedtree/feedtree/overlay/kad"
	"github.com/feedtree/feedtree/proxy"
)

// hosting is many sites on one server, which notes what each bears.
type hosting struct {
	mu    sync.Mutex
	asked map[string]int         // by URL
	began map[string][]time.Time // by host
	busy  map[string]int
	most  int // requests that one host had at a time
}

func (h *hosting) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	h.asked[r.Host+r.URL.Path]++
	h.began[r.Host] = append(h.began[r.Host], time.Now())
	h.busy[r.Host]++
	h.most = max(h.most, h.busy[r.Host])
	h.mu.Unlock()
	if strings.HasSuffix(r.URL.Path, "/dead") {
		http.NotFound(w, r)
	} else {
		fmt.Fprintf(w, `<rss version="2.0"><channel><title>%s</title><link>http://%[1]s/</link><description>d</description>`+
			`<item><title>a</title><guid>%s</guid></item></channel></rss>`, r.Host, r.URL.Path)
	}
	h.mu.Lock()
	h.busy[r.Host]--
	h.mu.Unlock()
}

// hundreds is a list of feeds like those people have: most sites once, some hosts
// many times.
func hundreds(count int, port string) (list *opml.List, resolve []string) {
	var feeds []opml.Feed
	for i := range count {
		site := fmt.Sprintf("site%d", i/2)
		switch {
		case i < 60:
			site = "large"
		case i < 90:
			site = "medium"
		}
		path := fmt.Sprintf("feed%d", i)
		if i%100 == 50 {
			path += "/dead"
		}
		host := site + ".example.org"
		resolve = append(resolve, host+":"+port+":127.0.0.1")
		feeds = append(feeds, opml.Feed{Title: fmt.Sprint(i), URL: "http://" + host + ":" + port + "/" + path, Folder: []string{site[:1]}})
	}
	return opml.New("", feeds), resolve
}

// All 781 feeds of the lists in shared/data at once: each is asked for once, no
// host sooner or more at a time than the rules of the node allow, and what cannot
// be had is told.
func TestAListDoesNotHammer(t *testing.T) {
	t.Parallel()
	count := 781
	if testing.Short() {
		count = 200
	}
	const gap = 100 * time.Millisecond // first requests may be four times closer: polite.Hosts.Introduce
	h := &hosting{asked: map[string]int{}, began: map[string][]time.Time{}, busy: map[string]int{}}
	origin := httptest.NewServer(h)
	t.Cleanup(origin.Close)
	_, port, err := net.SplitHostPort(origin.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	list, resolve := hundreds(count, port)
	n, err := feedtree.New(t.Context(), feedtree.Config{
		Overlay: kad.Config{
			Network: "test", NoMDNS: true, NoNAT: true, NoRendezvous: true, Listen: []string{"/ip4/127.0.0.1/udp/0/quic-v1"},
		},
		Fetch: fetch.Config{Resolve: resolve, Rules: polite.Rules{Gap: gap, PerHost: 2}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { n.Close() })
	p := proxy.New(n, proxy.Config{})
	began := time.Now()
	sum := bring(t, p, list)
	for end := time.Now().Add(2 * time.Minute); !sum.Done && time.Now().Before(end); sum = result(t, p) {
		<-time.After(50 * time.Millisecond)
	}
	t.Logf("%d feeds in %v", count, time.Since(began))
	dead := count / 100
	if count%100 > 50 {
		dead++
	}
	if !sum.Done || len(sum.Added) != count-dead || len(sum.Refused) != dead || len(n.Status().Feeds) != count-dead {
		t.Errorf("%d added, %d refused, %d waiting, %d followed", len(sum.Added), len(sum.Refused), len(sum.Waiting), len(n.Status().Feeds))
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.asked) != count || h.most > 2 {
		t.Errorf("%d feeds were asked for, %d of a host at a time", len(h.asked), h.most)
	}
	for url, times := range h.asked {
		if times != 1 {
			t.Errorf("%s was asked for %d times", url, times)
		}
	}
	at := h.began["large.example.org:"+port]
	if span, least := at[len(at)-1].Sub(at[0]), time.Duration(len(at)-1)*gap/4; span < least-least/5 {
		t.Errorf("%d requests to one host in %v, want no less than %v", len(at), span, least)
	}
}

// outcome is the JSON of an import.
type outcome struct {
	Done                    bool
	Added, Refused, Waiting []struct{ URL string }
}

func bring(t *testing.T, p *proxy.Proxy, list *opml.List) outcome {
	t.Helper()
	var told struct{ Token string }
	r := httptest.NewRequest(http.MethodGet, "http://127.0.0.1:8089/api/v1/token", nil)
	w := httptest.NewRecorder()
	p.ServeHTTP(w, r)
	if err := json.Unmarshal(w.Body.Bytes(), &told); err != nil {
		t.Fatal(err)
	}
	r = httptest.NewRequest(http.MethodPost, "http://127.0.0.1:8089/opml", strings.NewReader(string(list.Bytes())))
	r.Header.Set("X-FeedTree-Token", told.Token)
	return decoded(t, p, r)
}

func result(t *testing.T, p *proxy.Proxy) outcome {
	t.Helper()
	return decoded(t, p, httptest.NewRequest(http.MethodGet, "http://127.0.0.1:8089/opml/result", nil))
}

func decoded(t *testing.T, p *proxy.Proxy, r *http.Request) (sum outcome) {
	t.Helper()
	w := httptest.NewRecorder()
	p.ServeHTTP(w, r)
	if err := json.Unmarshal(w.Body.Bytes(), &sum); err != nil {
		t.Fatalf("%v in %s", err, w.Body)
	}
	return sum
}
