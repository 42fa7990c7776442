package feed

import (
	"io"
	"slices"
	"strings"
	"testing"
	"time"
)

func contains(t *testing.T, doc []byte, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(string(doc), p) {
			t.Errorf("missing %s in\n%s", p, doc)
		}
	}
}

func lacks(t *testing.T, doc []byte, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if strings.Contains(string(doc), p) {
			t.Errorf("unwanted %s in\n%s", p, doc)
		}
	}
}

// Rendering in the format of the source copies every item to the byte.
func TestSameFormatKeepsTheBytes(t *testing.T) {
	for name, marks := range map[string][2]string{
		"rss20.xml": {"<item>", "</item>"}, "rss091.xml": {"<item>", "</item>"}, "atom10.xml": {"<entry>", "</entry>"},
	} {
		source := string(fixture(t, name))
		f := mustParse(t, []byte(source))
		doc := string(render(t, f, f.Format, Options{}))
		count := 0
		for _, piece := range strings.Split(source, marks[0])[1:] {
			item := marks[0] + piece[:strings.Index(piece, marks[1])+len(marks[1])]
			if !strings.Contains(doc, item) {
				t.Errorf("%s: not copied: %s", name, item)
			}
			count++
		}
		if count != len(f.Items) {
			t.Errorf("%s: looked at %d items of %d", name, count, len(f.Items))
		}
	}
	doc := render(t, mustParse(t, fixture(t, "feed11.json")), JSONFeed, Options{})
	contains(t, doc, `"_other": {"kept": [1, 2.50, 1e3]}`, `"user_comment": "kept as it is"`, `"_mine": {"x": 1}`, `"duration_in_seconds": 3`, `{"id": 42,`)
}

// What the package does not know travels into the other XML format, too.
func TestForeignElementsTravel(t *testing.T) {
	rss := mustParse(t, fixture(t, "rss20.xml"))
	atom := render(t, rss, Atom, Options{})
	contains(t, atom, `<slash:comments>7</slash:comments>`, `<podcast:transcript url="https://tea.example/t.vtt" type="text/vtt"/>`,
		`<itunes:category text="Society"/>`, `<podcast:locked owner="jane@tea.example">yes</podcast:locked>`)
	back := render(t, mustParse(t, render(t, mustParse(t, fixture(t, "atom10.xml")), RSS, Options{})), Atom, Options{})
	root := wellFormed(t, back)
	entry := root.all(nsAtom, "entry")[0]
	for _, want := range [][2]string{{nsAtom, "contributor"}, {nsAtom, "rights"}, {"http://purl.org/syndication/thread/1.0", "total"}} {
		if len(entry.all(want[0], want[1])) != 1 {
			t.Errorf("%s did not come back from RSS:\n%s", want[1], back)
		}
	}
	if n := len(root.all(nsAtom, "entry")[1].all(nsAtom, "source")); n != 1 {
		t.Errorf("%d sources came back from RSS:\n%s", n, back)
	}
	contains(t, render(t, mustParse(t, fixture(t, "rss10.rdf")), RSS, Options{}), `<slash:department>of-things</slash:department>`, `<language>de</language>`)
}

func TestServedDocument(t *testing.T) {
	o := Options{Self: "http://127.0.0.1:8089/feed/x", Hub: "http://127.0.0.1:8089/hub", Live: true}
	for _, name := range []string{"rss20.xml", "atom10.xml", "feed11.json"} {
		f := mustParse(t, fixture(t, name))
		for _, format := range formats {
			doc := render(t, f, format, o)
			back := mustParse(t, doc)
			if back.Self != o.Self || !slices.Equal(back.Hubs, []string{o.Hub}) || back.TTL != 0 {
				t.Errorf("%s as %v: self %q, hubs %q, ttl %v", name, format, back.Self, back.Hubs, back.TTL)
			}
			if back.Tree == nil || back.Tree.Group != f.Tree.Group {
				t.Errorf("%s as %v: tree %+v", name, format, back.Tree)
			}
			lacks(t, doc, "lastBuildDate", "skipHours", "updatePeriod", "<ttl>")
			sameIdentity(t, back.Items, f.Items)
		}
	}
	// Without Live all of it stays.
	doc := render(t, mustParse(t, fixture(t, "rss20.xml")), RSS, Options{})
	contains(t, doc, "<ttl>90</ttl>", "<skipHours>", "lastBuildDate", "sy:updatePeriod", `href="https://tea.example/feed.xml"`)
}

