package feed

import (
	"fmt"
	"io"
	"net/url"
	"strings"
	"time"
)

// Options say what a rendered document should have that its source has not. The
// zero value writes the feed as it is: what a payload is.
type Options struct {
	Self string // the document's own URL, in the place of the source's
	Hub  string // a WebSub hub, in the place of the source's
	Base string // the source's URL, for the relative links in it

	// Live leaves out what tells a reader when to poll, and when the origin wrote
	// its file (ttl, skipHours, skipDays, cloud, sy:*, lastBuildDate): a node that
	// gets news as they come knows better.
	Live bool

	// Mark says how an item came to be trusted; "" says nothing. It is written as
	// ft:trust, and a mark that the source itself put there is removed.
	Mark func(Item) string

	// Paging is the document's place in the feed's history. Nil: what the source
	// says of it stays.
	Paging *Paging

	// Line is a short text for people, such as why an item is believed, to stand at
	// the end of its content; "" says nothing. Nothing else of the item changes, and an
	// item that has no identity but its content gets none.
	Line func(Item) string

	// Seen says when an item was first seen: Atom's date for an item that has none.
	Seen func(Item) time.Time
}

// Render writes the feed as RSS 2.0, Atom 1.0 or JSON Feed 1.1. In the format of
// the source, items and channel are copied; an item that the caller changed, or of
// another format, is written from its fields and from those of its extensions that
// the format can hold.
func Render(w io.Writer, f *Feed, format Format, o Options) error {
	var doc []byte
	switch format {
	case RSS:
		doc = renderRSS(f, o)
	case Atom:
		doc = renderAtom(f, o)
	case JSONFeed:
		doc = renderJSON(f, o)
	default:
		return fmt.Errorf("feed: render: %v (%d)", format, format)
	}
	_, err := w.Write(doc)
	return err
}

const xmlDeclaration = `<?xml version="1.0" encoding="UTF-8"?>` + "\n"

// untouched reports an item that says what its raw element says.
func (it Item) untouched(d dialect) bool {
	return it.source != nil && it.source.dialect == d && it.source.sum == it.fields()
}

// in makes a URL of an item absolute, where the caller says what it is relative to.
// Nothing else may: a payload's link is its source's, which may be part of the key.
func (o Options) in(ref string) string { return resolve(o.Base, ref) }

// absolute makes a URL of the channel absolute.
func absolute(ref string, f *Feed, o Options) string {
	for _, base := range []string{o.Base, f.Self, f.Link} {
		if isURL(base) {
			return resolve(base, ref)
		}
	}
	return ref
}

// baseOf returns what xml:base should say for documents at a URL: the directory,
// on which all readers agree.
func baseOf(rawurl string) string {
	u, err := url.Parse(rawurl)
	if err != nil || !u.IsAbs() {
		return ""
	}
	return u.ResolveReference(&url.URL{Path: "./"}).String()
}

// mark returns the ft:trust element of an item, with its namespace, or "".
func (o Options) mark(it Item, r *raw, w *xmlWriter) string {
	if o.Mark == nil {
		return ""
	}
	trust := o.Mark(it)
	if trust == "" {
		return ""
	}
	if r != nil && strings.Contains(r.text, "xmlns:ft") {
		return `<ft:trust xmlns:ft="` + Namespace + `">` + escapeText(trust) + `</ft:trust>`
	}
	name := w.prefix("ft", Namespace) + ":trust"
	return "<" + name + ">" + escapeText(trust) + "</" + name + ">"
}

// unmarked returns the raw without ft:trust elements of its own: an origin that
// puts them into its feed would vouch for itself.
func unmarked(r *raw) *raw {
	if !strings.Contains(r.text, "trust") {
		return r
	}
	var d defects
	t, err := scan(r.text, 2, r.uri, &d)
	if err != nil {
		return r
	}
	clean := *r
	var b strings.Builder
	last := 0
	for _, k := range t.root.kids {
		if k.space == Namespace && k.local == "trust" {
			b.WriteString(r.text[last:k.start])
			last = k.end
		}
	}
	if last == 0 {
		return r
	}
	b.WriteString(r.text[last:])
	clean.text = b.String()
	clean.to -= len(r.text) - len(clean.text)
	return &clean
}

// keepPart decides which elements of a head are copied into a document of the
// same format: all that the options or the caller's changes do not replace.
func (f *Feed) keepPart(p part, o Options) bool {
	switch {
	case p.rel == "self" && o.Self != "", p.rel == "hub" && o.Hub != "", o.Paging.replaces(p):
		return false
	case p.space == Namespace && (p.local == "tree" || p.local == "poll"):
		return f.metaUntouched()
	case !o.Live:
		return true
	case p.space == nsSy:
		return false
	}
	switch strings.ToLower(p.local) {
	case "ttl", "skiphours", "skipdays", "cloud", "lastbuilddate", "pubdate":
		return p.space != p.raw.native && p.raw.dialect == rss2
	}
	return true
}

// metaUntouched reports that the ft: metadata is the source's, or was taken off by
// a caller, which is no reason to lose the source's.
func (f *Feed) metaUntouched() bool {
	h := f.source
	return h != nil && f.Tree == h.tree && f.Poll == h.poll || f.Tree == nil && f.Poll == nil
}

// writeMeta writes the ft: metadata, if it has not been copied.
func (f *Feed) writeMeta(w *xmlWriter, copied bool) {
	if copied && f.metaUntouched() || f.Tree == nil && f.Poll == nil {
		return
	}
	prefix := w.prefix("ft", Namespace)
	if f.Tree != nil {
		w.b.WriteString(f.Tree.xml(prefix, false, f.Poll) + "\n")
		return
	}
	w.b.WriteString(f.Poll.xml(prefix, false) + "\n")
}

// writeLinks writes rel=self and rel=hub as the options say or, where no source
// was copied, as the feed says.
func (f *Feed) writeLinks(w *xmlWriter, o Options, copied bool, media string) {
	self, hubs := o.Self, f.Hubs
	if self == "" && !copied {
		self = f.Self
	}
	if o.Hub != "" {
		hubs = []string{o.Hub}
	} else if copied {
		hubs = nil
	}
	if self != "" {
		w.element(nsAtom, "link", "", "rel", "self", "type", media, "href", self)
	}
	for _, hub := range hubs {
		w.element(nsAtom, "link", "", "rel", "hub", "href", hub)
	}
	o.Paging.write(w, media)
}

// latest is the date of the newest item: when the feed last changed.
func latest(items []Item) time.Time {
	var t time.Time
	for _, it := range items {
		if n := newest(it); n.After(t) {
			t = n
		}
	}
	return t
}
