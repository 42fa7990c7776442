package proxy

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/feedtree/feedtree/feed"
	"github.com/feedtree/feedtree/internal/chromium"
)

// foreign returns what of a piece of HTML is not on the allow-list, as a browser
// would read it, or "". It is written from what may be there, not from how the
// cleaner works.
func foreign(t testing.TB, markup string) string {
	t.Helper()
	doc, err := html.Parse(strings.NewReader(markup + "</body></html>"))
	if err != nil {
		return err.Error()
	}
	for n := range doc.Descendants() {
		switch {
		case n.Type == html.TextNode, wrapper(n) && len(n.Attr) == 0:
		case n.Type != html.ElementNode:
			return "a node that is no element: " + n.Data
		case n.Namespace != "" || n.Data != "a" && !slices.Contains(allowed, n.Data):
			return "<" + n.Data + ">"
		}
		for _, a := range n.Attr {
			ok := false
			switch a.Key {
			case "href":
				ok = n.Data == "a" && (strings.HasPrefix(a.Val, "http://") || strings.HasPrefix(a.Val, "https://") || strings.HasPrefix(a.Val, "mailto:"))
			case "rel":
				ok = n.Data == "a" && strings.Trim(a.Val, "abcdefghijklmnopqrstuvwxyz ") == ""
			case "target":
				ok = n.Data == "a" && a.Val == "_blank"
			case "colspan", "rowspan", "start":
				ok = strings.Trim(a.Val, "0123456789") == ""
			case "dir":
				ok = a.Val == "ltr" || a.Val == "rtl" || a.Val == "auto"
			}
			if !ok {
				return fmt.Sprintf("<%s %s=%q>", n.Data, a.Key, a.Val)
			}
		}
	}
	return ""
}

// wrapper tells what every document has.
func wrapper(n *html.Node) bool {
	return n.DataAtom == atom.Html || n.DataAtom == atom.Head || n.DataAtom == atom.Body
}

// run is what an attack would have a browser do; N is the attack's number.
const run = "hit(N)"

