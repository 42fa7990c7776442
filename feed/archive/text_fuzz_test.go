package archive

import (
	"bytes"
	"testing"

	"github.com/feedtree/feedtree/internal/fuzz"
)

// The words of any document: what SQLite is given has nothing in it but words, and
// a query for them is one.
func FuzzWords(f *testing.F) {
	f.Add([]byte("<rss><item><title>Été à 東京タワー</title><description><![CDATA[<p>a &lt; b<script>x</script>]]></description></item></rss>"))
	f.Add([]byte(`{"items":[{"title":"a","content_html":"<b>b</b>","content_text":"c"}]}`))
	f.Add([]byte("<entry><content type='xhtml'><div a='>'>\xff\u0301e\u0301</div></content>"))
	fuzz.Hold(f, func(t *testing.T, doc []byte) {
		words := searchable(doc)
		for word := range bytes.FieldsSeq(words) {
			if len(word) > mostWord+8 || bytes.ContainsAny(word, "\"'*()\x00") {
				t.Fatalf("the word %q in %q", word, doc)
			}
		}
		s := newSearch(string(doc))
		if len(s.words) > mostTerms {
			t.Fatalf("%d words", len(s.words))
		}
		s.snippet(string(doc))
	})
}
