package feed

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

func date(s string) time.Time {
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		panic(err)
	}
	return t
}

func TestParseRSS20(t *testing.T) {
	f := mustParse(t, fixture(t, "rss20.xml"))
	if f.Format != RSS || f.Version != "2.0" || f.Title != "Tea & Trees" || f.Link != "https://tea.example/" ||
		f.Description != "Notes on <em>both</em>" || f.Language != "en-GB" || f.Self != "https://tea.example/feed.xml" ||
		!slices.Equal(f.Hubs, []string{"https://hub.example/"}) || f.TTL != 90*time.Minute ||
		!f.Updated.Equal(date("2026-11-14T09:00:00Z")) || len(f.Defects) > 0 {
		t.Errorf("channel %+v", f)
	}
	a := f.About
	if a.Rights != "CC BY" || a.Generator != "by hand" || a.Image.URL != "https://tea.example/i.png" ||
		a.Authors[0] != (Person{"Jane Grey", "jane@tea.example", ""}) || a.Categories[0].Scheme != "https://tea.example/tags" {
		t.Errorf("about %+v", a)
	}
	it := bare(f.Items[0])
	want := Item{
		GUID: "tea:Oolong/1?x=Y&z", Title: "Oolong <3", Link: "https://tea.example/oolong",
		Published: date("2026-11-13T08:30:00Z"),
		Summary:   "<p>Short & sweet</p>", Content: `<p>Long &amp; "bitter" <img src="/o.png"></p>`,
		Authors:    []Person{{Name: "Jane Grey"}, {Name: "Ann Other"}},
		Categories: []Category{{Term: "tea"}, {Term: "oolong", Scheme: "https://tea.example/tags"}},
		Enclosures: []Enclosure{{URL: "https://tea.example/oolong.mp3", Type: "audio/mpeg", Length: 12345}},
		Also: Also{
			Comments: "https://tea.example/oolong#comments",
			Source:   Source{"Other", "https://other.example/rss"},
		},
	}
	if fmt.Sprintf("%+v", it) != fmt.Sprintf("%+v", want) {
		t.Errorf("\nis   %+v\nwant %+v", it, want)
	}
	if it := f.Items[1]; it.Key() != "link:No guid, no date\nhttps://tea.example/none" || !it.Date().IsZero() ||
		it.Authors[0] != (Person{"Bob", "bob@tea.example", ""}) {
		t.Errorf("%+v", bare(it))
	}
	if it := f.Items[2]; !it.PermaLink || it.Link != "https://tea.example/permalink" || it.Published.Year() != 2199 ||
		it.Summary != "Only a description: 3 < 4 & 5" {
		t.Errorf("%+v", bare(it))
	}
}

func TestParseOtherFormats(t *testing.T) {
	for _, c := range []struct {
		name, version, title string
		format               Format
		keys                 []string
	}{
		{"rss10.rdf", "1.0", "Resource description", RSS, []string{"guid:https://rdf.example/1?id=1", "guid:https://rdf.example/2"}},
		{"rss090.rdf", "0.90", "Old", RSS, []string{"link:First\nhttp://old.example/1", "link:Second\nhttp://old.example/2"}},
		{"rss091.xml", "0.91", "0.91", RSS, []string{"link:A\nhttp://old.example/a"}},
		{"atom10.xml", "1.0", "Atoms & molecules", Atom, []string{"guid:tag:atom.example,2026:1/ä?", "guid:https://atom.example/2"}},
		{"atom03.xml", "0.3", "Old atoms", Atom, []string{"guid:tag:old.example,2004:1"}},
		{"feed11.json", "1.1", "JSON & co", JSONFeed, []string{"guid:https://json.example/1", "guid:42"}},
		{"feed10.json", "1", "Ten", JSONFeed, []string{"guid:1"}},
	} {
		f := mustParse(t, fixture(t, c.name))
		var keys []string
		for _, it := range f.Items {
			keys = append(keys, it.Key())
		}
		if f.Format != c.format || f.Version != c.version || f.Title != c.title || !slices.Equal(keys, c.keys) || len(f.Defects) > 0 {
			t.Errorf("%s: %v %q %q %q %q", c.name, f.Format, f.Version, f.Title, keys, f.Defects)
		}
	}
}

