package proxy_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/libp2p/go-libp2p"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/p2p/muxer/yamux"

	"github.com/feedtree/feedtree"
	"github.com/feedtree/feedtree/feed"
	"github.com/feedtree/feedtree/feed/fetch"
	"github.com/feedtree/feedtree/feed/store"
	"github.com/feedtree/feedtree/multicast"
	"github.com/feedtree/feedtree/overlay/kad"
	"github.com/feedtree/feedtree/proxy"
)

// tap is a stream multiplexer that keeps what is written to each stream: below the
// protocols, and above the encryption. Everything that a node of TCP says to
// others goes through it: the DHT, identify, and the tree.
type tap struct {
	mu    sync.Mutex
	sent  []*bytes.Buffer // a stream each
	conns int
}

func (t *tap) NewConn(c net.Conn, server bool, scope network.PeerScope) (network.MuxedConn, error) {
	t.mu.Lock()
	t.conns++
	t.mu.Unlock()
	inner, err := yamux.DefaultTransport.NewConn(c, server, scope)
	return &tappedConn{inner, t}, err
}

type tappedConn struct {
	network.MuxedConn
	tap *tap
}

func (c *tappedConn) OpenStream(ctx context.Context) (network.MuxedStream, error) {
	s, err := c.MuxedConn.OpenStream(ctx)
	if err != nil {
		return nil, err
	}
	return c.tap.on(s), nil
}

func (c *tappedConn) AcceptStream() (network.MuxedStream, error) {
	s, err := c.MuxedConn.AcceptStream()
	if err != nil {
		return nil, err
	}
	return c.tap.on(s), nil
}

type tappedStream struct {
	network.MuxedStream
	tap *tap
	to  *bytes.Buffer
}

func (t *tap) on(s network.MuxedStream) network.MuxedStream {
	t.mu.Lock()
	defer t.mu.Unlock()
	b := &bytes.Buffer{}
	t.sent = append(t.sent, b)
	return &tappedStream{s, t, b}
}

func (s *tappedStream) Write(p []byte) (int, error) {
	s.tap.mu.Lock()
	s.to.Write(p)
	s.tap.mu.Unlock()
	return s.MuxedStream.Write(p)
}

// all returns what was sent: each stream as it is, and what is compressed in it.
func (t *tap) all(tb testing.TB) []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	var all bytes.Buffer
	for _, b := range t.sent {
		all.Write(b.Bytes())
		all.WriteByte('\n')
		for rest := b.Bytes(); ; rest = rest[1:] {
			at := bytes.Index(rest, []byte{0x28, 0xb5, 0x2f, 0xfd})
			if at < 0 {
				break
			}
			rest = rest[at:]
			d, err := zstd.NewReader(bytes.NewReader(rest), zstd.WithDecoderConcurrency(1))
			if err != nil {
				tb.Fatal(err)
			}
			_, _ = all.ReadFrom(d) // up to what follows the frame, which is no frame
			d.Close()
		}
	}
	return all.Bytes()
}

// sites is an origin of many hosts. Each path of each is one feed, whose items are
// named after its host; it notes how it is asked.
type sites struct {
	mu      sync.Mutex
	items   int
	broken  bool
	asked   []*http.Request
	topics  []string // that the hub was asked about
	answers map[string]func(w http.ResponseWriter, r *http.Request) (extra string, done bool)
}

func (s *sites) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	host, port, _ := strings.Cut(r.Host, ":")
	if host == theHub {
		s.topics = append(s.topics, r.FormValue("hub.topic")+" "+r.FormValue("hub.callback"))
		w.WriteHeader(http.StatusAccepted)
		return
	}
	s.asked = append(s.asked, r)
	extra := `<atom:link xmlns:atom="http://www.w3.org/2005/Atom" rel="hub" href="http://` + theHub + ":" + port + `/"/>`
	if answer := s.answers[host]; answer != nil {
		more, done := answer(w, r)
		if done {
			return
		}
		extra += more
	}
	if s.broken {
		http.Error(w, "broken", http.StatusInternalServerError)
		return
	}
	tag := fmt.Sprintf(`"%d"`, s.items) // without one a feed is polled 24 times less often
	w.Header().Set("ETag", tag)
	if r.Header.Get("If-None-Match") == tag {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	fmt.Fprintf(w, `<rss version="2.0"><channel><title>Of %s</title><link>http://%[1]s/</link><description>d</description>%s`, host, extra)
	for i := range s.items {
		fmt.Fprintf(w, `<item><guid isPermaLink="false">%d</guid><title>Words of %s, no. %[1]d</title></item>`, s.items-i, host)
	}
	fmt.Fprint(w, `</channel></rss>`)
}

