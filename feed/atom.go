package feed

import (
	"fmt"
	"strings"

	"github.com/mmcdole/gofeed/atom"
	"golang.org/x/net/html"
)

// parseAtom reads <feed> documents.
func parseAtom(body string, d *defects) (*Feed, error) {
	t, err := scan(body, 2, undeclared, d)
	if err != nil {
		return nil, err
	}
	f := &Feed{Format: Atom, Version: "1.0"}
	h := &head{dialect: atom1, root: t.root.attrs, name: "feed"}
	if t.root.space == nsAtom03 || trimSpace(t.root.attr("version")) == "0.3" {
		h.dialect, f.Version = atom03, "0.3"
	}
	c := context{dialect: h.dialect, native: t.root.space}.inside(t.root)
	h.base, h.lang = c.base, c.lang
	for _, e := range t.root.kids {
		isEntry := e.is("entry") && (atomSpace(e.space) || e.space == c.native)
		if isEntry && e.cut {
			d.add("the last entry is cut off and left out")
			continue
		}
		r, inside, err := newRaw(t.text[e.start:e.end], c, d)
		if err != nil {
			return nil, err
		}
		if !isEntry {
			h.parts = append(h.parts, newPart(inside.root, r, f))
			continue
		}
		if len(f.Items) == maxItems {
			return nil, fmt.Errorf("%w: more than %d entries", ErrTooMany, maxItems)
		}
		it, err := itemOfAtom(r, inside.root)
		if err != nil {
			d.add("entry left out: %v", err)
			continue
		}
		f.Items = append(f.Items, it)
	}
	f.describeAtom(h, d)
	if f.Title == "" && f.ID == "" && f.Link == "" && len(f.Items) == 0 {
		return nil, fmt.Errorf("%w: <feed> with neither title nor entries", ErrEmpty)
	}
	f.sealHead(h)
	return f, nil
}

// atomSpace reports the namespaces of Atom; feeds that declare none mean it too.
func atomSpace(uri string) bool { return uri == nsAtom || uri == nsAtom03 || uri == "" }

// describeAtom has gofeed read the feed without its entries.
func (f *Feed) describeAtom(h *head, d *defects) {
	w := newXMLWriter(atom1)
	var links []atomLink
	for _, p := range h.parts {
		if p.space == Namespace {
			continue
		}
		w.splice(p.raw)
		if p.local == "id" && atomSpace(p.space) {
			f.ID = p.raw.inner()
		}
		if p.local == "link" && atomSpace(p.space) {
			links = append(links, p.link())
		}
	}
	g, err := new(atom.Parser).Parse(strings.NewReader(w.document("<feed", "", "</feed>")))
	if err != nil {
		d.add("feed not readable: %v", err)
		return
	}
	f.Title = plainAs(g.Title, h.typeOf("title"))
	f.Description = g.Subtitle
	f.Language = h.lang
	f.Link = alternate(links)
	f.Updated = datePointer(g.UpdatedParsed)
	f.About.Rights = g.Rights
	if g.Generator != nil {
		f.About.Generator = strings.TrimSpace(g.Generator.Value + " " + g.Generator.Version)
	}
	f.About.Image.URL = resolve(h.base, firstString(g.Logo, []string{g.Icon}))
	for _, p := range g.Authors {
		f.About.Authors = addPerson(f.About.Authors, Person{p.Name, p.Email, p.URI})
	}
	for _, c := range g.Categories {
		f.About.Categories = addCategory(f.About.Categories, Category{c.Term, c.Scheme, c.Label})
	}
}

// typeOf returns the type attribute of a text at channel level.
func (h *head) typeOf(local string) string {
	for _, p := range h.parts {
		if p.local == local && atomSpace(p.space) {
			_, kind := p.raw.attrs()
			return kind
		}
	}
	return ""
}

// atomLink is a link with what of its attributes we use.
type atomLink struct{ rel, href, media, length, title string }

func linkOf(base string, e *element) atomLink {
	l := atomLink{
		rel: strings.ToLower(trimSpace(e.attr("rel"))), href: resolve(base, trimSpace(e.attr("href"))),
		media: trimSpace(e.attr("type")), length: e.attr("length"), title: e.attr("title"),
	}
	if l.rel == "" {
		l.rel = "alternate"
	}
	return l
}

func (p part) link() atomLink {
	e, _ := p.raw.attrs()
	return linkOf(p.raw.base, e)
}

// attrs scans the start tag and returns it, and its type attribute.
func (r *raw) attrs() (*element, string) {
	var d defects
	t, err := scan(r.text, 1, r.uri, &d)
	if err != nil {
		return &element{}, ""
	}
	return t.root, strings.ToLower(trimSpace(t.root.attr("type")))
}

// alternate picks the page a link element is about: the first of a type that
// people read, else the first.
func alternate(links []atomLink) string {
	best := ""
	for _, l := range links {
		if l.rel != "alternate" || l.href == "" {
			continue
		}
		if l.media == "" || strings.Contains(l.media, "html") {
			return l.href
		}
		if best == "" {
			best = l.href
		}
	}
	return best
}

// plainAs returns a text construct of an Atom type as plain text.
func plainAs(s, kind string) string {
	if !strings.Contains(kind, "html") {
		return s
	}
	z := html.NewTokenizer(strings.NewReader(s))
	var b strings.Builder
	for {
		switch z.Next() {
		case html.ErrorToken:
			return strings.TrimSpace(b.String())
		case html.TextToken:
			b.Write(z.Text())
		}
	}
}