func TestParseRSS10Item(t *testing.T) {
	it := mustParse(t, fixture(t, "rss10.rdf")).Items[0]
	if it.Link != "https://rdf.example/1" || it.Authors[0].Name != "Rex" || it.Categories[0].Term != "triples" ||
		!it.Published.Equal(date("2026-11-13T10:00:00Z")) || it.Content != "<p>first</p>" || it.Summary != "first <b>one</b>" {
		t.Errorf("%+v", bare(it))
	}
}

func TestParseAtomEntry(t *testing.T) {
	f := mustParse(t, fixture(t, "atom10.xml"))
	it := f.Items[0]
	if it.Title != "Plain <title> & more" || it.Link != "https://atom.example/blog/1.html" ||
		!it.Published.Equal(date("2026-11-13T07:00:00.5Z")) || !it.Updated.Equal(date("2026-11-14T09:00:00.123Z")) ||
		it.Summary != "Text with <tags> in it" || !it.Also.PlainSummary ||
		it.Content != "<p>In <b>markup</b> &amp; more</p>" || it.Also.PlainContent ||
		it.Also.Comments != "https://atom.example/1#replies" ||
		it.Categories[0] != (Category{"phys", "https://atom.example/cat", "Physics"}) ||
		it.Enclosures[0] != (Enclosure{"https://atom.example/1.ogg", "audio/ogg", 99, "Talk"}) ||
		it.Authors[1] != (Person{"Dem Okritos", "dem@atom.example", "https://atom.example/dem"}) {
		t.Errorf("%+v", bare(it))
	}
	if it := f.Items[1]; it.Title != "Two words" || it.Link != "https://atom.example/2.html" || !it.Published.IsZero() {
		t.Errorf("%+v", bare(it))
	}
}

func TestParseJSONItem(t *testing.T) {
	f := mustParse(t, fixture(t, "feed11.json"))
	it := f.Items[0]
	if it.Also.External != "https://elsewhere.example/" || it.Also.Image != "https://json.example/1.png" ||
		it.Authors[1] != (Person{"Mail", "m@json.example", ""}) || len(it.Categories) != 2 ||
		it.Enclosures[0] != (Enclosure{"https://json.example/1.mp3", "audio/mpeg", 10, "Eins"}) || !it.Also.PlainSummary {
		t.Errorf("%+v", bare(it))
	}
	if it := f.Items[1]; it.Content != "No title, 1 < 2 <b>" || !it.Also.PlainContent {
		t.Errorf("%+v", bare(it))
	}
}

// A document as broken as they come, read as readers read it.
func TestParseBroken(t *testing.T) {
	f := mustParse(t, fixture(t, "broken.xml"))
	if f.Title != "Broken & loved" || f.Link != "https://broken.example/?a=1&b=2" || len(f.Items) != 2 {
		t.Fatalf("%+v", f)
	}
	if !strings.HasPrefix(f.Description, "café \u00a0 &copy=1") || !strings.HasSuffix(f.Description, "]]> 1 < 2") {
		t.Errorf("%q", f.Description)
	}
	it := f.Items[0]
	if it.Title != "Unclosed <br/> and <i>italic</i>" || it.GUID != "id & co" || it.Link != "https://broken.example/1?a=1&b=2" || it.Summary != "mail <me@broken.example> now" ||
		it.Enclosures[0] != (Enclosure{URL: `https://broken.example/"1".mp3`, Type: "audio/mpeg", Length: 5}) {
		t.Errorf("%+v", bare(it))
	}
	if f.Items[1].Title != "Second" {
		t.Errorf("%+v", bare(f.Items[1]))
	}
	if !slices.Contains(f.Defects, "the last item is cut off and left out") {
		t.Errorf("%q", f.Defects)
	}
}