func (s *sites) set(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}

// Private feeds of every kind, and what of each must be heard by nobody. PORT
// stands for the origin's.
var privateFeeds = map[string]struct {
	url     string
	needles []string
}{
	"password":      {"http://ann:Sesame77@pass.example.org:PORT/feed", []string{"Sesame77", "pass.example.org"}},
	"query token":   {"http://query.example.org:PORT/feed?token=Quince4711", []string{"Quince4711", "query.example.org"}},
	"path token":    {"http://path.example.org:PORT/feed/3f9a8c7b6d5e4f3a2b1c0d9e8f7a6b5c/rss", []string{"3f9a8c7b6d5e", "path.example.org"}},
	"private name":  {"http://printer.lan:PORT/status.xml", []string{"printer.lan", "status.xml"}},
	"Cache-Control": {"http://cached.example.org:PORT/feed", []string{"cached.example.org"}},
	"ft:poll":       {"http://polled.example.org:PORT/feed", []string{"polled.example.org"}},
	"X-Robots-Tag":  {"http://robots.example.org:PORT/feed", []string{"robots.example.org"}},
	"moved":         {"http://moved.example.org:PORT/feed", []string{"Damson0815", "moved.example.org"}},
}

// theHub is a WebSub hub that every feed names.
const theHub = "hub.example.org"

const publicFeed = "http://public.example.org:PORT/feed"

func newSites(t *testing.T) (s *sites, port string, resolve []string) {
	t.Helper()
	type answer = func(http.ResponseWriter, *http.Request) (string, bool)
	header := func(name, value string) answer {
		return func(w http.ResponseWriter, _ *http.Request) (string, bool) {
			w.Header().Set(name, value)
			return "", false
		}
	}
	s = &sites{items: 1, answers: map[string]func(http.ResponseWriter, *http.Request) (string, bool){
		"cached.example.org": header("Cache-Control", "private"),
		"robots.example.org": header("X-Robots-Tag", "noarchive"),
		"polled.example.org": func(http.ResponseWriter, *http.Request) (string, bool) {
			return `<ft:poll xmlns:ft="` + feed.Namespace + `" allow="none"/>`, false
		},
		"moved.example.org": func(w http.ResponseWriter, r *http.Request) (string, bool) {
			if r.URL.RawQuery != "" {
				return "", false
			}
			http.Redirect(w, r, "/feed?key=Damson0815", http.StatusMovedPermanently)
			return "", true
		},
	}}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	_, port, err := net.SplitHostPort(server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range privateFeeds {
		resolve = append(resolve, f.needles[len(f.needles)-1]+":"+port+":127.0.0.1")
	}
	for _, host := range []string{"path.example.org", "printer.lan", "public.example.org", theHub} {
		resolve = append(resolve, host+":"+port+":127.0.0.1")
	}
	return s, port, resolve
}

// listening is a node on loopback, of TCP alone.
func listening(t *testing.T, resolve []string, change func(*feedtree.Config), via ...*feedtree.Node) *feedtree.Node {
	t.Helper()
	c := feedtree.Config{
		Overlay: kad.Config{
			Network: "test", NoMDNS: true, NoNAT: true, NoRendezvous: true, Listen: []string{"/ip4/127.0.0.1/tcp/0"},
		},
		Fetch:   fetch.Config{Resolve: resolve},
		Polling: feedtree.Polling{Min: time.Second, Max: time.Second},
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

// serving runs a proxy, whose house is kept only while it serves, and returns what
// ends that.
func serving(t *testing.T, p *proxy.Proxy) (stop func()) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- p.Serve(ctx, l) }()
	return func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

func waitFor(t *testing.T, what string, ok func() bool) {
	t.Helper()
	end := time.Now().Add(40 * time.Second)
	for tick := time.Tick(20 * time.Millisecond); !ok(); <-tick {
		if time.Now().After(end) {
			t.Fatalf("waited in vain: %s", what)
		}
	}
}

// logged is a log that is safe to read.
type logged struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logged) bytes() []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	return bytes.Clone(l.text.Bytes())
}

