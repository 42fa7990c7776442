package feed

import (
	"testing"

	"github.com/feedtree/feedtree/internal/fuzz"
)

// What the options add to a document, whatever it is: that is well formed still,
// has the items it had, and the mark that was put there instead of the source's own.
func FuzzOptions(f *testing.F) {
	for _, name := range fixtures {
		f.Add(fixture(f, name))
	}
	f.Add([]byte(`<rss xmlns:ft="https://github.com/feedtree/feedtree/ns/1"><channel><item><guid>a</guid><ft:trust>signed</ft:trust><description/></item></channel></rss>`))
	f.Add([]byte(`<feed xmlns="http://www.w3.org/2005/Atom"><entry><id>a</id><content type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml"/></content></entry></feed>`))
	f.Add([]byte(`{"version":"https://jsonfeed.org/version/1","items":[{"id":"1","content_html":"x","_feedtree":{"trust":"signed"}}]}`))
	o := Options{
		Self: "http://127.0.0.1:8089/feed/https://news.example/", Hub: "http://127.0.0.1:8089/hub", Base: "https://news.example/feed.xml", Live: true,
		Mark:   func(Item) string { return "unconfirmed" },
		Line:   func(Item) string { return `one <volunteer> & "no other" ]]>` },
		Paging: &Paging{Archive: true, Prev: "http://127.0.0.1:8089/?page=1"},
	}
	fuzz.Hold(f, func(t *testing.T, doc []byte) {
		if len(doc) > 1<<16 {
			return
		}
		feed, err := Parse(doc, "")
		if err != nil {
			return
		}
		for _, format := range formats {
			out := render(t, feed, format, o)
			if format != JSONFeed {
				wellFormed(t, out)
			}
			back, err := Parse(out, "")
			if err != nil {
				continue // neither title nor items
			}
			if len(back.Items) != len(feed.Items) {
				t.Fatalf("%d items became %d in\n%s", len(feed.Items), len(back.Items), out)
			}
			for i, it := range back.Items {
				if it.Marked() != "unconfirmed" {
					t.Fatalf("item %d is marked %q in\n%s", i, it.Marked(), out)
				}
			}
		}
	})
}

// Addresses as clients send them behind another one.
func FuzzEmbedded(f *testing.F) {
	for _, s := range []string{
		"https://news.example/feed?x=1", "https:/news.example/feed", "https%3A%2F%2Fnews.example%2Ffeed%3Fa%3Db", "feed:https://news.example/",
		"feed://news.example/", "https%3a//news.example/a%2fb", "FEED:feed:feed:http:x",
	} {
		f.Add(s)
	}
	fuzz.Hold(f, func(t *testing.T, rest string) {
		Redacted("could not fetch " + rest)
		addr, err := Embedded(rest)
		if err != nil {
			return
		}
		c, err := Canonical(addr)
		if err != nil {
			return
		}
		again, err := Embedded(c)
		if err == nil {
			again, err = Canonical(again)
		}
		if err != nil || again != c {
			t.Fatalf("%q → %q → %q, %v", rest, c, again, err)
		}
	})
}

// Documents in any encoding that a server may claim.
func FuzzDecode(f *testing.F) {
	f.Add([]byte("<rss/>"), "text/xml; charset=utf-8")
	f.Add([]byte("\xff\xfe<\x00r\x00/\x00>\x00"), "")
	f.Add([]byte("<?xml version='1.0' encoding='shift_jis'?><rss>\x83\x65</rss>"), "application/rss+xml")
	f.Add([]byte("<rss>&nbsp;\x96</rss>"), `text/xml; charset="windows-1252"`)
	f.Add([]byte("\x1b$B%F\x1b(B"), "text/plain; charset=iso-2022-jp")
	fuzz.Hold(f, func(t *testing.T, doc []byte, contentType string) {
		text, _ := Decode(doc, contentType)
		if again, _ := Decode([]byte(text), "text/xml; charset=utf-8"); len(again) > 4*len(text)+16 {
			t.Errorf("%d bytes became %d", len(text), len(again))
		}
	})
}
