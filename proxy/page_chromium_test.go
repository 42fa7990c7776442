package proxy_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/feedtree/feedtree"
	"github.com/feedtree/feedtree/feed/fetch"
	"github.com/feedtree/feedtree/feed/store"
	"github.com/feedtree/feedtree/internal/chromium"
	"github.com/feedtree/feedtree/overlay/kad"
	"github.com/feedtree/feedtree/proxy"
)

// desk is a person's: a real node behind a real proxy, and a site with feeds under
// a public-looking name.
type desk struct {
	t    *testing.T
	at   string // where the proxy is
	site string // where the feeds are
	node *feedtree.Node
	http http.Handler

	mu    sync.Mutex
	items map[string][]string // by path
}

func newDesk(t *testing.T, kept store.Store) *desk {
	t.Helper()
	d := &desk{t: t, items: map[string][]string{}}
	web := httptest.NewServer(d)
	t.Cleanup(web.Close)
	_, port, err := net.SplitHostPort(web.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	d.site = "http://blog.example.org:" + port
	config := fetch.Config{Resolve: []string{"blog.example.org:" + port + ":127.0.0.1"}}
	config.Rules.Hint, config.Rules.Gap = time.Millisecond, time.Millisecond
	d.node, err = feedtree.New(t.Context(), feedtree.Config{
		Overlay: kad.Config{Network: "page", Listen: []string{"/ip4/127.0.0.1/udp/0/quic-v1"}, NoMDNS: true, NoNAT: true, NoRendezvous: true},
		Fetch:   config, Store: kept,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.node.Close() })
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	d.at = "http://" + listener.Addr().String()
	p := proxy.New(d.node, proxy.Config{Base: d.at, Store: kept})
	d.http = p
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- p.Serve(ctx, listener) }()
	t.Cleanup(func() {
		stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return d
}

// ServeHTTP is the site.
func (d *desk) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	d.mu.Lock()
	defer d.mu.Unlock()
	items, ok := d.items[r.URL.Path]
	if !ok {
		http.NotFound(w, r)
		return
	}
	fmt.Fprintf(w, `<rss version="2.0"><channel><title>Blog %s</title><link>http://blog.example.org/</link><description>d</description>`, r.URL.Path)
	for _, name := range items {
		fmt.Fprintf(w, `<item><title>%s</title><guid isPermaLink="false">%[1]s</guid><description>Text of %[1]s</description></item>`, name)
	}
	fmt.Fprint(w, `</channel></rss>`)
}

func (d *desk) publish(path string, items ...string) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.items[path] = append(items, d.items[path]...)
	return d.site + path
}

// hint tells the proxy that a feed has news, as a publishing program does.
func (d *desk) hint(feed string) {
	d.t.Helper()
	w, err := http.Post(d.at+"/hook/"+feed, "text/plain", nil)
	if err != nil {
		d.t.Fatal(err)
	}
	_ = w.Body.Close()
}

func (d *desk) followed() string {
	var all []string
	for _, f := range d.node.Status().Feeds {
		all = append(all, strings.TrimPrefix(f.URL, d.site))
	}
	return strings.Join(all, " ")
}

// A person adds a feed, sees an item arrive without a reload, and flips the switch;
// what was chosen outlives the proxy. All of it by the keyboard, and nothing is
// asked of anybody but the proxy.
func TestAPersonAtThePage(t *testing.T) {
	b := chromium.Start(t)
	kept := store.NewMemory()
	d := newDesk(t, kept)
	feed := d.publish("/one.xml", "First words")
	page := b.Open(d.at + "/")
	page.Wait(`document.documentElement.dataset.live === "yes"`)
	page.Wait(`document.querySelector("#start") !== null`)

	page.Press("Tab") // the link that skips to the content, then the name, then the field
	if at := page.Text(`document.activeElement.className`); at != "skip" {
		t.Errorf("the first stop of the keyboard is %q", at)
	}
	page.Press("Tab", "Tab")
	if at := page.Text(`document.activeElement.id`); at != "url" {
		t.Fatalf("the third stop of the keyboard is %q", at)
	}
	page.Type(feed)
	page.Press("Enter")
	page.Wait(`document.querySelector(".notice.good") !== null && document.querySelector(".notice code").textContent.includes("/feed/")`)
	page.Wait(`document.querySelector(".news .title")?.textContent === "First words"`)
	page.Wait(`document.documentElement.dataset.live === "yes"`)

	page.Do(`window.same = document.querySelector(".news li"); document.getElementById("url").focus(); document.getElementById("url").value = "half typed"`, nil)
	d.publish("/one.xml", "Second words")
	d.hint(feed)
	page.Wait(`document.querySelector(".news .title")?.textContent === "Second words"`)
	page.Wait(`window.same?.isConnected && document.activeElement.id === "url" && document.activeElement.value === "half typed"`)
	page.Wait(`document.querySelector("#feeds .meta").textContent.includes("2 items")`)

	page.Do(`document.getElementById("volunteer").focus()`, nil)
	page.Press("Space")
	page.Wait(`document.getElementById("volunteer")?.getAttribute("aria-checked") === "false"`)
	page.Wait(`document.readyState === "complete"`)
	if d.node.Status().Volunteering.On {
		t.Error("the switch is off, the node still polls for others")
	}
	page.Do(`document.querySelector("input[name=requests]").value = "30"; document.querySelector("input[name=megabytes]").value = "1.5"; document.querySelector(".limits button").focus()`, nil)
	page.Press("Enter")
	page.Wait(`document.querySelector("input[name=requests]")?.defaultValue === "30"`)
	again := newDesk(t, kept)
	if v := again.node.Status().Volunteering; v.On || v.MaxRequests != 30 || v.MaxBytes != 1_500_000 {
		t.Errorf("after a restart: %+v", v)
	}

	var elsewhere []string
	page.Do(`performance.getEntriesByType("resource").map(e => e.name).filter(n => !n.startsWith(location.origin))`, &elsewhere)
	if len(elsewhere) > 0 {
		t.Errorf("the page asks %v", elsewhere)
	}
	page.Go(d.at + page.Text(`document.querySelector(".news a.title").getAttribute("href")`))
	page.Wait(`document.querySelector("iframe").contentDocument === null`) // nobody looks into it from here
	page.Go(d.at + page.Text(`document.querySelector("iframe").getAttribute("src")`))
	page.Wait(`document.body.textContent.includes("Text of Second words")`)
}