// Nothing of a private feed is in any byte that a proxy sends to other nodes: no
// word of its address or its items, not its group, no key of the DHT that is made
// of it. Of a public feed the group and the items are found, so the tap works.
// Nor is a secret in logs, metrics, or requests to other origins.
func TestPrivateStaysPrivate(t *testing.T) {
	t.Parallel()
	origin, port, resolve := newSites(t)
	public := strings.ReplaceAll(publicFeed, "PORT", port)
	tap, log, kept := &tap{}, &logged{}, store.NewMemory()
	dir := t.TempDir()
	others := []*feedtree.Node{listening(t, resolve, nil)}
	others = append(others, listening(t, resolve, nil, others[0]))
	tapped := func(c *feedtree.Config) {
		c.Dir, c.Store = dir, kept
		c.Log = slog.New(slog.NewTextHandler(log, nil))
		c.Overlay.HostOptions = []libp2p.Option{libp2p.Muxer(yamux.ID, tap)}
	}
	n := listening(t, resolve, tapped, others...)
	waitFor(t, "the nodes meet", func() bool { return n.Status().Peers == 2 })
	p := proxy.New(n, proxy.Config{Store: kept, Log: slog.New(slog.NewTextHandler(log, nil))})

	read := func(url string) string {
		r := httptest.NewRequest(http.MethodGet, "http://127.0.0.1:8089/", nil)
		r.RequestURI = "/feed/" + url
		r.URL.Path = "/feed/" + url
		w := httptest.NewRecorder()
		p.ServeHTTP(w, r)
		return w.Body.String()
	}
	everything := func(no int) {
		want := fmt.Sprintf("no. %d<", no)
		for name, f := range privateFeeds {
			waitFor(t, "the feed with "+name, func() bool { return strings.Contains(read(strings.ReplaceAll(f.url, "PORT", port)), want) })
		}
		waitFor(t, "the public feed", func() bool { return strings.Contains(read(public), want) })
	}
	for _, o := range others {
		if _, err := o.Subscribe(t.Context(), public); err != nil {
			t.Fatal(err)
		}
	}
	everything(1)
	origin.set(func() { origin.items = 2 })
	everything(2)
	urls := []string{} // as they are followed
	for _, f := range n.Status().Feeds {
		if f.URL != public {
			if f.Role != feedtree.RoleLocal {
				t.Errorf("%s is not local", f.URL)
			}
			urls = append(urls, f.URL)
		}
	}
	if len(urls) != len(privateFeeds) {
		t.Fatalf("%d private feeds are followed, want %d: %q", len(urls), len(privateFeeds), urls)
	}
	n.Close()
	n = listening(t, resolve, tapped, others...)
	client, err := fetch.New(fetch.Config{Resolve: resolve})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	p = proxy.New(n, proxy.Config{
		Store: kept, Log: slog.New(slog.NewTextHandler(log, nil)), PublicURL: "https://reader.example.net", Client: client,
	})
	defer serving(t, p)()
	waitFor(t, "the nodes meet again", func() bool { return n.Status().Peers == 2 })
	origin.set(func() { origin.items = 3 })
	everything(3)
	for _, addr := range n.Addrs() {
		if strings.Contains(addr, "quic") {
			t.Fatalf("what goes by %s is not seen", addr)
		}
	}
	group := multicast.GroupOf(public)
	var sent []byte
	no, said := 3, time.Now()
	waitFor(t, "the public feed in what is sent", func() bool {
		if time.Since(said) > time.Second { // the last one came from the others, and went no further
			no, said = no+1, time.Now()
			origin.set(func() { origin.items = no })
		}
		sent = tap.all(t)
		return bytes.Contains(sent, group[:]) && bytes.Contains(sent, []byte("Words of public.example.org, no. "))
	})
	t.Logf("%d bytes in %d streams of %d connections", len(sent), len(tap.sent), tap.conns)
	var secrets [][]byte
	for _, f := range privateFeeds {
		for _, needle := range f.needles {
			secrets = append(secrets, []byte(needle))
		}
		urls = append(urls, strings.ReplaceAll(f.url, "PORT", port))
	}
	for _, needle := range append(secrets, derived(urls)...) {
		if bytes.Contains(sent, needle) {
			t.Errorf("%q was sent to other nodes", needle)
		}
	}
	waitFor(t, "the hub hears of the public feed", func() (asked bool) {
		origin.set(func() { asked = len(origin.topics) > 0 })
		return asked
	})
	origin.set(func() {
		for _, topic := range origin.topics {
			if !strings.HasPrefix(topic, public+" ") {
				t.Errorf("the hub was told of %s", topic)
			}
		}
	})
	origin.set(func() { origin.broken = true })
	for _, url := range urls[:len(privateFeeds)] {
		waitFor(t, "the trouble is noticed", func() bool { f, _ := n.Feed(url); return f.Failure != "" })
	}
	quiet(t, "the log", log.bytes())
	r := httptest.NewRequest(http.MethodGet, "http://127.0.0.1:8089/metrics", nil)
	w := httptest.NewRecorder()
	p.ServeHTTP(w, r)
	quiet(t, "/metrics", w.Body.Bytes())
	origin.set(func() { discreet(t, origin.asked) })
}