// attacks are the ways that are known, each in several spellings: handlers of
// events on any element, scripts as addresses, what loads or covers something, and
// markup that is read differently the second time (mutation, foreign content,
// elements of raw text, comments, CDATA).
func attacks() []string {
	var all []string
	elements := []string{"img src=x", "svg", "body", "iframe", "video src=x", "audio src=x", "input autofocus", "details open", "object data=x", "embed src=x",
		"marquee", "math", "a", "div tabindex=0", "form", "button autofocus", "select autofocus", "textarea autofocus", "link rel=stylesheet href=x", "style",
		"p contenteditable", "table background=x", "x-y", "template", "span", "section", "blockquote"}
	handlers := []string{"onerror", "onload", "onfocus", "ontoggle", "onclick", "onmouseover", "onanimationstart", "onpointerenter", "oncontentvisibilityautostatechange"}
	for i, e := range elements {
		for j, h := range handlers {
			quoted := []string{`="` + run + `"`, "='" + run + "'", "=" + run, " = " + run, "=\n" + run, "=`" + run + "`"}[(i+j)%6]
			space := []string{" ", "/", "\t", "\n", "\f", " x=y "}[(i*j)%6]
			name := []string{h, strings.ToUpper(h), h[:3] + strings.ToUpper(h[3:])}[(i+2*j)%3]
			all = append(all, "<"+e+space+name+quoted+">")
		}
	}
	schemes := []string{"javascript:" + run, "JaVaScRiPt:" + run, " javascript:" + run, "\x01javascript:" + run, "java\tscript:" + run, "java\nscript:" + run,
		"&#106;avascript:" + run, "&#x6A&#x61vascript:" + run, "javascript&colon;" + run, "&Tab;javascript:" + run, "java&NewLine;script:" + run,
		"data:text/html,<script>" + run + "</script>", "data:image/svg+xml;base64,PHN2Zz4=", "vbscript:" + run, "feed:javascript:" + run, "view-source:javascript:" + run,
		"blob:http://127.0.0.1/x", "filesystem:http://127.0.0.1/x", "jar:http://x!/y", "//evil.example/x", "file:///etc/passwd"}
	places := []string{`<a href="%s">x</a>`, `<area href="%s">`, `<form action="%s"><button>x</button></form>`, `<button formaction="%s">x</button>`, `<iframe src="%s"></iframe>`,
		`<object data="%s"></object>`, `<embed src="%s">`, `<svg><a xlink:href="%s"><text y=9>x</text></a></svg>`, `<math href="%s">x</math>`, `<base href="%s">`,
		`<link rel=import href="%s">`, `<meta http-equiv=refresh content="0;url=%s">`, `<img src="%s">`, `<img srcset="%s 1x">`, `<input type=image src="%s">`, `<video poster="%s"></video>`,
		`<table background="%s"><tr><td>x</table>`, `<div style="background:url('%s')">x</div>`, `<q cite="%s">x</q>`, `<a ping="%s" href="https://example.org/">x</a>`}
	for _, p := range places {
		for _, s := range schemes {
			all = append(all, fmt.Sprintf(p, s))
		}
	}
	script := "<script>" + run + "</script>"
	img := "<img src=x onerror=" + run + ">"
	all = append(all,
		script, "<SCRIPT>"+run+"</SCRIPT>", "<script/x>"+run+"</script>", "<script\n>"+run+"</script >", "<<script>"+run+"//<</script>", "<script>"+run, "<script src=//evil.example/x.js></script>",
		"<scr<script>ipt>"+run+"</scr</script>ipt>"+img, "<svg><script>"+run+"</script></svg>", "<svg><script xlink:href=data:,"+run+" /></svg>", "<svg><animate onbegin="+run+" attributeName=x dur=1s>",
		"<svg><set onbegin="+run+" attributename=x>", "<svg><style><img src=x onerror="+run+"></style></svg>", "<svg><foreignObject>"+script+"</foreignObject></svg>", "<svg><title>"+img+"</title></svg>",
		"<svg></p><style><a id=\"</style>"+img+"\">", "<math><mtext><table><mglyph><style><!--</style><img title=\"--&gt;&lt;img src=1 onerror="+run+"&gt;\">",
		"<math><mtext><table><mglyph><style><math>"+img+"</style></math></table></mtext></math>", "<form><math><mtext></form><form><mglyph><style></math>"+img,
		"<math><annotation-xml encoding=\"text/html\"><xmp>&lt;/xmp&gt;&lt;img src=x onerror="+run+"&gt;</xmp></annotation-xml></math>"+img,
		"<noscript><p title=\"</noscript>"+img+"\"></noscript>", "<noscript>"+img+"</noscript>", "<textarea></textarea>"+img, "<title></title>"+img, "<xmp></xmp>"+img, "<style></style>"+img,
		"<style>@import 'http://evil.example/x.css'</style>", "<style>*{background:url(http://evil.example/)}</style>", "<plaintext>"+script+"</plaintext>"+img, "<select><template>"+img+"</template></select>",
		"<!--><img src=x onerror="+run+">-->", "<!-->"+script, "<!--[if gte IE 4]>"+script+"<![endif]-->", "<![CDATA[<img src=x onerror="+run+">]]>", "<![CDATA["+script+"]]>"+script,
		"<![CDATA[<![CDATA["+img+"]]>]]>", "<?xml version=1.0?>"+script, "<?php "+img+" ?>"+img, "<!doctype html>"+img, "<!ENTITY x \""+img+"\">"+img,
		"<img src=x onerror="+run+"//", "<img src=x onerror="+run+" <p>x</p>", "<img src=\"x\"onerror=\""+run+"\">", "<img/src=x/onerror="+run+">", "<img src='x' x=\"'>\" onerror="+run+">",
		"<a href=\"https://example.org/\" onclick="+run+">x</a>", "<a href='https://example.org/' style='position:fixed;inset:0'>x</a>", "<div style=\"position:fixed;top:0;left:0;width:100%;height:100%\">x</div>",
		"<p id=token name=token>x</p>", "<p class=company>x</p>", "<form action=/unsubscribe method=post><input name=url value=x><button>Free</button></form>", "<input name=token value=x form=import>",
		"<iframe srcdoc=\"&lt;script&gt;"+run+"&lt;/script&gt;\"></iframe>", "<iframe src=//evil.example/></iframe>", "<object type=text/html data=//evil.example/></object>", "<applet code=x></applet>",
		"<link rel=stylesheet href=//evil.example/x.css>", "<link rel=dns-prefetch href=//evil.example/>", "<link rel=prerender href=//evil.example/>", "<meta http-equiv=Set-Cookie content=a=b>",
		"<video><source src=//evil.example/x onerror="+run+"></video>", "<audio src=//evil.example/x></audio>", "<picture><source srcset=//evil.example/x></picture>", "<track src=//evil.example/x>",
		"<dialog open>"+img+"</dialog>", "<portal src=//evil.example/></portal>", "<keygen autofocus onfocus="+run+">", "<isindex action=javascript:"+run+">", "<bgsound src=//evil.example/x>", "<layer src=//evil.example/x></layer>",
		"<slot onslotchange="+run+">x</slot>", "<button popovertarget=x>x</button><div popover id=x onbeforetoggle="+run+">x</div>", "<template shadowrootmode=open>"+img+"</template>",
		"\x00<img src=x onerror="+run+">", "<im\x00g src=x onerror="+run+">"+img, "<img src=x o\x00nerror="+run+">", "\ufeff"+img, "+ADw-script+AD4-"+run+"+ADw-/script+AD4-"+img,
		"&lt;script&gt;"+run+"&lt;/script&gt;"+script, "&amp;lt;img src=x onerror="+run+"&amp;gt;"+img, strings.Repeat("<div>", 200)+img, strings.Repeat("<b><i>", 100)+script,
		"<a href=https://example.org/><svg onload="+run+"></a>", "<table><tr><td><style></td></table>"+img+"</style>"+img, "<frameset><frame src=javascript:"+run+"></frameset>"+img,
	)
	return all
}

