package feed

import (
	"strconv"
	"strings"
)

// xmlWriter writes the inside of an RSS 2.0 or Atom 1.0 document. Namespaces that
// turn out to be needed are declared at the root, which is therefore written last.
type xmlWriter struct {
	target     dialect
	scope      []binding // declared at the root, in order
	base, lang string    // in effect for items
	ownBase    bool      // base is of our own making
	bare       bool      // leave xml:base and xml:lang alone
	b          strings.Builder
}

func newXMLWriter(target dialect) *xmlWriter { return &xmlWriter{target: target, bare: true} }

func (w *xmlWriter) bound(prefix string) (uri string, ok bool) {
	for _, b := range w.scope {
		if b.prefix == prefix {
			return b.uri, true
		}
	}
	return "", false
}

// maxScope is how many namespaces are declared at the root for the sake of items;
// those beyond are declared where they are used.
const maxScope = 64

// bind makes a prefix mean a namespace at the root, if it is free to.
func (w *xmlWriter) bind(prefix, uri string) bool {
	if have, taken := w.bound(prefix); taken {
		return have == uri
	}
	if len(w.scope) >= maxScope {
		return false
	}
	w.scope = append(w.scope, binding{prefix, uri})
	return true
}

// prefix returns the prefix of one of our own namespaces.
func (w *xmlWriter) prefix(preferred, uri string) string {
	for _, b := range w.scope {
		if b.uri == uri && b.prefix != "" {
			return b.prefix
		}
	}
	p := preferred
	for n := 2; ; n++ {
		if _, taken := w.bound(p); !taken {
			w.scope = append(w.scope, binding{p, uri})
			return p
		}
		p = preferred + strconv.Itoa(n)
	}
}

// document puts the root around what was written. open is the root's start tag
// without its ">".
func (w *xmlWriter) document(open, before, after string) string {
	var b strings.Builder
	b.WriteString(open)
	for _, n := range w.scope {
		if n.prefix == "" {
			b.WriteString(` xmlns="` + escapeAttr(n.uri) + `"`)
		} else {
			b.WriteString(` xmlns:` + n.prefix + `="` + escapeAttr(n.uri) + `"`)
		}
	}
	b.WriteString(">" + before + w.b.String() + after)
	return b.String()
}

// name returns the name of an element in one of our namespaces: an Atom element
// needs no prefix where Atom is the default namespace.
func (w *xmlWriter) name(uri, local string) string {
	switch uri {
	case "":
		return local
	case nsAtom:
		if have, _ := w.bound(""); have == nsAtom {
			return local
		}
		return w.prefix("atom", nsAtom) + ":" + local
	case nsContent:
		return w.prefix("content", uri) + ":" + local
	case nsDC:
		return w.prefix("dc", uri) + ":" + local
	case nsMedia:
		return w.prefix("media", uri) + ":" + local
	case nsHistory:
		return w.prefix("fh", uri) + ":" + local
	case Namespace:
		return w.prefix("ft", uri) + ":" + local
	}
	panic("feed: no prefix for " + uri)
}

// text writes an element with text, unless there is none.
func (w *xmlWriter) text(uri, local, value string, attrs ...string) {
	if value != "" {
		w.element(uri, local, value, attrs...)
	}
}

// element writes an element; attrs are names and values, empty values left out.
func (w *xmlWriter) element(uri, local, value string, attrs ...string) {
	name := w.name(uri, local)
	w.b.WriteString("<" + name)
	for i := 0; i < len(attrs); i += 2 {
		if attrs[i+1] != "" {
			w.b.WriteString(" " + attrs[i] + `="` + escapeAttr(attrs[i+1]) + `"`)
		}
	}
	if value == "" {
		w.b.WriteString("/>\n")
		return
	}
	w.b.WriteString(">" + escapeText(value) + "</" + name + ">\n")
}

// splice copies an element of another document, declaring what it relies on.
func (w *xmlWriter) splice(r *raw) { w.spliceWith(r, "") }

// spliceWith copies an element and puts more at the end of its content.
func (w *xmlWriter) spliceWith(r *raw, more string) {
	nameEnd := wordEnd(r.text, 1)
	w.b.WriteString(r.text[:nameEnd])
	for _, n := range r.needs {
		uri, skip := w.meaning(r, n)
		switch {
		case skip:
		case n.prefix == "":
			if have, _ := w.bound(""); have != uri {
				w.b.WriteString(` xmlns="` + escapeAttr(uri) + `"`)
			}
		case uri == "":
			// A prefix cannot be unbound in XML 1.0; it means nothing anyway.
		case !w.bind(n.prefix, uri):
			w.b.WriteString(` xmlns:` + n.prefix + `="` + escapeAttr(uri) + `"`)
		}
	}
	tag := r.text[nameEnd:r.from]
	w.inherited(r, tag)
	if more == "" {
		w.b.WriteString(r.text[nameEnd:] + "\n")
		return
	}
	name := r.text[1:nameEnd]
	w.b.WriteString(strings.TrimSuffix(strings.TrimSuffix(tag, ">"), "/") + ">")
	w.b.WriteString(r.content() + more + "</" + name + ">\n")
}

// inherited writes what the element inherited where it came from and does not
// here, unless its start tag says so itself. An empty xml:base undoes the one in
// effect: links that were relative to nothing stay so.
func (w *xmlWriter) inherited(r *raw, tag string) {
	if w.bare {
		return
	}
	if r.base != w.base && !(w.ownBase && r.base == "") && !strings.Contains(tag, "xml:base") {
		w.b.WriteString(` xml:base="` + escapeAttr(r.base) + `"`)
	}
	if r.lang != w.lang && r.lang != "" && !strings.Contains(tag, "xml:lang") {
		w.b.WriteString(` xml:lang="` + escapeAttr(r.lang) + `"`)
	}
}

// begin opens an item or entry that is written from its fields.
func (w *xmlWriter) begin(name string, it Item) {
	w.b.WriteString("<" + name)
	if r := it.source; r != nil && r.base != "" && r.base != w.base {
		w.b.WriteString(` xml:base="` + escapeAttr(r.base) + `"`)
	}
	w.b.WriteString(">\n")
}

// adopt begins the root of a document in another format than the source's: what
// its items inherited, they inherit here.
func (w *xmlWriter) adopt(h *head) (attrs string) {
	if h == nil || h.dialect == jsonFeed {
		return ""
	}
	if w.base, w.lang = h.base, h.lang; w.base != "" {
		attrs = ` xml:base="` + escapeAttr(w.base) + `"`
	}
	return attrs
}

// based sets xml:base for a source that has none.
func (w *xmlWriter) based(rawurl string) (attrs string) {
	base := baseOf(rawurl)
	if w.base != "" || base == "" {
		return ""
	}
	w.base, w.ownBase = base, true
	return ` xml:base="` + escapeAttr(base) + `"`
}

// meaning returns the namespace that a prefix of r has to have here. skip: RSS has
// no namespace, and its documents that invent one for it mean none.
func (w *xmlWriter) meaning(r *raw, n binding) (uri string, skip bool) {
	switch {
	case n.uri != r.native:
		return n.uri, false
	case r.dialect == atom1:
		return nsAtom, false
	case n.prefix != "":
		return n.uri, false
	case r.dialect == rss2 || r.dialect == rdf:
		if w.target == rss2 {
			return "", true
		}
		return "", false
	}
	return n.uri, false
}