// derived are the bytes that could stand for a feed: the beginnings of its group
// and of the key of that in the DHT, as bytes and as text, and of plain hashes.
func derived(urls []string) (needles [][]byte) {
	for _, url := range urls {
		canonical, err := feed.Canonical(url)
		if err != nil {
			panic(err)
		}
		group := multicast.GroupOf(canonical)
		key := [32]byte(group.Key())
		again, plain := sha256.Sum256(key[:]), sha256.Sum256([]byte(canonical))
		for _, hash := range [][32]byte{group, key, again, plain} {
			needles = append(needles, hash[:8], []byte(hex.EncodeToString(hash[:8])), []byte(multicast.Group(hash).String()[:13]))
		}
	}
	return needles
}

// quiet fails if a secret, which is more than the name of a host, stands in a text
// that others than the owner of the feeds may come to read.
func quiet(t *testing.T, where string, text []byte) {
	t.Helper()
	for _, secret := range []string{"Sesame77", "Quince4711", "3f9a8c7b6d5e", "Damson0815"} {
		if bytes.Contains(text, []byte(secret)) {
			t.Errorf("%s is in %s:\n%s", secret, where, text)
		}
	}
}

// discreet fails if a request tells an origin what is not its own, or where it was
// sent from.
func discreet(t *testing.T, asked []*http.Request) {
	t.Helper()
	for _, r := range asked {
		host, _, _ := strings.Cut(r.Host, ":")
		if r.Referer() != "" || r.Header.Get("Cookie") != "" || !strings.HasPrefix(r.UserAgent(), "feedtree/") {
			t.Errorf("%s was asked with %v", host, r.Header)
		}
		if _, _, ok := r.BasicAuth(); ok != (host == "pass.example.org") {
			t.Errorf("%s was told a password: %v", host, ok)
		}
		all := r.URL.String() + fmt.Sprint(r.Header)
		for secret, own := range map[string]string{"Sesame77": "pass.example.org", "Quince4711": "query.example.org", "Damson0815": "moved.example.org"} {
			if strings.Contains(all, secret) && host != own {
				t.Errorf("%s was told %s", host, secret)
			}
		}
	}
}
