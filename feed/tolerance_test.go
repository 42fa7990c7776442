package feed

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/unicode"
)

func encoded(t *testing.T, s string, enc interface {
	String(string) (string, error)
}) string {
	t.Helper()
	out, err := enc.String(s)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// What servers say of their charset, and what they send.
func TestCharsets(t *testing.T) {
	doc := func(declared, title string) string {
		if declared != "" {
			declared = ` encoding="` + declared + `"`
		}
		return `<?xml version="1.0"` + declared + `?><rss version="2.0"><channel><title>` + title + `</title></channel></rss>`
	}
	cyrillic := encoded(t, "Привет", charmap.Windows1251.NewEncoder())
	for _, c := range []struct{ what, doc, contentType, want string }{
		{"nothing declared", doc("", "café"), "", "café"},
		{"byte order mark", "\xef\xbb\xbf" + doc("utf-8", "café"), "", "café"},
		{"white space and mark in front", "\n \t" + doc("utf-8", "café"), "", "café"},
		{"Latin 1, declared", doc("ISO-8859-1", "caf\xe9"), "", "café"},
		{"Latin 1, only the header says so", doc("", "caf\xe9"), "text/xml; charset=iso-8859-1", "café"},
		{"UTF-8, declared Latin 1", doc("ISO-8859-1", "café"), "", "café"},
		{"UTF-8, header says Latin 1", doc("utf-8", "café"), "text/xml; charset=ISO-8859-1", "café"},
		{"Latin 1, declared UTF-8", doc("utf-8", "caf\xe9 na\xefve"), "application/rss+xml; charset=utf-8", "café naïve"},
		{"Windows-1251, header says UTF-8", doc("windows-1251", cyrillic), "text/xml; charset=utf-8", "Привет"},
		{"unknown charset", doc("x-martian", "caf\xe9"), "", "café"},
		{"US-ASCII with quotes of Windows", doc("us-ascii", "\x93x\x94"), "", "“x”"},
		{"a few broken bytes", doc("utf-8", "Привет \xff Привет"), "", "Привет \uFFFD Привет"},
		{"Shift_JIS", encoded(t, doc("Shift_JIS", "日本"), japanese.ShiftJIS.NewEncoder()), "", "日本"},
		{"ISO-2022-JP", encoded(t, doc("ISO-2022-JP", "日本"), japanese.ISO2022JP.NewEncoder()), "", "日本"},
		{"UTF-16, little endian, marked", encoded(t, doc("utf-16", "日本"), unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewEncoder()), "", "日本"},
		{"UTF-16, big endian, unmarked", encoded(t, doc("utf-16", "日本"), unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM).NewEncoder()), "", "日本"},
		{"declared UTF-16 and is not", doc("utf-16", "café"), "", "café"},
		{"control characters", doc("utf-8", "c\x00a\x0bf\x1bé\ufffe"), "", "café"},
	} {
		f, err := Parse([]byte(c.doc), c.contentType)
		if err != nil || f.Title != c.want {
			t.Errorf("%s: %q, %v", c.what, f.Title, err)
		}
	}
}

func TestEntities(t *testing.T) {
	for in, want := range map[string]string{
		"a &amp; b":           "a & b",
		"a & b":               "a & b",
		"AT&T":                "AT&T",
		"a &amp;amp; b":       "a &amp; b",
		"x &nbsp;&eacute;":    "x \u00a0é",
		"&lt;b&gt;":           "<b>",
		"&copy; &copy=1":      "© &copy=1",
		"&#65;&#x42;":         "AB",
		"&#0;&#x1;":           "\uFFFD\uFFFD",
		"&#xD800;":            "\uFFFD",
		"&nosuch; &;":         "&nosuch; &;",
		"<![CDATA[a & <b>]]>": "a & <b>",
		"<![CDATA[a]]> &amp;": "a &",
		"1 < 2 > 0 <3":        "1 < 2 > 0 <3",
		"&LT;&AMP;":           "<&",
	} {
		f, err := Parse([]byte("<rss><channel><title>t</title><item><title>"+in+"</title><guid>"+in+"</guid></item></channel></rss>"), "")
		if err != nil || len(f.Items) != 1 {
			t.Errorf("%q: %v", in, err)
			continue
		}
		if it := f.Items[0]; it.Title != want || it.GUID != want {
			t.Errorf("%q: title %q, guid %q, want %q", in, it.Title, it.GUID, want)
		}
	}
}

