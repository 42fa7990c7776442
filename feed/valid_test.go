package feed

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"regexp"
	"strings"
	"testing"
	"time"
)

// wellFormed reads a document with a strict parser and checks that every prefix is
// declared.
func wellFormed(t testing.TB, doc []byte) *node {
	t.Helper()
	root, err := readNode(doc)
	if err != nil {
		t.Fatalf("not well formed: %v\n%s", err, doc)
	}
	return root
}

type node struct {
	xml.Name
	Attrs []xml.Attr
	Kids  []*node
	Text  string
}

func (n *node) attr(name string) string {
	for _, a := range n.Attrs {
		if a.Name.Local == name && a.Name.Space == "" {
			return a.Value
		}
	}
	return ""
}

func (n *node) all(space, local string) (found []*node) {
	for _, k := range n.Kids {
		if k.Space == space && k.Local == local {
			found = append(found, k)
		}
	}
	return found
}

// readNode fails on prefixes that nobody declared: encoding/xml leaves those in
// the place of the namespace.
func readNode(doc []byte) (*node, error) {
	dec := xml.NewDecoder(bytes.NewReader(doc))
	root := &node{}
	stack := []*node{root}
	declared := map[string]bool{"": true, nsXML: true}
	for {
		tok, err := dec.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
		top := stack[len(stack)-1]
		switch tok := tok.(type) {
		case xml.StartElement:
			for _, a := range tok.Attr {
				if a.Name.Space == "xmlns" || a.Name.Local == "xmlns" {
					declared[a.Value] = true
				}
			}
			seen := map[xml.Name]bool{}
			for _, a := range tok.Attr {
				if seen[a.Name] {
					return nil, fmt.Errorf("attribute %v twice", a.Name)
				}
				seen[a.Name] = true
				if a.Name.Space != "xmlns" && !declared[a.Name.Space] {
					return nil, fmt.Errorf("prefix %q not declared", a.Name.Space)
				}
			}
			if !declared[tok.Name.Space] {
				return nil, fmt.Errorf("prefix %q not declared", tok.Name.Space)
			}
			n := &node{Name: tok.Name, Attrs: tok.Attr}
			top.Kids = append(top.Kids, n)
			stack = append(stack, n)
		case xml.EndElement:
			stack = stack[:len(stack)-1]
		case xml.CharData:
			top.Text += string(tok)
		}
	}
	if len(root.Kids) != 1 {
		return nil, fmt.Errorf("%d root elements", len(root.Kids))
	}
	return root.Kids[0], nil
}

// checker collects what the W3C feed validator would call an error.
type checker struct{ faults []string }

func (c *checker) need(ok bool, format string, args ...any) {
	if !ok {
		c.faults = append(c.faults, fmt.Sprintf(format, args...))
	}
}

func (c *checker) once(n *node, space, local string) string {
	found := n.all(space, local)
	c.need(len(found) == 1, "<%s> has %d <%s>", n.Local, len(found), local)
	if len(found) == 0 {
		return ""
	}
	return found[0].Text
}

var rssDateForm = regexp.MustCompile(`^(Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d? [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d ([+-]\d{4}|GMT)$`)

func (c *checker) rss(root *node) {
	c.need(root.Local == "rss" && root.attr("version") == "2.0", "root <%s version=%q>", root.Local, root.attr("version"))
	ch := root.all("", "channel")
	c.need(len(ch) == 1, "%d channels", len(ch))
	if len(ch) != 1 {
		return
	}
	c.once(ch[0], "", "title")
	c.once(ch[0], "", "description")
	c.need(isURL(c.once(ch[0], "", "link")), "channel link")
	self := 0
	for _, l := range ch[0].all(nsAtom, "link") {
		if l.attr("rel") == "self" {
			self++
		}
	}
	c.need(self <= 1, "%d self links", self)
	guids := map[string]bool{}
	for _, item := range ch[0].all("", "item") {
		c.rssItem(item, guids)
	}
}

func (c *checker) rssItem(item *node, guids map[string]bool) {
	c.need(len(item.all("", "title"))+len(item.all("", "description")) > 0, "item without title and description")
	for _, single := range []string{"title", "description", "link", "guid", "pubDate", "enclosure", "author", "comments", "source"} {
		c.need(len(item.all("", single)) <= 1, "two <%s> in an item", single)
	}
	c.need(len(item.all(nsContent, "encoded")) <= 1, "two content:encoded")
	for _, l := range item.all("", "link") {
		c.need(isURL(l.Text), "item link %q", l.Text)
	}
	for _, g := range item.all("", "guid") {
		c.need(g.attr("isPermaLink") == "false" || isURL(g.Text), "permalink guid %q", g.Text)
		c.need(!guids[g.Text], "guid %q twice", g.Text)
		guids[g.Text] = true
	}
	for _, d := range item.all("", "pubDate") {
		c.need(rssDateForm.MatchString(d.Text), "pubDate %q", d.Text)
	}
	for _, e := range item.all("", "enclosure") {
		c.need(isURL(e.attr("url")) && strings.Contains(e.attr("type"), "/"), "enclosure %v", e.Attrs)
		c.need(regexp.MustCompile(`^\d+$`).MatchString(e.attr("length")), "enclosure length %q", e.attr("length"))
	}
	for _, a := range item.all("", "author") {
		c.need(strings.Contains(a.Text, "@"), "author %q without an address", a.Text)
	}
}

