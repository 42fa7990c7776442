package feed

import (
	"fmt"
	"strings"
)

// renderRSS writes RSS 2.0.
func renderRSS(f *Feed, o Options) []byte {
	w := &xmlWriter{target: rss2}
	open := `<rss version="2.0"`
	copied := f.source != nil && f.source.dialect == rss2
	if copied {
		open = w.openAs(f.source, "rss", `version="2.0"`, "version")
	} else {
		open += w.adopt(f.source)
	}
	open += w.based(o.Base)
	f.rssChannel(w, o, copied)
	for _, it := range f.Items {
		w.rssItem(it, o)
	}
	return []byte(xmlDeclaration + w.document(open, "\n<channel>\n", "</channel>\n</rss>\n"))
}

// openAs begins a root element with the attributes of the source's root, and of
// its channel, which stand for the same things there. Declarations go to the
// writer's scope.
func (w *xmlWriter) openAs(h *head, name, fixed string, except ...string) string {
	open := "<" + name
	if fixed != "" {
		open += " " + fixed
	}
	seen := map[string]bool{}
	for _, e := range except {
		seen[e] = true
	}
	write := func(a attr) {
		full := a.local
		switch {
		case a.prefix == "xmlns" || a.prefix == "" && a.local == "xmlns":
			return
		case a.prefix == "xml" && a.local == "base":
			return // relative to the other one, perhaps
		case a.prefix != "":
			full = a.prefix + ":" + a.local
		}
		if !seen[full] {
			seen[full] = true
			open += " " + full + `="` + escapeAttr(a.value) + `"`
		}
	}
	root, channel := &element{attrs: h.root}, &element{attrs: h.channel}
	for _, n := range append(channel.declarations(), root.declarations()...) {
		if n.uri != "" && (n.prefix != "" || w.target != rss2) {
			w.bind(n.prefix, n.uri)
		}
	}
	for _, a := range append(channel.attrs, root.attrs...) {
		if a.prefix == "" || a.prefix == "xml" {
			write(a)
		} else if _, ok := w.bound(a.prefix); ok {
			write(a)
		}
	}
	if w.base, w.lang = h.base, h.lang; w.base != "" {
		open += ` xml:base="` + escapeAttr(w.base) + `"`
	}
	return open
}

func (f *Feed) rssChannel(w *xmlWriter, o Options, copied bool) {
	has := map[string]bool{}
	if copied {
		for _, p := range f.source.parts {
			if !f.keepPart(p, o) {
				continue
			}
			if p.space == p.raw.native {
				has[strings.ToLower(p.local)] = true
			}
			w.splice(p.raw)
		}
	}
	// The three that RSS demands; a description may be empty.
	if !has["title"] {
		w.b.WriteString("<title>" + escapeText(f.Title) + "</title>\n")
	}
	if !has["link"] {
		w.text("", "link", firstString(absolute(f.Link, f, o), []string{f.Self, o.Base, o.Self}))
	}
	if !has["description"] {
		w.b.WriteString("<description>" + escapeText(f.Description) + "</description>\n")
	}
	f.writeLinks(w, o, copied, MediaType(RSS))
	if !copied {
		f.rssAbout(w, o)
		w.foreign(f.source)
	}
	f.writeMeta(w, copied)
}

func (f *Feed) rssAbout(w *xmlWriter, o Options) {
	w.text("", "language", f.Language)
	w.text("", "copyright", f.About.Rights)
	for _, p := range f.About.Authors {
		w.text(nsDC, "creator", p.line())
	}
	if !f.Updated.IsZero() && !o.Live {
		w.text("", "lastBuildDate", rssDate(f.Updated))
	}
	for _, c := range f.About.Categories {
		w.text("", "category", c.Term, "domain", c.Scheme)
	}
	w.text("", "generator", f.About.Generator)
	if f.TTL > 0 && !o.Live {
		w.text("", "ttl", fmt.Sprint(int(f.TTL.Minutes())))
	}
	if img := f.About.Image; img.URL != "" {
		link := firstString(img.Link, []string{f.Link, f.Self})
		if link == "" {
			return // RSS demands one
		}
		w.b.WriteString("<image>\n")
		w.text("", "url", absolute(img.URL, f, o))
		w.b.WriteString("<title>" + escapeText(firstString(img.Title, []string{f.Title})) + "</title>\n")
		w.text("", "link", absolute(link, f, o))
		w.b.WriteString("</image>\n")
	}
}

