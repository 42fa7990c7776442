package proxy

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/feedtree/feedtree"
)

// send sends a body as a publishing program does.
func post(h http.Handler, target, media, body string, headers ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodPost, "http://127.0.0.1:8089/", strings.NewReader(body))
	r.RequestURI = target
	r.URL, _ = url.Parse(target)
	r.RemoteAddr = "127.0.0.1:5000"
	r.Header.Set("Content-Type", media)
	for i := 0; i < len(headers); i += 2 {
		switch headers[i] {
		case "Host":
			r.Host = headers[i+1]
		case "From":
			r.RemoteAddr = headers[i+1]
		default:
			r.Header.Set(headers[i], headers[i+1])
		}
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

const form = "application/x-www-form-urlencoded"

// wordpressPing is what core WordPress sends (wp-includes/comment.php, weblog_ping,
// with the serialisation of wp-includes/IXR): the feed is in the third place.
const wordpressPing = `<?xml version="1.0"?>
<methodCall>
<methodName>weblogUpdates.extendedPing</methodName>
<params>
<param><value><string>Tom &amp; Jerry&#039;s</string></value></param>
<param><value><string>https://example.org/</string></value></param>
<param><value><string>https://example.org/feed.xml</string></value></param>
</params></methodCall>
`

// wordpressSecond is what it sends where the first is answered with a fault.
const wordpressSecond = `<?xml version="1.0"?>
<methodCall>
<methodName>weblogUpdates.ping</methodName>
<params>
<param><value><string>Tom &amp; Jerry&#039;s</string></value></param>
<param><value><string>https://example.org/</string></value></param>
</params></methodCall>
`

func TestPings(t *testing.T) {
	const site = "https://example.org/"
	for _, c := range []struct {
		name, body string
		hinted     []string
		want       string // in the answer
	}{
		{"WordPress", wordpressPing, []string{example}, "<name>flerror</name><value><boolean>0</boolean>"},
		{"WordPress, the older way", wordpressSecond, []string{site}, "<boolean>0</boolean>"},
		// The specification of extendedPing: name, site, page that changed, feed, categories.
		{"the specification's order", `<methodCall><methodName>weblogUpdates.extendedPing</methodName><params>
			<param><value>Blog</value></param><param><value>https://example.org/</value></param>
			<param><value>https://example.org/new</value></param><param><value>https://example.org/feed.xml</value></param>
			<param><value>news|talk</value></param></params></methodCall>`, []string{example}, "<boolean>0</boolean>"},
		{"Latin-1", "<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?><methodCall><methodName>weblogUpdates.ping</methodName><params>" +
			"<param><value><string>Caf\xe9</string></value></param><param><value><string>https://example.org/feed.xml</string></value></param></params></methodCall>",
			[]string{example}, "<boolean>0</boolean>"},
		{"an unknown feed", strings.ReplaceAll(wordpressPing, "example.org", "elsewhere.example"), nil, "<boolean>1</boolean>"},
		{"no URL", strings.ReplaceAll(wordpressSecond, "https://example.org/", "nothing"), nil, "<int>-32602</int>"},
		{"a name that is a URL", `<methodCall><methodName>weblogUpdates.ping</methodName><params><param><value>` + example +
			`</value></param></params></methodCall>`, nil, "<int>-32602</int>"},
		{"another method", strings.ReplaceAll(wordpressPing, "weblogUpdates.extendedPing", "pingback.ping"), nil, "<int>-32601</int>"},
		{"no XML", "hello", nil, "<int>-32700</int>"},
		{"cut off", wordpressPing[:200], nil, "<int>-32700</int>"},
		{"an entity bomb", `<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;">]>` +
			strings.ReplaceAll(wordpressPing, "Tom", "&b;"), nil, "<int>-32700</int>"},
	} {
		for _, route := range []string{"/ping", "/RPC2"} {
			n := newFakeNode()
			n.add(t, example, rss("1"))
			n.add(t, site, rss("1"))
			p := newProxy(n, Config{}, newClock().now)
			w := post(p, route, "text/xml", c.body)
			if w.Code != 200 || !strings.Contains(w.Body.String(), c.want) || !strings.HasPrefix(w.Header().Get("Content-Type"), "text/xml") {
				t.Errorf("%s: %d %s, want %s in it", c.name, w.Code, w.Body, c.want)
			}
			if got := n.hints(); !slices.Equal(got, c.hinted) {
				t.Errorf("%s: hints about %q, want %q", c.name, got, c.hinted)
			}
		}
	}
}

// Byte for byte what XML-RPC has, for clients that read it with less than a parser.
func TestPingAnswers(t *testing.T) {
	n := newFakeNode()
	n.add(t, example, rss("1"))
	p := newProxy(n, Config{}, newClock().now)
	const want = `<?xml version="1.0" encoding="UTF-8"?>` + "\n" +
		`<methodResponse><params><param><value><struct>` +
		`<member><name>flerror</name><value><boolean>0</boolean></value></member>` +
		`<member><name>message</name><value><string>Thanks for the ping.</string></value></member>` +
		`</struct></value></param></params></methodResponse>`
	if got := post(p, "/ping", "text/xml", wordpressPing).Body.String(); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	const fault = `<methodResponse><fault><value><struct><member><name>faultCode</name><value><int>-32700</int></value></member>`
	if got := post(p, "/ping", "text/xml", "").Body.String(); !strings.Contains(got, fault) {
		t.Errorf("%s\nwant %s in it", got, fault)
	}
}

func TestOtherHints(t *testing.T) {
	const other = "https://example.org/other.xml?page=2"
	escaped := url.QueryEscape(other)
	big := strings.Repeat("x", hintBody+1)
	for _, c := range []struct {
		name, target, media, body string
		code                      int
		hinted                    []string
	}{
		// The WordPress plugin, and PubSubHubbub 0.3 and 0.4 §7.1: several hub.url.
		{"publish", "/hub", form, "hub.mode=publish&hub.url=" + escaped + "&hub.url=" + example, 204, []string{other, example}},
		{"publish with a topic", "/hub", form, "hub.mode=publish&hub.topic=" + escaped, 204, []string{other}},
		{"publish, in the query", "/hub?hub.mode=publish&hub.url=" + escaped, form, "", 204, []string{other}},
		{"one of them is unknown", "/hub", form, "hub.mode=publish&hub.url=https://x.example/&hub.url=" + example, 204, []string{example}},
		{"publish of an unknown feed", "/hub", form, "hub.mode=publish&hub.url=https://x.example/", 404, nil},
		{"publish of nothing", "/hub", form, "hub.mode=publish", 400, nil},
		{"publish of very much", "/hub", form, "hub.mode=publish" + strings.Repeat("&hub.url="+example, hintURLs+1), 400, nil},
		{"subscribe", "/hub", form, "hub.mode=subscribe&hub.topic=" + example, 501, nil},
		{"another mode", "/hub", form, "hub.mode=list", 400, nil},
		{"publish, too large", "/hub", form, "hub.mode=publish&hub.url=" + example + "&x=" + big, 413, nil},
		{"hook", "/hook/" + other, "application/json", "{", 202, []string{other}},
		{"hook with much of a body", "/hook/" + example, "application/json", big, 202, []string{example}},
		{"hook, a parameter", "/hook?url=" + escaped, "text/plain", "", 202, []string{other}},
		{"hook, a form", "/hook", form, "url=" + escaped, 202, []string{other}},
		{"hook, JSON", "/hook", "application/json; charset=utf-8", `{"event":"published","url":"` + other + `"}`, 202, []string{other}},
		{"hook, JSON too large", "/hook", "application/json", `{"x":"` + big + `"}`, 413, nil},
		{"hook, no JSON", "/hook", "application/json", "]", 400, nil},
		{"hook, nothing", "/hook", "", "", 400, nil},
		{"hook, no URL", "/hook", form, "url=", 400, nil},
		{"hook, an unknown feed", "/hook/https://x.example/feed", "", "", 404, nil},
		{"hook, a private one", "/hook/http://127.0.0.1/feed", "", "", 403, nil},
		{"ping, too large", "/ping", "text/xml", wordpressPing + big, 413, nil},
	} {
		n := newFakeNode()
		n.add(t, example, rss("1"))
		n.add(t, other, rss("1"))
		n.reason = map[string]feedtree.HintReason{"http://127.0.0.1/feed": feedtree.HintPrivate}
		p := newProxy(n, Config{}, newClock().now)
		w := post(p, c.target, c.media, c.body)
		if w.Code != c.code {
			t.Errorf("%s: %d %s, want %d", c.name, w.Code, w.Body, c.code)
		}
		if got := n.hints(); !slices.Equal(got, c.hinted) {
			t.Errorf("%s: hints about %q, want %q", c.name, got, c.hinted)
		}
		// What the node refuses it counts itself.
		counted := len(p.overall().Refused) > 0
		if here := c.code == 400 || c.code == 413 || c.code == 501; counted != here {
			t.Errorf("%s: counted here: %v", c.name, p.overall().Refused)
		}
	}
}

// Where hints are taken: by names of this machine, not from pages of other sites,
// and by the public address, which serves nothing else and does not tell who
// follows what.
func TestWhoMayHint(t *testing.T) {
	n := newFakeNode()
	n.add(t, example, rss("1"))
	p := newProxy(n, Config{Hosts: []string{"nas.local"}, PublicURL: "https://hints.example.net/ft"}, newClock().now)
	const public = "hints.example.net"
	for _, c := range []struct {
		name, target string
		headers      []string
		want         int
	}{
		{"this machine", "/hook/" + example, nil, 202},
		{"a configured name", "/hook/" + example, []string{"Host", "nas.local:8089"}, 202},
		{"a rebound name", "/hook/" + example, []string{"Host", "evil.example:8089"}, 403},
		{"a script of another site", "/hook/" + example, []string{"Origin", "https://evil.example"}, 403},
		{"a form of another site", "/hook/" + example, []string{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate"}, 403},
		{"a form of a neighbour", "/hook/" + example, []string{"Sec-Fetch-Site", "same-site"}, 403},
		{"the public address", "/ft/hook/" + example, []string{"Host", public}, 202},
		{"its prefix taken off on the way", "/hook/" + example, []string{"Host", public + ":443"}, 202},
		{"an unknown feed", "/hook/https://x.example/", nil, 404},
		{"an unknown feed, from outside", "/ft/hook/https://x.example/", []string{"Host", public}, 202},
		{"an unknown feed, published from outside", "/ft/hub?hub.mode=publish&hub.url=https://x.example/", []string{"Host", public}, 204},
		{"no callback", "/ft/websub/guess", []string{"Host", public}, 410},
	} {
		if w := post(p, c.target, form, "", c.headers...); w.Code != c.want {
			t.Errorf("%s: %d %s, want %d", c.name, w.Code, w.Body, c.want)
		}
	}
	pings := map[string]bool{}
	for _, body := range []string{wordpressPing, strings.ReplaceAll(wordpressPing, "example.org", "x.example")} {
		pings[post(p, "/ft/ping", "text/xml", body, "Host", public).Body.String()] = true
	}
	if len(pings) != 1 {
		t.Errorf("pings from outside are answered with %v", pings)
	}
	for _, target := range []string{"/", "/ft/", "/ft", "/api/v1/status", "/ft/api/v1/status", "/ft/feed/" + example, "/feed/" + example, "/page.css"} {
		if w := get(p, target, "Host", public); w.Code != 403 {
			t.Errorf("%s from outside: %d", target, w.Code)
		}
	}
	for _, target := range []string{"/ping", "/hub", "/hook/" + example} {
		if w := get(p, target); w.Code != 405 || w.Header().Get("Allow") != "POST" {
			t.Errorf("GET %s: %d", target, w.Code)
		}
	}
	if n.subscriptions(example) != 0 {
		t.Error("a hint subscribed to a feed")
	}
}

// FeedTree's readers and a quiet publisher get through a flood of 100,000 pings,
// which leaves nothing behind.
func TestAHundredThousandPings(t *testing.T) {
	flood := 100_000
	if testing.Short() {
		flood = 10_000
	}
	n, c := newFakeNode(), newClock()
	n.add(t, example, rss("1"))
	p := newProxy(n, Config{PublicURL: "https://hints.example.net"}, c.now)
	if w := get(p, "/feed/"+example); w.Code != 200 {
		t.Fatal(w.Code)
	}
	before, begin := heap(), time.Now()
	answers, slowest := map[int]int{}, time.Duration(0)
	for i := range flood {
		from := fmt.Sprintf("[2001:db8:%x:%x::1]:4000", i%5000, i/50_000)
		w := post(p, "/ping", "text/xml", wordpressPing, "Host", "hints.example.net", "From", from)
		answers[w.Code]++
		if i%100 == 0 {
			c.advance(10 * time.Millisecond)
			begin := time.Now()
			if w := get(p, "/feed/"+example); w.Code != 200 {
				t.Fatalf("a reader is answered %d", w.Code)
			}
			slowest = max(slowest, time.Since(begin))
		}
	}
	took, grown := time.Since(begin), int64(heap())-int64(before)
	refused := p.overall().Refused[whyFlood]
	t.Logf("%d pings in %v, %d KiB of heap more; answers %v; a reader waited %v at most", flood, took, grown>>10, answers, slowest)
	if most := hintBurst + hintsPerSec*(flood/10_000+1); answers[200] > most || answers[200] == 0 || answers[200]+answers[429] != flood {
		t.Errorf("%v, want at most %d taken", answers, most)
	}
	if refused != uint64(answers[429]) || len(n.hints()) != answers[200] {
		t.Errorf("%d are counted as refused", refused)
	}
	if grown > 1<<20 || len(p.hints.clients) > mostClients {
		t.Errorf("%d KiB more, %d clients remembered", grown>>10, len(p.hints.clients))
	}
	c.advance(time.Minute)
	if w := post(p, "/ping", "text/xml", wordpressPing); !bytes.Contains(w.Body.Bytes(), []byte("Thanks")) {
		t.Errorf("after the flood: %d %s", w.Code, w.Body)
	}
}

// One noisy neighbour does not use up what is there for the others.
func TestOneClientHasItsShare(t *testing.T) {
	n := newFakeNode()
	n.add(t, example, rss("1"))
	p := newProxy(n, Config{PublicURL: "https://hints.example.net"}, newClock().now)
	for range 10 * hintBurst {
		post(p, "/ping", "text/xml", wordpressPing, "Host", "hints.example.net", "From", "198.51.100.1:1")
	}
	if got := len(n.hints()); got != clientBurst {
		t.Errorf("%d of its hints were taken", got)
	}
	if w := post(p, "/ping", "text/xml", wordpressPing, "Host", "hints.example.net", "From", "198.51.100.2:1"); w.Code != 200 {
		t.Errorf("another one is answered %d", w.Code)
	}
}

func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