// contexts are where in an item an attack stands.
var contexts = []string{"%s", "<p>text %s text</p>", "<table><tr><td>%s</td></tr></table>", `<a href="https://example.org/">%s</a>`, "<ul><li>%s", "<b><p>%s</b></p>"}

func each(do func(n int, attack string)) {
	n := 0
	for i, a := range attacks() {
		for c := range contexts {
			if c > 0 && (i+c)%3 > 0 {
				continue // a third of them in each context but the first
			}
			do(n, strings.ReplaceAll(strings.Replace(contexts[c], "%s", a, 1), run, fmt.Sprintf("hit(%d)", n)))
			n++
		}
	}
}

// security.md §5, row 19: at least 1,000 attacks, nothing outside the allow-list
// after it is read again, and cleaning what is clean changes nothing. Each attack
// is one: as it comes, it has something in it that must not be there.
func TestNothingHostileIsShown(t *testing.T) {
	count, harmless := 0, 0
	each(func(n int, attack string) {
		count++
		if foreign(t, attack) == "" {
			harmless++
			t.Logf("no attack: %q", attack)
		}
		once := clean(attack)
		if what := foreign(t, once); what != "" {
			t.Errorf("%q becomes %q with %s", attack, once, what)
		}
		if again := clean(once); again != once {
			t.Errorf("%q becomes %q, and that %q", attack, once, again)
		}
	})
	if count < 1000 || harmless > 0 {
		t.Errorf("%d attacks, %d of them harmless", count, harmless)
	}
}