// rssItem writes one item, copied if it can be.
func (w *xmlWriter) rssItem(it Item, o Options) {
	if it.untouched(rss2) {
		w.copyItem(it, o)
		return
	}
	it = o.lined(it)
	w.begin("item", it)
	w.text("", "title", it.Title)
	w.text("", "link", o.in(it.Link))
	if it.GUID != "" {
		w.element("", "guid", it.GUID, "isPermaLink", fmt.Sprint(it.PermaLink && isURL(it.GUID)))
	}
	w.rssDates(it)
	summary := asHTML(it.Summary, it.Also.PlainSummary)
	if w.text("", "description", summary); summary == "" && it.Title == "" {
		w.b.WriteString("<description></description>\n") // one of the two must be there
	}
	w.text(nsContent, "encoded", asHTML(it.Content, it.Also.PlainContent))
	w.rssPeople(it)
	for _, c := range it.Categories {
		w.text("", "category", c.Term, "domain", c.Scheme)
		if c.Label != "" {
			w.element(nsAtom, "category", "", "term", c.Term, "scheme", c.Scheme, "label", c.Label)
		}
	}
	w.rssFiles(it, o)
	w.text("", "comments", it.Also.Comments)
	if s := it.Also.Source; s.URL != "" {
		w.element("", "source", firstString(s.Title, []string{s.URL}), "url", s.URL)
	}
	w.also(it)
	w.foreignOf(it)
	if m := o.mark(it, nil, w); m != "" {
		w.b.WriteString(m + "\n")
	}
	w.b.WriteString("</item>\n")
}

// copyItem copies the source's own element, with the mark the options ask for.
func (w *xmlWriter) copyItem(it Item, o Options) {
	r := it.source
	if o.Mark != nil {
		r = unmarked(r)
	}
	if line := o.line(it); line != "" {
		r = r.withLine(line)
	}
	w.spliceWith(r, o.mark(it, r, w))
}

// rssDates writes the one date RSS knows, and Atom's beside it where that says more.
func (w *xmlWriter) rssDates(it Item) {
	date := it.Date()
	if date.IsZero() {
		return
	}
	w.text("", "pubDate", rssDate(date))
	if it.Published.Nanosecond() != 0 {
		w.text(nsAtom, "published", atomDate(it.Published))
	}
	if !it.Updated.IsZero() {
		w.text(nsAtom, "updated", atomDate(it.Updated))
	}
}

// rssPeople writes authors as dc:creator, which all readers know, and with Atom's
// element beside it where somebody is more than a name.
func (w *xmlWriter) rssPeople(it Item) {
	full := false
	for _, p := range it.Authors {
		if parsePerson(p.line()) == (Person{Name: p.Name}) {
			w.text(nsDC, "creator", p.Name)
		}
		full = full || p.Email != "" || p.URI != "" || parsePerson(p.Name) != p
	}
	if !full {
		return
	}
	for _, p := range it.Authors {
		w.atomPerson("author", p)
	}
}

// rssFiles writes the first enclosure as RSS wants it, one an item, and the others
// as Atom links; so also one whose type is not known, since RSS demands a type.
func (w *xmlWriter) rssFiles(it Item, o Options) {
	for i, e := range it.Enclosures {
		url := o.in(e.URL)
		if i == 0 {
			kind := firstString(e.Type, []string{"application/octet-stream"})
			w.element("", "enclosure", "", "url", url, "length", fmt.Sprint(e.Length), "type", kind)
		}
		if i > 0 || e.Type == "" || e.Title != "" {
			w.atomFile(e, url)
		}
	}
}

// line writes a person as one line.
func (p Person) line() string {
	switch {
	case p.Email == "":
		return p.Name
	case p.Name == "":
		return p.Email
	}
	return p.Name + " (" + p.Email + ")"
}
