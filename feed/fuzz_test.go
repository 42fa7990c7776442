package feed

import (
	"testing"

	"github.com/feedtree/feedtree/internal/fuzz"
)

// FuzzParse: no input makes Parse panic, and what it accepts is rendered well
// formed in every format, and pushed without change in its own.
func FuzzParse(f *testing.F) {
	for _, name := range fixtures {
		f.Add(fixture(f, name))
	}
	for _, s := range []string{
		"<rss><channel><item><title>a</title></channel>",
		"<rss><channel><item a:b=c xmlns:a='&amp;'><guid>&#xD;x</guid><a:b/></item>",
		"<feed><entry><id>urn:feedtree:guid:%20x</id><content type='xhtml'><x:div xmlns:x='u'><br></x:div></content></entry></feed>",
		"<a:feed xmlns:a='http://www.w3.org/2005/Atom'><a:entry xml:base='//x/'><a:link href='?'/></a:entry></a:feed>",
		`{"version":"https://jsonfeed.org/version/1","items":[{"id":1.0,"title":3,"tags":[null]}]}`,
	} {
		f.Add([]byte(s))
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
			out := render(t, feed, format, Options{})
			if format != JSONFeed {
				wellFormed(t, out)
			}
			if format != feed.Format {
				continue
			}
			back, err := Parse(out, "")
			if err != nil {
				if len(feed.Items) == 0 {
					continue // neither title nor items: nothing to push
				}
				t.Fatalf("%v in\n%s", err, out)
			}
			sameIdentity(t, back.Items, feed.Items)
		}
	})
}