// Repairing what is well formed changes nothing but comments and instructions.
func TestRepairLeavesGoodXMLAlone(t *testing.T) {
	for _, name := range []string{"rss20.xml", "rss10.rdf", "atom10.xml", "atom03.xml", "rss091.xml"} {
		text := string(fixture(t, name))
		_, at := locate(text)
		body := strings.TrimSpace(text[at:])
		var d defects
		tree, err := scan(body, 3, undeclared, &d)
		if err != nil || tree.text != body || len(d.list) > 0 {
			t.Errorf("%s: changed, %v %v", name, err, d.list)
		}
	}
}

func TestCutOffDocuments(t *testing.T) {
	whole := string(fixture(t, "rss20.xml"))
	most := 0
	for n := len(whole); n > 0; n -= 7 {
		f, err := Parse([]byte(whole[:n]), "")
		if err != nil {
			continue
		}
		want := strings.Count(whole[:n], "</item>")
		if len(f.Items) != want {
			t.Fatalf("cut at %d: %d items of %d that are whole", n, len(f.Items), want)
		}
		most = max(most, want)
	}
	if most != 3 {
		t.Errorf("never found all items")
	}
}

func TestNamespacesByURI(t *testing.T) {
	// Odd prefixes, a default namespace of their own, prefixes never declared.
	f := mustParse(t, []byte(`<rss version="2.0" xmlns="http://backend.userland.com/rss2" xmlns:c="http://purl.org/rss/1.0/modules/content/">
<channel><title>t</title><x:tree xmlns:x="`+Namespace+`" group="g"><bootstrap xmlns="`+Namespace+`">/ip4/1</bootstrap><poll/></x:tree>
<ft:tree xmlns:ft="urn:not-ours" group="h"/>
<item><title>i</title><c:encoded>full</c:encoded><dc:creator>Dee</dc:creator></item></channel></rss>`))
	if f.Tree == nil || f.Tree.Group != "g" || len(f.Tree.Bootstrap) != 1 {
		t.Errorf("%+v", f.Tree)
	}
	if len(f.Items) != 1 || f.Items[0].Content != "full" || len(f.Items[0].Authors) != 1 || f.Items[0].Authors[0].Name != "Dee" {
		t.Fatalf("%+v", f.Items)
	}
	pushed(t, f)
	wellFormed(t, render(t, f, RSS, Options{}))
	wellFormed(t, render(t, f, Atom, Options{}))
	// The usual prefixes mean the usual, also to those who read what we write.
	contains(t, render(t, f, RSS, Options{}), `xmlns:dc="http://purl.org/dc/elements/1.1/"`)
}

func TestNamespacesDeclaredOnTheItem(t *testing.T) {
	f := mustParse(t, []byte(`<rss><channel><title>t</title><item xmlns:q="http://purl.org/rss/1.0/modules/content/"><title>i</title><q:encoded>full</q:encoded></item></channel></rss>`))
	if f.Items[0].Content != "full" {
		t.Fatalf("%+v", f.Items)
	}
	pushed(t, f)
}

func TestPrologsThatQuoteTags(t *testing.T) {
	f := mustParse(t, []byte(`<?xml version="1.0"?><?x <html> ?><!-- not <html> but <feed> --><!DOCTYPE rss><rss><channel><title>t</title></channel></rss>`))
	if f.Format != RSS || f.Title != "t" {
		t.Errorf("%+v", f)
	}
}

func TestBrokenJSON(t *testing.T) {
	f := mustParse(t, []byte("\xef\xbb\xbf {\"version\":\"https://jsonfeed.org/version/1\",\"title\":7,\"items\":[{\"id\":\"1\",\"title\":\"two\nlines\\\"\",\"tags\":\"x\",\"content_text\":null},3]} trailing"))
	if len(f.Items) != 1 || f.Items[0].GUID != "1" || f.Items[0].Title != "two\nlines\"" {
		t.Errorf("%+v", f)
	}
	pushed(t, f)
}

func TestXMLBase(t *testing.T) {
	with := mustParse(t, []byte(`<rss version="2.0" xml:base="https://b.example/dir/"><channel><title>t</title><item><title>i</title><link>a</link></item></channel></rss>`))
	without := mustParse(t, []byte(`<rss version="2.0"><channel><title>t</title><item><title>j</title><link>b</link></item></channel></rss>`))
	if with.Items[0].Link != "https://b.example/dir/a" || without.Items[0].Link != "b" {
		t.Fatalf("%q %q", with.Items[0].Link, without.Items[0].Link)
	}
	items := append(with.Items, without.Items...)
	for _, channel := range []*Feed{with, without} {
		f := Assemble(channel, items)
		sameIdentity(t, mustParse(t, render(t, f, RSS, Options{})).Items, items)
	}
	// A reader that gets the document from elsewhere still finds the page.
	doc := render(t, without, RSS, Options{Base: "https://o.example/blog/feed.xml"})
	if got := mustParse(t, doc).Items[0].Link; got != "https://o.example/blog/b" {
		t.Errorf("%q", got)
	}
}

