package feed

import (
	"net/url"
	"slices"
	"strings"
)

// dialect is a vocabulary whose elements may be copied as they are into a document
// of the same vocabulary.
type dialect uint8

const (
	rss2   dialect = 1 + iota // <rss>, any version
	rdf                       // RSS 0.90 and 1.0
	atom1                     // Atom 1.0
	atom03                    // Atom 0.3
	jsonFeed
)

// raw is an element (or JSON object) as it stands in its source, repaired, with
// what it relies on from outside itself. With that it can be put into any other
// document and still mean the same.
type raw struct {
	dialect    dialect
	text       string
	from, to   int    // where the content is in text
	native     string // the namespace that counts as the feed's own vocabulary
	needs      []binding
	base, lang string
	sum        [32]byte // items: the fields as parsed, to notice changes
}

// binding is a namespace declaration; prefix "" is the default namespace.
type binding struct{ prefix, uri string }

// context is what elements inherit from those around them.
type context struct {
	dialect    dialect
	declared   []binding // outermost first
	native     string
	base, lang string
}

func (c context) uri(prefix string) string {
	for _, b := range slices.Backward(c.declared) {
		if b.prefix == prefix {
			return b.uri
		}
	}
	return undeclared(prefix)
}

// inside returns the context of the children of e.
func (c context) inside(e *element) context {
	c.declared = append(slices.Clip(c.declared), e.declarations()...)
	c.base, c.lang = e.inherit(c.base, c.lang)
	return c
}

func (e *element) declarations() []binding {
	var ds []binding
	for _, a := range e.attrs {
		switch {
		case a.prefix == "xmlns":
			ds = append(ds, binding{a.local, trimSpace(a.value)})
		case a.prefix == "" && a.local == "xmlns":
			ds = append(ds, binding{"", trimSpace(a.value)})
		}
	}
	return ds
}

// inherit applies the element's own xml:base and xml:lang.
func (e *element) inherit(base, lang string) (string, string) {
	for _, a := range e.attrs {
		if a.prefix != "xml" {
			continue
		}
		switch a.local {
		case "base":
			base = resolve(base, a.value)
		case "lang":
			lang = a.value
		}
	}
	return base, lang
}

// newRaw makes a raw of one element of a scanned document, and scans it by itself
// so that the caller can look at its children.
func newRaw(text string, c context, d *defects) (*raw, *tree, error) {
	t, err := scan(text, 2, c.uri, d)
	if err != nil {
		return nil, nil, err
	}
	r := &raw{dialect: c.dialect, text: t.text, native: c.native, base: c.base, lang: c.lang}
	r.from, r.to = t.root.inner, t.root.innerEnd
	slices.Sort(t.free)
	for _, p := range t.free {
		r.needs = append(r.needs, binding{p, c.uri(p)})
	}
	return r, t, nil
}

// children scans the raw again and returns its children as raws of their own.
func (r *raw) children() (kids []*element, raws []*raw) {
	var d defects
	t, err := scan(r.text, 2, r.uri, &d)
	if err != nil {
		return nil, nil
	}
	c := context{dialect: r.dialect, declared: r.needs, native: r.native, base: r.base, lang: r.lang}
	c = c.inside(t.root)
	for _, k := range t.root.kids {
		kr, _, err := newRaw(t.text[k.start:k.end], c, &d)
		if err != nil {
			continue
		}
		kids = append(kids, k)
		raws = append(raws, kr)
	}
	return kids, raws
}

func (r *raw) uri(prefix string) string {
	for _, b := range r.needs {
		if b.prefix == prefix {
			return b.uri
		}
	}
	return undeclared(prefix)
}

// resolve makes ref absolute by base, leaving it as it is where that is not
// possible: a URL that is never parsed is never altered.
func resolve(base, ref string) string {
	if base == "" || ref == "" {
		return ref
	}
	u, err := url.Parse(ref)
	if err != nil || u.IsAbs() {
		return ref
	}
	b, err := url.Parse(base)
	if err != nil {
		return ref
	}
	return b.ResolveReference(u).String()
}

// isURL reports an absolute URL that a browser would open.
func isURL(s string) bool {
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && !strings.ContainsAny(s, " \t\n")
}

// inner returns the character data of the element.
func (r *raw) inner() string { return innerText(r.content()) }

// content returns what is between the element's tags.
func (r *raw) content() string { return r.text[r.from:r.to] }
