package feed

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	ext "github.com/mmcdole/gofeed/extensions"
	"github.com/mmcdole/gofeed/rss"
)

var errNoItem = errors.New("not readable")

// wrapped returns the element as the only one of a document, for gofeed. Its own
// start tag is written anew: what hangs there (xml:base, rdf:about) is read by us.
func wrapped(r *raw, e *element, name, before, after string) string {
	var b strings.Builder
	b.WriteString(before + "<" + name)
	own := e.declarations()
	for _, n := range append(slices.Clone(r.needs), own...) {
		if n.prefix == "" {
			if n.uri != r.native {
				b.WriteString(` xmlns="` + escapeAttr(n.uri) + `"`)
			}
			continue
		}
		if n.uri != "" {
			b.WriteString(` xmlns:` + n.prefix + `="` + escapeAttr(n.uri) + `"`)
		}
	}
	b.WriteString(">" + r.content() + "</" + name + ">" + after)
	return b.String()
}

// itemOfRSS reads one item: the words with gofeed, the identity by ourselves.
func itemOfRSS(r *raw, e *element) (Item, error) {
	doc := wrapped(r, e, "item", `<rss version="2.0"><channel>`, `</channel></rss>`)
	g, err := new(rss.Parser).Parse(strings.NewReader(doc))
	if err != nil {
		return Item{}, err
	}
	if len(g.Items) != 1 {
		return Item{}, errNoItem
	}
	src := g.Items[0]
	base, _ := e.inherit(r.base, r.lang)
	it := Item{
		Title:   src.Title,
		Link:    resolve(base, src.Link),
		Summary: src.Description,
		Content: src.Content,
	}
	it.Also.Comments = resolve(base, src.Comments)
	if src.Source != nil {
		it.Also.Source = Source{src.Source.Title, resolve(base, src.Source.URL)}
	}
	it.identifyRSS(r, e)
	x := rssExtensions{src, e}
	it.Published, it.Updated = x.dates()
	it.Authors = x.authors()
	it.Categories = x.categories()
	it.Enclosures = x.enclosures(base)
	x.words(&it)
	if it.Link == "" && it.PermaLink && isURL(it.GUID) {
		it.Link = it.GUID
	}
	it.seal(r)
	return it, nil
}

// identifyRSS takes the guid byte for byte, and rdf:about in its place in RSS 1.0.
func (it *Item) identifyRSS(r *raw, e *element) {
	for _, k := range e.kids {
		if !k.is("guid") || k.space != e.space && k.space != "" {
			continue
		}
		it.GUID = innerText(r.text[k.inner:k.innerEnd])
		perma := k.attr("isPermaLink")
		if perma == "" {
			perma = k.attr("isPermalink")
		}
		it.PermaLink = !strings.EqualFold(trimSpace(perma), "false")
	}
	if it.GUID == "" {
		it.PermaLink = false
	}
	if it.GUID != "" || r.dialect != rdf {
		return
	}
	for _, a := range e.attrs {
		if a.local == "about" {
			it.GUID = trimSpace(a.value)
		}
	}
	if it.Link == "" && isURL(it.GUID) {
		it.Link = it.GUID
	}
}

// rssExtensions reads what an RSS item says in the words of other vocabularies.
type rssExtensions struct {
	*rss.Item
	e *element // gofeed passes URLs in Atom's attributes through a parser
}

// atomKids returns the item's children of Atom's vocabulary.
func (x rssExtensions) atomKids(local string) []*element {
	var kids []*element
	for _, k := range x.e.kids {
		if k.space == nsAtom && k.local == local {
			kids = append(kids, k)
		}
	}
	return kids
}

func (x rssExtensions) get(prefix, name string) []ext.Extension { return x.Extensions[prefix][name] }

func (x rssExtensions) text(prefix, name string) string {
	for _, e := range x.get(prefix, name) {
		if e.Value != "" {
			return e.Value
		}
	}
	return ""
}

