package feed

import (
	"fmt"
	"strings"
	"time"
)

// renderAtom writes Atom 1.0.
func renderAtom(f *Feed, o Options) []byte {
	w := &xmlWriter{target: atom1}
	open := "<feed"
	copied := f.source != nil && f.source.dialect == atom1
	if copied {
		open = w.openAs(f.source, "feed", "", "version")
		w.scope = append([]binding{{"", nsAtom}}, withoutDefault(w.scope)...)
	} else {
		w.scope = []binding{{"", nsAtom}}
		open += w.adopt(f.source)
		if f.Language != "" {
			open += ` xml:lang="` + escapeAttr(f.Language) + `"`
			w.lang = f.Language
		}
	}
	open += w.based(o.Base)
	f.atomHead(w, o, copied)
	for _, it := range f.Items {
		w.atomEntry(it, o)
	}
	return []byte(xmlDeclaration + w.document(open, "\n", "</feed>\n"))
}

func withoutDefault(scope []binding) []binding {
	var rest []binding
	for _, b := range scope {
		if b.prefix != "" {
			rest = append(rest, b)
		}
	}
	return rest
}

func (f *Feed) atomHead(w *xmlWriter, o Options, copied bool) {
	has := map[string]bool{}
	if copied {
		for _, p := range f.source.parts {
			if !f.keepPart(p, o) || o.Live && p.is(p.raw.native, "updated") {
				continue
			}
			if p.space == p.raw.native {
				has[strings.ToLower(p.local)] = true
			}
			w.splice(p.raw)
		}
	}
	if !has["id"] {
		w.text("", "id", f.atomID(o))
	}
	if !has["title"] {
		w.b.WriteString("<title>" + escapeText(f.Title) + "</title>\n")
	}
	if !has["updated"] {
		w.text("", "updated", atomDate(f.atomUpdated(o)))
	}
	if !has["author"] && !f.allHaveAuthors() {
		f.atomAuthors(w)
	}
	f.writeLinks(w, o, copied, MediaType(Atom))
	if !copied {
		f.atomAbout(w, o)
		w.foreign(f.source)
	}
	f.writeMeta(w, copied)
}

func (f *Feed) atomAbout(w *xmlWriter, o Options) {
	w.text("", "subtitle", f.Description, "type", "html")
	if f.Link != "" {
		w.element("", "link", "", "rel", "alternate", "type", "text/html", "href", absolute(f.Link, f, o))
	}
	w.text("", "rights", f.About.Rights)
	w.text("", "generator", f.About.Generator)
	w.text("", "logo", absolute(f.About.Image.URL, f, o))
	for _, c := range f.About.Categories {
		w.element("", "category", "", "term", c.Term, "scheme", c.Scheme, "label", c.Label)
	}
}

// atomID is the feed's id: its own, else the URL it has always had, which is the
// same for everybody who renders it.
func (f *Feed) atomID(o Options) string {
	for _, id := range []string{f.ID, f.Self, o.Base, f.Link} {
		if id != "" {
			return id
		}
	}
	return Item{Title: f.Title}.standInID()
}

// atomUpdated is the date Atom demands of a feed.
func (f *Feed) atomUpdated(o Options) time.Time {
	t := firstDate(f.Updated, latest(f.Items))
	if o.Live {
		t = firstDate(latest(f.Items), f.Updated)
	}
	return orEpoch(t)
}

// orEpoch writes "no date" where a date is demanded.
func orEpoch(t time.Time) time.Time {
	if t.IsZero() {
		return time.Unix(0, 0).UTC()
	}
	return t
}

func (f *Feed) allHaveAuthors() bool {
	for _, it := range f.Items {
		if len(it.Authors) == 0 {
			return false
		}
	}
	return len(f.Items) > 0
}

// atomAuthors writes the feed's authors; Atom demands one unless each entry has
// its own, and then the feed itself speaks.
func (f *Feed) atomAuthors(w *xmlWriter) {
	for _, p := range f.About.Authors {
		w.atomPerson("author", p)
	}
	if len(f.About.Authors) == 0 {
		w.atomPerson("author", Person{Name: firstString(f.Title, []string{f.Link, "?"})})
	}
}

// atomPerson writes a person; Atom demands a name.
func (w *xmlWriter) atomPerson(role string, p Person) {
	name := w.name(nsAtom, role)
	w.b.WriteString("<" + name + ">")
	w.element(nsAtom, "name", p.Name)
	w.text(nsAtom, "email", p.Email)
	w.text(nsAtom, "uri", p.URI)
	w.b.WriteString("</" + name + ">\n")
}

func (w *xmlWriter) atomFile(e Enclosure, url string) {
	size := ""
	if e.Length > 0 {
		size = fmt.Sprint(e.Length)
	}
	w.element(nsAtom, "link", "", "rel", "enclosure", "type", e.Type, "length", size, "title", e.Title, "href", url)
}

// atomEntry writes one entry, copied if it can be.
func (w *xmlWriter) atomEntry(it Item, o Options) {
	if it.untouched(atom1) {
		w.copyItem(it, o)
		return
	}
	it = o.lined(it)
	w.begin("entry", it)
	w.text("", "id", it.atomID())
	w.b.WriteString("<title>" + escapeText(it.Title) + "</title>\n")
	if it.Link != "" {
		w.element("", "link", "", "rel", "alternate", "type", "text/html", "href", o.in(it.Link))
	}
	if !it.Published.IsZero() {
		w.text("", "published", atomDate(it.Published))
	}
	w.text("", "updated", atomDate(it.atomUpdated(o)))
	for _, p := range it.Authors {
		w.atomPerson("author", p)
	}
	for _, c := range it.Categories {
		w.element("", "category", "", "term", c.Term, "scheme", c.Scheme, "label", c.Label)
	}
	w.text("", "summary", it.Summary, "type", textKind(it.Also.PlainSummary))
	w.text("", "content", it.Content, "type", textKind(it.Also.PlainContent))
	if it.Content == "" && it.Link == "" {
		w.element("", "content", "", "type", "text") // Atom demands one of the two
	}
	for _, e := range it.Enclosures {
		w.atomFile(e, o.in(e.URL))
	}
	if it.Also.Comments != "" {
		w.element("", "link", "", "rel", "replies", "type", "text/html", "href", it.Also.Comments)
	}
	w.atomSource(it)
	w.also(it)
	w.foreignOf(it)
	if m := o.mark(it, nil, w); m != "" {
		w.b.WriteString(m + "\n")
	}
	w.b.WriteString("</entry>\n")
}

func textKind(plain bool) string {
	if plain {
		return "text"
	}
	return "html"
}

// atomUpdated is the date Atom demands of an entry.
func (it Item) atomUpdated(o Options) time.Time {
	t := firstDate(it.Updated, it.Published)
	if t.IsZero() && o.Seen != nil {
		t = o.Seen(it)
	}
	return orEpoch(t)
}

func (w *xmlWriter) atomSource(it Item) {
	s := it.Also.Source
	if s.URL == "" {
		return
	}
	w.b.WriteString("<source>")
	w.text("", "id", s.URL)
	w.text("", "title", s.Title)
	w.element("", "link", "", "rel", "self", "href", s.URL)
	w.b.WriteString("</source>\n")
}