// Without scripts every form does its work.
func TestThePageWithoutScripts(t *testing.T) {
	b := chromium.Start(t)
	d := newDesk(t, store.NewMemory())
	feed := d.publish("/one.xml", "First words")
	page := b.Open(d.at + "/")
	page.Scripts(false)
	page.Go(d.at + "/")
	page.Do(`document.getElementById("url").focus()`, nil)
	page.Type(feed)
	page.Press("Enter")
	page.Wait(`document.querySelector(".news .title")?.textContent === "First words"`)
	page.Go(d.at + page.Text(`document.querySelector("#feeds a.title").getAttribute("href")`))
	page.Do(`document.querySelector(".leave summary").focus()`, nil)
	page.Press("Enter", "Tab", "Enter")
	page.Wait(`document.querySelector("#start") !== null`)
	if left := d.followed(); left != "" {
		t.Errorf("still followed: %s", left)
	}
}

// A reader's list of feeds, dropped anywhere on the page, is imported.
func TestAListDroppedOnThePage(t *testing.T) {
	b := chromium.Start(t)
	d := newDesk(t, store.NewMemory())
	feed := d.publish("/one.xml", "First words")
	page := b.Open(d.at + "/")
	page.Wait(`document.documentElement.dataset.live === "yes"`)
	list, err := json.Marshal(`<opml version="2.0"><body><outline text="One" xmlUrl="` + feed + `"/></body></opml>`)
	if err != nil {
		t.Fatal(err)
	}
	page.Do(`(() => {
		const data = new DataTransfer();
		data.items.add(new File([`+string(list)+`], "feeds.opml", { type: "text/x-opml" }));
		for (const what of ["dragover", "drop"]) {
			document.querySelector("h1").dispatchEvent(new DragEvent(what, { bubbles: true, cancelable: true, dataTransfer: data }));
		}
	})()`, nil)
	page.Wait(`document.querySelector("h1")?.textContent === "Feeds from your list"`)
	waitFor(t, "the feed is followed", func() bool { return d.followed() == "/one.xml" })
}

// rebound is what a hostile name leads to: first its own server, then, once the
// page is loaded, the proxy.
type rebound struct {
	flipped atomic.Bool
	page    string
	proxy   http.Handler
}

func (s *rebound) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s.flipped.Load() {
		s.proxy.ServeHTTP(w, r)
		return
	}
	w.Header().Set("Content-Type", "text/html")
	_, _ = io.WriteString(w, s.page)
}

// undefended is the proxy as it would be if it believed whoever asks: everything by
// which it tells is taken away or put right.
func undefended(p http.Handler, base string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		u, err := url.Parse(base)
		if err != nil {
			panic(err)
		}
		r.Host = u.Host
		for _, name := range []string{"Origin", "Sec-Fetch-Site", "Sec-Fetch-Mode", "Sec-Fetch-Dest", "Referer"} {
			r.Header.Del(name)
		}
		p.ServeHTTP(w, r)
	})
}

// theft is what a rebound page does: read the token, follow a feed and flip the
// switch with it. It returns what came of it.
const theft = `(async () => {
	let said = [];
	const ask = async (path, body) => {
		try {
			const a = await fetch(path, body === undefined ? {} : { method: "POST", body: new URLSearchParams(body), redirect: "manual" });
			said.push(path + " " + (a.type === "opaqueredirect" ? 303 : a.status));
			return await a.text();
		} catch (e) { said.push(path + " " + e); return ""; }
	};
	let token = "";
	try { token = JSON.parse(await ask("/api/v1/token")).token } catch {}
	await ask("/api/v1/status");
	await ask("/volunteer", { token, on: "0" });
	await ask("/subscribe", { token, url: "FEED" });
	return said.join(", ");
})()`