func TestParseRefusesWhatIsNoFeed(t *testing.T) {
	deep := "<rss><channel><item>" + strings.Repeat("<a>", 200)
	many := "<rss><channel><title>x</title>" + strings.Repeat("<item><title>a</title></item>", maxItems+1)
	for _, c := range []struct {
		doc, says string
		want      error
	}{
		{"", "white space", ErrEmpty},
		{" \n\t ", "white space", ErrEmpty},
		{"\xef\xbb\xbf", "white space", ErrEmpty},
		{"<rss version='2.0'></rss>", "neither channel nor items", ErrEmpty},
		{"<rss version='2.0'><channel> </channel></rss>", "neither title nor items", ErrEmpty},
		{"<feed xmlns='http://www.w3.org/2005/Atom'/>", "neither title nor entries", ErrEmpty},
		{`{"version":"https://jsonfeed.org/version/1.1"}`, "neither title nor items", ErrEmpty},
		{"garbage", `"garbage"`, ErrNotFeed},
		{"\x00\x01\x02\xff\xfe\x1f\x8b garbage \x80", "begins with", ErrNotFeed},
		{"<?xml version='1.0'?><opml version='2.0'><body/></opml>", "<opml>", ErrNotFeed},
		{"<svg xmlns='http://www.w3.org/2000/svg'/>", "<svg>", ErrNotFeed},
		{`{"a": 1}`, "version", ErrNotFeed},
		{`{"version":"https://jsonfeed.org/version/1.1","title":"x","items":[`, "JSON", ErrMalformed},
		{`{"version":"https://jsonfeed.org/version/1.1","title":"x","items":3}`, "items", ErrMalformed},
		{deep, "100 levels", ErrTooDeep},
		{"{\"a\":" + strings.Repeat("[", 200), "100 levels", ErrTooDeep},
		{many, "10000 items", ErrTooMany},
		{"<!DOCTYPE html><html><head><title>x</title></head></html>", "no feed", ErrNotFeed},
	} {
		f, err := Parse([]byte(c.doc), "application/xml")
		if !errors.Is(err, c.want) || !strings.Contains(fmt.Sprint(err), c.says) {
			t.Errorf("%.60q: %v, %v", c.doc, f, err)
		}
	}
}

func TestParseHTMLPage(t *testing.T) {
	page := `<!doctype HTML><html><head><base href="https://page.example/blog/">
<!-- <rss version="2.0"> <link rel=alternate type="application/rss+xml" href="/no"> -->
<link rel="stylesheet" href="s.css"><link rel="alternate" hreflang="de" href="/de">
<link rel="alternate" type="application/rss+xml" title="RSS" href="feed.xml">
<LINK TYPE=application/atom+xml REL="Alternate home" HREF=//other.example/atom>
<link rel="alternate" type="application/json" href="https://page.example/wp-json/wp/v2/posts/1">
<link rel="alternate" type="application/feed+json" href="/feed.json"></head>
<body><rss>not one</rss></body></html>`
	for _, contentType := range []string{"text/html; charset=utf-8", "application/rss+xml"} {
		_, err := Parse([]byte(page), contentType)
		var html *HTMLPage
		if !errors.As(err, &html) || !errors.Is(err, ErrNotFeed) {
			t.Fatalf("%v", err)
		}
		want := []Link{
			{"https://page.example/blog/feed.xml", "RSS", "application/rss+xml"},
			{"https://other.example/atom", "", "application/atom+xml"},
			{"https://page.example/feed.json", "", "application/feed+json"},
		}
		if !slices.Equal(html.Feeds, want) || !strings.Contains(err.Error(), want[0].URL) {
			t.Errorf("%q, %v", html.Feeds, err)
		}
	}
	found := Discover([]byte(`<link rel="alternate" type="application/rss+xml" href="../f?a=1&amp;b=2">`), "https://p.example/x/y")
	if len(found) != 1 || found[0].URL != "https://p.example/f?a=1&b=2" {
		t.Errorf("%q", found)
	}
}

// A feed without items is one; a new blog is worth following.
func TestParseFeedWithoutItems(t *testing.T) {
	f := mustParse(t, []byte("<rss version='2.0'><channel><title>New</title></channel></rss>"))
	if f.Title != "New" || len(f.Items) != 0 || !slices.Contains(f.Defects, "no items") {
		t.Errorf("%+v", f)
	}
}
