package feed

import (
	"bytes"
	"strings"
	"testing"
)

func sayUnsure(Item) string { return "One & only word" }

func rendered(t *testing.T, doc string, to Format, o Options) (string, *Feed) {
	t.Helper()
	f, err := Parse([]byte(doc), "")
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := Render(&b, f, to, o); err != nil {
		t.Fatal(err)
	}
	again, err := Parse(b.Bytes(), "")
	if err != nil {
		t.Fatalf("%v in\n%s", err, b.String())
	}
	return b.String(), again
}

func rssWith(item string) string {
	return `<rss version="2.0" xmlns:content="http://purl.org/rss/1.0/modules/content/"><channel><title>t</title><link>http://x.example/</link><description>d</description><item><guid>1</guid>` + item + `</item></channel></rss>`
}

func atomWith(entry string) string {
	return `<feed xmlns="http://www.w3.org/2005/Atom"><id>urn:x</id><title>t</title><updated>2026-01-01T00:00:00Z</updated><entry><id>urn:1</id><title>e</title><updated>2026-01-01T00:00:00Z</updated>` + entry + `</entry></feed>`
}

// The line stands at the end of what an item says, in every form that this can have,
// and is all that changes: taken away, the bytes are those without it.
func TestALineForPeople(t *testing.T) {
	const escaped = "&lt;p&gt;&lt;small&gt;One &amp;amp; only word&lt;/small&gt;&lt;/p&gt;"
	for name, c := range map[string]struct {
		doc  string
		adds string
	}{
		"RSS, escaped":      {rssWith(`<title>a</title><description>text &lt;b&gt;</description>`), escaped},
		"RSS, CDATA":        {rssWith(`<title>a</title><description><![CDATA[text <b>x</b>]]></description>`), escaped},
		"RSS, full content": {rssWith(`<title>a</title><description>short</description><content:encoded><![CDATA[long]]></content:encoded>`), escaped},
		"RSS, no text":      {rssWith(`<title>a</title>`), "<description>One &amp; only word</description>"},
		"Atom, text":        {atomWith(`<content>text</content>`), "\n\nOne &amp; only word"},
		"Atom, HTML":        {atomWith(`<summary>s</summary><content type="html">text</content>`), escaped},
		"Atom, XHTML":       {atomWith(`<content type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml"><p>x</p></div></content>`), "<p>One &amp; only word</p>"},
		"Atom, prefixed XHTML": {atomWith(`<content type="xhtml"><h:div xmlns:h="http://www.w3.org/1999/xhtml"><h:p>x</h:p></h:div></content>`),
			"<h:p>One &amp; only word</h:p>"},
		"Atom, content elsewhere": {atomWith(`<summary>s</summary><content src="http://x.example/a.mp3" type="audio/mpeg"/>`), "\n\nOne &amp; only word"},
		"Atom, no text":           {atomWith(``), "<summary>One &amp; only word</summary>"},
		"JSON, HTML":              {`{"version":"https://jsonfeed.org/version/1.1","title":"t","items":[{"id":"1","content_html":"x","url":"http://x.example/1"}]}`, `<p><small>One &amp; only word</small></p>`},
		"JSON, text":              {`{"version":"https://jsonfeed.org/version/1.1","title":"t","items":[{"id":"1","content_text":"x"}]}`, `\n\nOne & only word`},
	} {
		t.Run(name, func(t *testing.T) {
			f, err := Parse([]byte(c.doc), "")
			if err != nil {
				t.Fatal(err)
			}
			without, _ := rendered(t, c.doc, f.Format, Options{})
			with, again := rendered(t, c.doc, f.Format, Options{Line: sayUnsure})
			if strings.Count(with, c.adds) != 1 || strings.Replace(with, c.adds, "", 1) != without {
				t.Errorf("got\n%s\nwithout\n%s", with, without)
			}
			if len(again.Items) != 1 || again.Items[0].Key() != f.Items[0].Key() || again.Items[0].Hash() == f.Items[0].Hash() {
				t.Errorf("read again: %+v", again.Items)
			}
			if f.Format != JSONFeed {
				wellFormed(t, []byte(with))
			}
			for _, to := range []Format{RSS, Atom, JSONFeed} {
				plain, _ := rendered(t, c.doc, to, Options{})
				lined, converted := rendered(t, c.doc, to, Options{Line: sayUnsure})
				if strings.Count(lined, "only word") != 1 || strings.Contains(plain, "only word") {
					t.Errorf("as %v:\n%s", to, lined)
				}
				if len(converted.Items) != 1 || converted.Items[0].Key() != f.Items[0].Key() {
					t.Errorf("as %v it has another identity: %q", to, converted.Items[0].Key())
				}
			}
		})
	}
}

// An item that nothing but its content identifies stays what it is.
func TestNoLineChangesAnIdentity(t *testing.T) {
	doc := strings.Replace(rssWith(`<description>only this</description>`), "<guid>1</guid>", "", 1)
	if got, _ := rendered(t, doc, RSS, Options{Line: sayUnsure}); strings.Contains(got, "only word") {
		t.Error(got)
	}
}

// A document that was served says why its items are believed, in every format.
func TestMarksAreReadAgain(t *testing.T) {
	for _, to := range []Format{RSS, Atom, JSONFeed} {
		_, f := rendered(t, rssWith(`<title>a</title>`), to, Options{Mark: func(Item) string { return "corroborated" }})
		if got := f.Items[0].Marked(); got != "corroborated" {
			t.Errorf("%v: %q", to, got)
		}
		_, f = rendered(t, rssWith(`<title>a</title>`), to, Options{})
		if got := f.Items[0].Marked(); got != "" {
			t.Errorf("%v without a mark: %q", to, got)
		}
	}
}