func (c *checker) atom(root *node) {
	c.need(root.Local == "feed" && root.Space == nsAtom, "root <%s xmlns=%q>", root.Local, root.Space)
	c.need(absoluteIRI.MatchString(c.once(root, nsAtom, "id")), "feed id")
	c.once(root, nsAtom, "title")
	c.atomDate(c.once(root, nsAtom, "updated"))
	ids := map[string]bool{}
	for _, e := range root.all(nsAtom, "entry") {
		id := c.once(e, nsAtom, "id")
		c.need(absoluteIRI.MatchString(id), "entry id %q", id)
		c.need(!ids[id], "id %q twice", id)
		ids[id] = true
		c.once(e, nsAtom, "title")
		c.atomDate(c.once(e, nsAtom, "updated"))
		c.need(len(e.all(nsAtom, "summary")) <= 1 && len(e.all(nsAtom, "content")) <= 1, "two texts")
		c.need(len(e.all(nsAtom, "author"))+len(root.all(nsAtom, "author")) > 0, "entry %q without author", id)
		alternates := 0
		for _, l := range e.all(nsAtom, "link") {
			if rel := l.attr("rel"); rel == "" || rel == "alternate" {
				alternates++
			}
			c.need(l.attr("href") != "", "link without href")
		}
		c.need(alternates > 0 || len(e.all(nsAtom, "content")) > 0, "entry %q with neither content nor link", id)
	}
}

func (c *checker) atomDate(s string) {
	_, err := time.Parse(time.RFC3339Nano, s)
	c.need(err == nil, "date %q", s)
}

func (c *checker) jsonFeed(doc []byte) {
	var f struct {
		Version, Title string
		Items          []map[string]any
	}
	if err := json.Unmarshal(doc, &f); err != nil {
		c.need(false, "%v", err)
		return
	}
	c.need(f.Version == jsonVersion && f.Title != "", "version %q, title %q", f.Version, f.Title)
	for _, it := range f.Items {
		_, html := it["content_html"]
		_, text := it["content_text"]
		c.need(html || text, "item without content")
		c.need(it["id"] != nil, "item without id")
		for _, name := range []string{"date_published", "date_modified"} {
			if d, ok := it[name].(string); ok {
				c.atomDate(d)
			}
		}
	}
}

func faults(t testing.TB, doc []byte, format Format) []string {
	var c checker
	switch format {
	case RSS:
		c.rss(wellFormed(t, doc))
	case Atom:
		c.atom(wellFormed(t, doc))
	case JSONFeed:
		c.jsonFeed(doc)
	}
	return c.faults
}

// What we write is valid by the rules of the W3C validator. Where the source's
// item is copied its own faults are, too: those of these fixtures are listed.
func TestRenderedDocumentsAreValid(t *testing.T) {
	inherited := map[string]int{
		"broken.xml as RSS": 1, // its guid is no URL and not said to be none
	}
	for _, name := range fixtures {
		f := mustParse(t, fixture(t, name))
		for _, format := range formats {
			for _, o := range []Options{{}, {Self: "http://127.0.0.1:8089/x", Hub: "http://127.0.0.1:8089/hub", Base: "https://base.example/a/feed", Live: true}} {
				what := name + " as " + format.String()
				found := faults(t, render(t, f, format, o), format)
				if len(found) != inherited[what] {
					t.Errorf("%s: %d faults: %s", what, len(found), strings.Join(found, "; "))
				}
			}
		}
	}
}

func TestItemsMadeByHandAreValid(t *testing.T) {
	f := &Feed{Title: "By hand", Link: "https://hand.example/", Self: "https://hand.example/feed", Items: []Item{
		{GUID: "no iri at all", Title: "a <b> & \"c\"", Content: "<p>]]></p>\x00\x0b\ufffe"},
		{Link: "/relative", Title: "two"},
		{Content: "micro", Enclosures: []Enclosure{{URL: "https://hand.example/a"}, {URL: "https://hand.example/b", Type: "image/png", Length: 3}}},
		{GUID: "https://hand.example/p", PermaLink: true, Authors: []Person{{Name: "A (b)", URI: "https://a.example/"}, {Email: "x@y.example"}}},
	}}
	for _, format := range formats {
		doc := render(t, f, format, Options{Base: "https://hand.example/feed"})
		if found := faults(t, doc, format); len(found) > 0 {
			t.Errorf("%v: %s\n%s", format, strings.Join(found, "; "), doc)
		}
		if back := mustParse(t, doc); len(back.Items) != len(f.Items) {
			t.Errorf("%v: %d items", format, len(back.Items))
		}
	}
}
