package proxy_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/feedtree/feedtree"
	"github.com/feedtree/feedtree/feed/fetch"
	"github.com/feedtree/feedtree/feed/store"
	"github.com/feedtree/feedtree/overlay/kad"
	"github.com/feedtree/feedtree/proxy"
)

// site is an origin with a hub of its own, under public-looking names, and a proxy
// that the hub can reach.
type site struct {
	t     *testing.T
	feed  string // the feed's URL
	hub   string // the hub's address
	proxy string // where the proxy really listens

	mu       sync.Mutex
	items    []string
	asked    int
	callback string
	secret   string
}

func (s *site) serve(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.URL.Path == "/hub" {
		s.callback, s.secret = r.FormValue("hub.callback"), r.FormValue("hub.secret")
		go s.verify(r.FormValue("hub.topic"), s.callback)
		w.WriteHeader(http.StatusAccepted)
		return
	}
	s.asked++
	fmt.Fprintf(w, `<rss version="2.0" xmlns:a="http://www.w3.org/2005/Atom"><channel><title>News</title><link>http://blog.example.org/</link>`+
		`<description>d</description><a:link rel="hub" href="%s"/><a:link rel="self" href="%s"/>`, s.hub, s.feed)
	for _, name := range s.items {
		fmt.Fprintf(w, `<item><title>%s</title><guid>%[1]s</guid></item>`, name)
	}
	fmt.Fprint(w, `</channel></rss>`)
}

func (s *site) requests() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked
}

func (s *site) add(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.items = append([]string{name}, s.items...)
}

// verify is the hub's side of WebSub §5.3.
func (s *site) verify(topic, callback string) {
	q := url.Values{"hub.mode": {"subscribe"}, "hub.topic": {topic}, "hub.challenge": {"c"}, "hub.lease_seconds": {"864000"}}
	if body := s.outside(http.MethodGet, callback+"?"+q.Encode(), "", ""); body != "c" {
		s.t.Errorf("the hub's question is answered with %q", body)
	}
}

// outside asks the proxy by its public name.
func (s *site) outside(method, to, body, signature string) string {
	u, err := url.Parse(to)
	if err != nil {
		s.t.Error(err)
		return ""
	}
	r, err := http.NewRequest(method, "http://"+s.proxy+u.RequestURI(), strings.NewReader(body))
	if err != nil {
		s.t.Error(err)
		return ""
	}
	r.Host = u.Host
	if signature != "" {
		r.Header.Set("X-Hub-Signature", signature)
	}
	w, err := http.DefaultClient.Do(r)
	if err != nil {
		s.t.Error(err)
		return ""
	}
	defer w.Body.Close()
	got, err := io.ReadAll(w.Body)
	if err != nil {
		s.t.Error(err)
	}
	return string(got)
}

func (s *site) read() string {
	w, err := http.Get("http://" + s.proxy + "/feed/" + s.feed)
	if err != nil {
		s.t.Fatal(err)
	}
	defer w.Body.Close()
	doc, err := io.ReadAll(w.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return string(doc)
}

func (s *site) eventually(what string, ok func() bool) {
	s.t.Helper()
	deadline := time.Now().Add(time.Minute)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		if time.Now().After(deadline) {
			s.t.Fatalf("waited in vain: %s", what)
		}
		<-tick.C
	}
}

// A real node, polling hourly: WordPress beside it pings, then a hub far away
// sends, and each time the news is there at once, fetched from the origin.
func TestNewsByHints(t *testing.T) {
	s := &site{t: t, items: []string{"first"}}
	web := httptest.NewServer(http.HandlerFunc(s.serve))
	defer web.Close()
	_, port, err := net.SplitHostPort(web.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	s.feed, s.hub = "http://blog.example.org:"+port+"/feed/", "http://hub.example.org:"+port+"/hub"
	config := fetch.Config{Resolve: []string{"blog.example.org:" + port + ":127.0.0.1", "hub.example.org:" + port + ":127.0.0.1"}}
	config.Rules.Hint, config.Rules.Gap = time.Millisecond, time.Millisecond
	kept := store.NewMemory()
	node, err := feedtree.New(t.Context(), feedtree.Config{
		Overlay: kad.Config{Network: "hints", Listen: []string{"/ip4/127.0.0.1/udp/0/quic-v1"}, NoMDNS: true, NoNAT: true, NoRendezvous: true},
		Fetch:   config, Store: kept,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer node.Close()
	if _, err := node.Subscribe(t.Context(), s.feed); err != nil {
		t.Fatal(err)
	}
	client, err := fetch.New(config)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.proxy = listener.Addr().String()
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	p := proxy.New(node, proxy.Config{Base: "http://" + s.proxy, PublicURL: "http://hints.example.net", Client: client, Store: kept})
	go func() { served <- p.Serve(ctx, listener) }()
	defer func() {
		stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	}()

	s.add("pinged")
	ping := `<?xml version="1.0"?><methodCall><methodName>weblogUpdates.extendedPing</methodName><params>` +
		`<param><value><string>Blog</string></value></param><param><value><string>http://blog.example.org:` + port + `/</string></value></param>` +
		`<param><value><string>` + s.feed + `</string></value></param></params></methodCall>`
	if got := s.outside(http.MethodPost, "http://"+s.proxy+"/ping", ping, ""); !strings.Contains(got, "<boolean>0</boolean>") {
		t.Fatalf("the ping is answered with %s", got)
	}
	s.eventually("the news of the ping", func() bool { return strings.Contains(s.read(), "pinged") })

	subscribed := func() bool { s.mu.Lock(); defer s.mu.Unlock(); return s.callback != "" }
	s.eventually("a subscription at the hub", subscribed)
	if s.secret != "" {
		t.Error("the hub was told a secret over plain HTTP")
	}
	s.add("pushed")
	before := s.requests()
	mac := hmac.New(sha256.New, []byte(s.secret))
	const forged = `<rss version="2.0"><channel><title>x</title><item><title>forged</title><guid>forged</guid></item></channel></rss>`
	mac.Write([]byte(forged))
	s.eventually("the news of the hub", func() bool {
		s.outside(http.MethodPost, s.callback, forged, "sha256="+hex.EncodeToString(mac.Sum(nil)))
		return strings.Contains(s.read(), "pushed")
	})
	if s.requests() == before || strings.Contains(s.read(), "forged") {
		t.Error("what the hub sends is believed")
	}
}