func (x rssExtensions) words(it *Item) {
	if dc := x.DublinCoreExt; dc != nil {
		it.Title = firstString(it.Title, dc.Title)
		it.Summary = firstString(it.Summary, dc.Description)
	}
	if t := x.ITunesExt; t != nil {
		it.Summary = firstString(it.Summary, []string{t.Summary, t.Subtitle})
	}
	it.Summary = firstString(it.Summary, []string{x.text("atom", "summary")})
	it.Content = firstString(it.Content, []string{x.Custom["encoded"], x.text("atom", "content")})
	for _, src := range x.get("atom", "source") {
		if it.Also.Source == (Source{}) {
			it.Also.Source = Source{child(src, "title"), child(src, "id")}
		}
	}
}

// dates prefers the source's own words; Atom's are believed for what RSS cannot
// say: when the item changed, and fractions of a second.
func (x rssExtensions) dates() (published, updated time.Time) {
	atomPublished := parseDate(x.text("atom", "published"))
	published = finer(datePointer(x.PubDateParsed), atomPublished)
	if published.IsZero() {
		published = firstDate(atomPublished, parseDate(x.text("dcterms", "issued")),
			parseDate(x.text("dcterms", "created")), parseDate(x.text("dc", "date")))
	}
	updated = firstDate(parseDate(x.text("atom", "updated")), parseDate(x.text("dcterms", "modified")))
	return published, updated
}

// authors merges <author>, dc:creator and atom:author, which often name the same
// people with more or less detail. Where Atom names all of them, it is believed.
func (x rssExtensions) authors() []Person {
	list := addPerson(nil, parsePerson(x.Author))
	if dc := x.DublinCoreExt; dc != nil {
		for _, who := range append(dc.Author, dc.Creator...) {
			list = addPerson(list, parsePerson(who))
		}
	}
	var full []Person
	for _, a := range x.get("atom", "author") {
		full = addPerson(full, Person{child(a, "name"), child(a, "email"), child(a, "uri")})
	}
	if covers(full, list) {
		return full
	}
	for _, p := range full {
		list = addPerson(list, p)
	}
	if len(list) == 0 && x.ITunesExt != nil {
		list = addPerson(nil, parsePerson(x.ITunesExt.Author))
	}
	return list
}

func child(e ext.Extension, name string) string {
	for _, c := range e.Children[name] {
		return c.Value
	}
	return ""
}

func covers(full, list []Person) bool {
	for _, p := range list {
		if !slices.ContainsFunc(full, func(q Person) bool { return p.Name != "" && q.Name == p.Name }) {
			return false
		}
	}
	return len(full) > 0
}

func (x rssExtensions) categories() []Category {
	var list []Category
	for _, c := range x.Categories {
		list = addCategory(list, Category{Term: c.Value, Scheme: strings.TrimSpace(c.Domain)})
	}
	for _, k := range x.atomKids("category") {
		list = addCategory(list, Category{k.attr("term"), trimSpace(k.attr("scheme")), k.attr("label")})
	}
	if dc := x.DublinCoreExt; dc != nil {
		for _, s := range dc.Subject {
			list = addCategory(list, Category{Term: s})
		}
	}
	if x.ITunesExt != nil {
		for k := range strings.SplitSeq(x.ITunesExt.Keywords, ",") {
			list = addCategory(list, Category{Term: strings.TrimSpace(k)})
		}
	}
	return list
}

// enclosures reads <enclosure>, and Atom's enclosure links for those beyond the
// first, or for what RSS cannot say of one.
func (x rssExtensions) enclosures(base string) []Enclosure {
	var list []Enclosure
	for _, e := range x.Enclosures {
		list = addEnclosure(list, Enclosure{URL: resolve(base, trimSpace(e.URL)), Type: trimSpace(e.Type), Length: length(e.Length)})
	}
	for _, k := range x.atomKids("link") {
		if l := linkOf(base, k); l.rel == "enclosure" {
			list = addEnclosure(list, Enclosure{l.href, l.media, length(l.length), l.title})
		}
	}
	return list
}

func length(s string) int64 {
	n, err := strconv.ParseInt(trimSpace(s), 10, 64)
	if err != nil || n < 0 {
		return 0
	}
	return n
}