// A page by a hostile name that comes to lead to this machine (DNS rebinding) can
// read nothing and change nothing. Where the proxy believes it, it can do both.
func TestARebindingPage(t *testing.T) {
	b := chromium.Start(t, chromium.Resolve("evil.example 127.0.0.1", "* ~NOTFOUND"))
	d := newDesk(t, store.NewMemory())
	feed := d.publish("/evil.xml", "x")
	attack := func(target http.Handler) string {
		s := &rebound{page: "<!doctype html><title>evil</title>", proxy: target}
		server := httptest.NewServer(s)
		t.Cleanup(server.Close)
		_, port, _ := net.SplitHostPort(server.Listener.Addr().String())
		page := b.Open("http://evil.example:" + port + "/")
		page.Wait(`document.title === "evil"`)
		s.flipped.Store(true)
		return page.Text(strings.ReplaceAll(theft, "FEED", feed))
	}
	const refused = "/api/v1/token 403, /api/v1/status 403, /volunteer 403, /subscribe 403"
	if got := attack(d.http); got != refused {
		t.Errorf("the page gets %s", got)
	}
	status := d.node.Status()
	if !status.Volunteering.On || d.followed() != "" {
		t.Errorf("a hostile page changed %+v, follows %q", status.Volunteering, d.followed())
	}
	if n := d.refused("request: by a name that is not this proxy's"); n < 4 {
		t.Errorf("counted %d times", n)
	}
	if got := attack(undefended(d.http, d.at)); got != "/api/v1/token 200, /api/v1/status 200, /volunteer 303, /subscribe 303" {
		t.Errorf("it is no attack: the page gets %s", got)
	}
	if d.node.Status().Volunteering.On || d.followed() != "/evil.xml" {
		t.Error("it is no attack: nothing changed")
	}
}

// What a page of another site can have a browser do to the proxy by its right name:
// forms, pictures, scripts, windows. Nothing changes, and all of it is counted.
func TestAHostilePageElsewhere(t *testing.T) {
	b := chromium.Start(t, chromium.Resolve("evil.example 127.0.0.1", "* ~NOTFOUND"))
	d := newDesk(t, store.NewMemory())
	feed := d.publish("/evil.xml", "x")
	elsewhere := httptest.NewServer(&rebound{page: `<!doctype html><title>evil</title><form method=post><input name=token><input name=on value=0><input name=url></form><iframe name=into></iframe>`})
	defer elsewhere.Close()
	_, port, _ := net.SplitHostPort(elsewhere.Listener.Addr().String())
	attack := func(at string) {
		for _, origin := range []string{"http://evil.example:" + port, "http://127.0.0.1:" + port} {
			page := b.Open(origin + "/")
			page.Do(strings.NewReplacer("AT", at, "FEED", feed).Replace(`(async () => {
				const quietly = (p) => p.catch(() => {});
				await quietly(fetch("AT/volunteer", { method: "POST", mode: "no-cors", body: new URLSearchParams({ on: "0" }) }));
				await quietly(fetch("AT/api/v1/status").then((a) => { throw new Error("read " + a.status) }));
				await quietly(fetch("AT/feed/FEED", { mode: "no-cors" }));
				await new Promise((done) => { const i = new Image(); i.onload = i.onerror = done; i.src = "AT/feed/FEED?image" });
				const form = document.querySelector("form");
				form.target = "into"; form.url.value = "FEED";
				for (const action of ["/volunteer", "/subscribe"]) {
					const loaded = new Promise((done) => { document.querySelector("iframe").onload = done });
					form.action = "AT" + action;
					form.submit();
					await loaded;
				}
			})()`), nil)
			page.Do(`void (location.href = "`+at+`/feed/`+feed+`")`, nil)
			page.Wait(`location.origin === "` + at + `" && document.readyState === "complete"`)
		}
	}
	attack(d.at)
	if !d.node.Status().Volunteering.On || d.followed() != "" {
		t.Errorf("a hostile page changed %+v, follows %q", d.node.Status().Volunteering, d.followed())
	}
	for _, why := range []string{
		"request: by a script of another site", "request: as part of another site's page",
		"request: to follow a new feed, by another site's page", "change: by another site's page",
	} {
		if d.refused(why) == 0 {
			t.Errorf("nothing is counted as %q", why)
		}
	}
	trusting := httptest.NewServer(undefended(d.http, d.at))
	defer trusting.Close()
	attack(trusting.URL)
	if d.followed() == "" {
		t.Error("it is no attack: no feed is followed where the proxy believes the page")
	}
}

// refused is how often something was refused, as the status says.
func (d *desk) refused(why string) uint64 {
	d.t.Helper()
	w := httptest.NewRecorder()
	r := httptest.NewRequest(http.MethodGet, d.at+"/api/v1/status", nil)
	d.http.ServeHTTP(w, r)
	var s feedtree.Status
	if err := json.Unmarshal(w.Body.Bytes(), &s); err != nil {
		d.t.Fatal(err)
	}
	return s.Refused[why]
}