func TestDuplicates(t *testing.T) {
	f := mustParse(t, []byte(`<rss><channel><title>t</title>
<item><guid>a</guid><title>first</title></item>
<item><guid>a</guid><title>first</title></item>
<item><guid>b</guid><title>old</title><pubDate>Mon, 02 Nov 2026 00:00:00 GMT</pubDate></item>
<item><guid>b</guid><title>new</title><pubDate>Tue, 03 Nov 2026 00:00:00 GMT</pubDate></item>
<item><guid>c</guid><title>one</title></item>
<item><guid>c</guid><title>two</title></item>
</channel></rss>`))
	var titles []string
	for _, it := range f.Items {
		titles = append(titles, it.Title)
	}
	if got := strings.Join(titles, " "); got != "first new one" {
		t.Errorf("kept %s", got)
	}
	if len(f.Defects) != 2 {
		t.Errorf("%q", f.Defects)
	}
}

func TestDates(t *testing.T) {
	for in, want := range map[string]string{
		"Sat, 14 Nov 2026 10:00:00 +0100": "2026-11-14T09:00:00Z",
		"14 Nov 2026 10:00 GMT":           "2026-11-14T10:00:00Z",
		"Sat, 14 Nov 2026 10:00:00 EST":   "2026-11-14T15:00:00Z",
		"2026-11-14T10:00:00+01:00":       "2026-11-14T09:00:00Z",
		"Sat, 14 Nov 2199 10:00:00 GMT":   "2199-11-14T10:00:00Z",
		"yesterday":                       "",
		"":                                "",
		"Thu, 01 Jan 1970 00:00:00 GMT":   "",
	} {
		f := mustParse(t, []byte("<rss><channel><title>t</title><item><title>i</title><pubDate>"+in+"</pubDate></item></channel></rss>"))
		got := f.Items[0].Published
		if want == "" && !got.IsZero() || want != "" && !got.Equal(date(want)) {
			t.Errorf("%q: %v", in, got)
		}
		// What was said stays, even if we cannot read it.
		if !strings.Contains(string(render(t, f, RSS, Options{})), "<pubDate>"+in+"</pubDate>") {
			t.Errorf("%q was not kept", in)
		}
	}
}

func counted(format string, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

// Input made to be slow is not.
func TestHostileInputTakesLinearTime(t *testing.T) {
	const n = 200_000
	head := "<rss><channel><title>t</title><item><description>"
	for what, s := range map[string]string{
		"comments never closed":    strings.Repeat("<!--", n),
		"instructions":             strings.Repeat("<?", n),
		"CDATA":                    strings.Repeat("<![CDATA[", n),
		"ampersands":               strings.Repeat("&", n),
		"brackets":                 strings.Repeat("]", n),
		"stray end tags":           strings.Repeat("</x>", n),
		"quotes never closed":      strings.Repeat("<a b='", n),
		"attributes":               "<a" + strings.Repeat(" b=1", n) + "/>",
		"declarations":             "<a" + strings.Repeat(" xmlns:b='u'", n) + "/>" + strings.Repeat("<b:c/>", n),
		"tags never closed":        strings.Repeat("<br ", n),
		"many elements":            strings.Repeat("<a/>", n),
		"entities in an attribute": "<a b='" + strings.Repeat("&x", n) + "'/>",
		"categories":               "</description>" + counted("<category>%d</category>", n/10),
		"enclosures":               "</description>" + counted("<enclosure url='%d'/>", n/10),
		"authors":                  "</description>" + counted("<dc:creator>%d</dc:creator>", n/10),
		"prefixes":                 counted("<x%d:a/>", n),
		"nested divs":              strings.Repeat("<div>", 90) + strings.Repeat("<p>x", n/100),
	} {
		took := time.Hour
		for try := 0; try < 5 && took > 3*time.Second; try++ { // the machine may be busy with something else
			start := time.Now()
			f, err := Parse([]byte(head+s), "")
			if err == nil {
				_ = render(t, f, RSS, Options{})
			}
			f, err = Parse([]byte(head+s+"</description></item></channel></rss>"), "")
			if err == nil {
				_ = render(t, f, Atom, Options{})
			}
			took = min(took, time.Since(start))
		}
		if took > 3*time.Second {
			t.Errorf("%s: %v", what, took)
		}
	}
}