func TestMarks(t *testing.T) {
	o := Options{Mark: func(it Item) string {
		if it.Title == "none" {
			return ""
		}
		return "unconfirmed"
	}}
	forged := `<rss version="2.0" xmlns:t="` + Namespace + `"><channel><title>t</title><item><title>a</title><t:trust>signed</t:trust><t:seq>5</t:seq></item>` +
		`<item><title>none</title><ft:trust xmlns:ft="` + Namespace + `">signed</ft:trust></item></channel></rss>`
	f := mustParse(t, []byte(forged))
	for _, format := range formats {
		doc := render(t, f, format, o)
		if n := strings.Count(string(doc), "unconfirmed"); n != 1 {
			t.Errorf("%v: marked %d times\n%s", format, n, doc)
		}
		lacks(t, doc, ">signed<", `"signed"`)
		sameIdentity(t, mustParse(t, doc).Items, f.Items)
	}
	contains(t, render(t, f, RSS, o), "<t:seq>5</t:seq>")
	json := mustParse(t, []byte(`{"version":"https://jsonfeed.org/version/1.1","title":"t","items":[{"id":"1","content_text":"x","_feedtree":{"trust":"signed","seq":5}}]}`))
	doc := render(t, json, JSONFeed, o)
	contains(t, doc, `"trust":"unconfirmed"`, `"seq":5`)
	lacks(t, doc, `"signed"`)
	empty := mustParse(t, []byte(`<rss version="2.0"><channel><title>t</title><item/></channel></rss>`))
	wellFormed(t, render(t, empty, RSS, o))
}

// Authors that RSS can name and such that it cannot keep their order.
func TestPeopleAndCategoriesThroughRSS(t *testing.T) {
	f := &Feed{Title: "t", Items: []Item{{
		Title:      "i",
		Authors:    []Person{{Name: "A", Email: "a@x.example"}, {Name: "B"}, {Name: "c@x.example"}, {Email: "d@x.example"}, {Name: "E", URI: "https://e.example/"}},
		Categories: []Category{{Term: "x"}, {Term: "y", Label: "Why"}, {Term: "y", Scheme: "s", Label: "Other"}},
	}}}
	for _, format := range formats {
		sameItems(t, mustParse(t, render(t, f, format, Options{})).Items, f.Items)
	}
	if got := addCategory(nil, Category{Term: "a", Label: "a"}); got[0] != (Category{Term: "a"}) {
		t.Errorf("a label that says nothing new stays: %+v", got)
	}
}

func TestChangedItemIsWrittenAnew(t *testing.T) {
	f := mustParse(t, fixture(t, "rss20.xml"))
	f.Items[0].Title = "Pu-erh"
	back := mustParse(t, render(t, f, RSS, Options{}))
	if back.Items[0].Title != "Pu-erh" {
		t.Errorf("%q", back.Items[0].Title)
	}
	sameItems(t, back.Items, f.Items)
}

func TestDatesThatNobodyGave(t *testing.T) {
	f := mustParse(t, []byte("<rss><channel><title>t</title><item><title>i</title></item></channel></rss>"))
	for _, format := range formats {
		doc := render(t, f, format, Options{})
		if back := mustParse(t, doc).Items[0]; !back.Date().IsZero() {
			t.Errorf("%v invented %v", format, back.Date())
		}
	}
	lacks(t, render(t, f, RSS, Options{}), "pubDate")
	seen := date("2026-11-14T00:00:00Z")
	doc := render(t, f, Atom, Options{Seen: func(Item) time.Time { return seen }})
	contains(t, doc, "<updated>2026-11-14T00:00:00Z</updated>")
}

// A GUID that is no IRI cannot stand in atom:id as it is, and comes back all the same.
func TestGUIDInAtom(t *testing.T) {
	for _, guid := range []string{"42", "a b", "ä/ö?x=%20&y", "https://x.example/a b", "tag:x,2026:1", "urn:feedtree:guid:42", "1&2<3"} {
		f := &Feed{Title: "t", Items: []Item{{GUID: guid, Title: "i"}}}
		doc := render(t, f, Atom, Options{})
		if found := faults(t, doc, Atom); len(found) > 0 {
			t.Errorf("%q: %v", guid, found)
		}
		if got := mustParse(t, doc).Items[0].GUID; got != guid {
			t.Errorf("%q became %q", guid, got)
		}
	}
}

func TestStandInID(t *testing.T) {
	f := &Feed{Title: "t", Items: []Item{{Title: "no guid", Link: "https://x.example/"}, {Summary: "nothing at all"}}}
	for _, format := range formats {
		back := mustParse(t, render(t, f, format, Options{}))
		sameIdentity(t, back.Items, f.Items)
		for _, it := range back.Items {
			if it.GUID != "" {
				t.Errorf("%v: guid %q", format, it.GUID)
			}
		}
	}
}

func TestRenderUnknownFormat(t *testing.T) {
	if err := Render(io.Discard, &Feed{}, 9, Options{}); err == nil {
		t.Error("no error")
	}
}
