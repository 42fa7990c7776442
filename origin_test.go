package feedtree_test

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/feedtree/feedtree"
	"github.com/feedtree/feedtree/feed/fetch"
	"github.com/feedtree/feedtree/overlay/kad"
)

// origin is a web server of feeds on loopback under a name that looks public.
type origin struct {
	mu       sync.Mutex
	pages    map[string]page
	requests map[string]int
	config   fetch.Config
	base     string
}

type page struct {
	status int
	header map[string]string
	body   string
}

const host = "news.example.org"

func newOrigin(t testing.TB) *origin {
	return startOrigin(t, httptest.NewServer, "http")
}

// newSecureOrigin serves HTTPS with a certificate for its name, which a test CA
// vouches for.
func newSecureOrigin(t testing.TB) *origin {
	return startOrigin(t, httptest.NewTLSServer, "https")
}

func startOrigin(t testing.TB, start func(http.Handler) *httptest.Server, scheme string) *origin {
	t.Helper()
	o := &origin{pages: map[string]page{}, requests: map[string]int{}}
	s := start(o)
	t.Cleanup(s.Close)
	_, port, err := net.SplitHostPort(s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	name := host
	if scheme == "https" {
		name = "example.com" // what httptest's certificate is for
		pool := x509.NewCertPool()
		pool.AddCert(s.Certificate())
		o.config.RootCAs = pool
		s.TLS.MinVersion = tls.VersionTLS12
	}
	o.config.Resolve = []string{name + ":" + port + ":127.0.0.1"}
	o.base = scheme + "://" + name + ":" + port
	return o
}

func (o *origin) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	o.mu.Lock()
	o.requests[r.URL.Path]++
	p, ok := o.pages[r.URL.Path]
	o.mu.Unlock()
	if !ok {
		http.NotFound(w, r)
		return
	}
	tag := fmt.Sprintf(`"%x"`, sha256.Sum256([]byte(p.body)))
	w.Header().Set("ETag", tag)
	for k, v := range p.header {
		w.Header().Set(k, v)
	}
	if p.status == 0 && r.Header.Get("If-None-Match") == tag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	if p.status != 0 {
		w.WriteHeader(p.status)
	}
	fmt.Fprint(w, p.body)
}

func (o *origin) set(path string, p page) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.pages[path] = p
}

// publish puts a document with these items there, the newest first.
func (o *origin) publish(path string, items ...string) {
	o.set(path, page{body: document("", items...)})
}

func (o *origin) asked(path string) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.requests[path]
}

func (o *origin) url(path string) string { return o.base + path }

// document is an RSS document with extra elements in its channel.
func document(extra string, items ...string) string {
	var b strings.Builder
	b.WriteString(`<?xml version="1.0"?><rss version="2.0"><channel><title>News</title><link>http://news.example.org/</link><description>n</description>` + extra)
	for _, name := range items {
		fmt.Fprintf(&b, `<item><guid isPermaLink="false">%s</guid><title>About %s</title><description>text of %[1]s</description></item>`, name, name)
	}
	b.WriteString(`</channel></rss>`)
	return b.String()
}

const pollMin = time.Second

// startNode starts a node on loopback that joins through others.
func startNode(t testing.TB, o *origin, change func(*feedtree.Config), via ...*feedtree.Node) *feedtree.Node {
	t.Helper()
	c := feedtree.Config{
		Overlay: kad.Config{
			Network: "test", NoMDNS: true, NoNAT: true, NoRendezvous: true,
			Listen: []string{"/ip4/127.0.0.1/udp/0/quic-v1"},
		},
		Polling: feedtree.Polling{Min: pollMin, Max: pollMin},
	}
	if o != nil {
		c.Fetch = o.config
	}
	for _, n := range via {
		c.Overlay.Bootstrap = append(c.Overlay.Bootstrap, n.Addrs()...)
	}
	if change != nil {
		change(&c)
	}
	n, err := feedtree.New(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { n.Close() })
	return n
}

// startNodes starts nodes that know each other.
func startNodes(t testing.TB, o *origin, count int) []*feedtree.Node {
	t.Helper()
	nodes := []*feedtree.Node{startNode(t, o, nil)}
	for len(nodes) < count {
		nodes = append(nodes, startNode(t, o, nil, nodes[0]))
	}
	for _, n := range nodes {
		eventually(t, "the nodes meet", func() bool { return n.Status().Peers >= count-1 })
	}
	return nodes
}

// eventually waits for a condition, looking at it often.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	within(t, 20*time.Second, what, ok)
}

func within(t testing.TB, limit time.Duration, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(limit)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain: %s", what)
		}
		<-tick.C
	}
}

func subscribe(t testing.TB, n *feedtree.Node, url string) *feedtree.Subscription {
	t.Helper()
	s, err := n.Subscribe(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// arrivals collects what a subscription yields.
type arrivals struct {
	mu   sync.Mutex
	list []feedtree.Update
	err  error
}

func collect(t testing.TB, s *feedtree.Subscription) *arrivals {
	a := &arrivals{}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for u, err := range s.Items(ctx) {
			a.mu.Lock()
			if err != nil {
				a.err = err
			} else {
				a.list = append(a.list, u)
			}
			a.mu.Unlock()
		}
	}()
	t.Cleanup(func() { cancel(); <-done })
	return a
}

// got returns how often each GUID came.
func (a *arrivals) got() map[string]int {
	a.mu.Lock()
	defer a.mu.Unlock()
	times := map[string]int{}
	for _, u := range a.list {
		times[u.Item.GUID]++
	}
	return times
}

func (a *arrivals) of(guid string) (feedtree.Update, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, u := range a.list {
		if u.Item.GUID == guid {
			return u, true
		}
	}
	return feedtree.Update{}, false
}

func (a *arrivals) all() []feedtree.Update {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.list)
}

func role(n *feedtree.Node, url string) feedtree.Role {
	f, _ := n.Feed(url)
	return f.Role
}

func volunteers(nodes []*feedtree.Node, url string) (active []*feedtree.Node) {
	for _, n := range nodes {
		if role(n, url) == feedtree.RoleVolunteer {
			active = append(active, n)
		}
	}
	return active
}