// The same through a feed: content is escaped in RSS, and what is not said to be
// HTML is not shown as HTML.
func TestNothingHostileComesOutOfAFeed(t *testing.T) {
	each(func(n int, attack string) {
		if n%10 > 0 {
			return
		}
		doc := `<rss version="2.0" xmlns:content="http://purl.org/rss/1.0/modules/content/"><channel><title>x</title><link>https://example.org/</link><description>d</description>` +
			`<item><guid>1</guid><content:encoded>` + html.EscapeString(strings.ReplaceAll(attack, "\x00", "")) + `</content:encoded></item></channel></rss>`
		f, err := feed.Parse([]byte(doc), "application/rss+xml")
		if err != nil || len(f.Items) != 1 {
			return // the parser refuses it
		}
		if what := foreign(t, bodyOf(f.Items[0])); what != "" {
			t.Errorf("%q is shown with %s", attack, what)
		}
	})
	plain := feed.Item{Summary: "<img src=x onerror=hit(1)>", Also: feed.Also{PlainSummary: true}}
	if got := bodyOf(plain); foreign(t, got) != "" || !strings.Contains(got, "&lt;img") {
		t.Errorf("plain text is shown as %q", got)
	}
}

func TestWhatIsGoodStays(t *testing.T) {
	for _, good := range []string{
		"<p>One <b>two</b> <em>three</em></p>", "<ul><li>x</li></ul>", `<ol start="3"><li>x</li></ol>`, "<blockquote><p>x</p></blockquote>", "<pre><code>a &lt; b</code></pre>",
		`<table><tbody><tr><td colspan="2">x</td></tr></tbody></table>`, `<p dir="rtl">שלום</p>`, "<h2>x</h2>", "<p>a &amp; b</p>", "<ruby>漢<rt>かん</rt></ruby>",
	} {
		if got := clean(good); got != good {
			t.Errorf("%s becomes %s", good, got)
		}
	}
	if got := clean(`<p><img src="https://evil.example/x" alt="a &lt;heron&gt;"></p>`); !strings.Contains(got, "[picture: a &lt;heron&gt;]") || strings.Contains(got, "evil") {
		t.Errorf("a picture becomes %s", got)
	}
	if got := clean(`<a href="https://example.org/?a=1&amp;b=2">x</a>`); !strings.Contains(got, `href="https://example.org/?a=1&amp;b=2"`) || !strings.Contains(got, "noreferrer") || !strings.Contains(got, "_blank") {
		t.Errorf("a link becomes %s", got)
	}
}

// In a real browser: attacks run where nothing is done against them, and do not
// where either the cleaner or the frame's policy alone is at work.
func TestAttacksInChromium(t *testing.T) {
	b := chromium.Start(t)
	page := func(bodies func(string) string, policy string) string {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/" {
				http.NotFound(w, r)
				return
			}
			h := w.Header()
			h.Set("Content-Type", "text/html; charset=utf-8")
			if policy != "" {
				h.Set("Content-Security-Policy", policy)
			}
			fmt.Fprint(w, `<!doctype html><script>var hits=new Set();function hit(n){hits.add(n)}</script><body>`)
			each(func(n int, attack string) {
				if n%3 == 0 && !strings.Contains(attack, "plaintext") && !strings.Contains(attack, "frameset") && !strings.Contains(attack, "http-equiv") && !strings.Contains(attack, "<base") {
					fmt.Fprint(w, "<div>"+bodies(attack)+"</div></select></textarea></style></title></xmp></noscript></svg></math></script>-->\n")
				}
			})
		}))
		t.Cleanup(s.Close)
		return s.URL
	}
	raw := func(s string) string { return s }
	hits := func(p *chromium.Page) (n int) {
		p.Do(`(async () => {
			if (typeof hits === "undefined") return -1;
			for (const e of document.querySelectorAll("a, button")) if (/^javascript:/i.test(e.href || e.formAction)) e.click();
			await new Promise(r => setTimeout(r, 300));
			return hits.size;
		})()`, &n)
		return n
	}
	if n := hits(b.Open(page(raw, ""))); n < 20 {
		t.Errorf("without any defence %d attacks run: they are no attacks", n)
	} else {
		t.Logf("without any defence %d attacks run", n)
	}
	if n := hits(b.Open(page(clean, ""))); n != 0 {
		t.Errorf("cleaned, %d attacks run", n)
	}
	if n := hits(b.Open(page(raw, bodySecurity))); n != -1 {
		t.Errorf("under the frame's policy, a script ran: %d", n)
	}
}
