package feed

import (
	"strings"

	"github.com/mmcdole/gofeed/atom"
)

// itemOfAtom reads one entry: texts, people and dates with gofeed; identity, links
// and categories by ourselves, since gofeed passes every URL through a parser that
// may spell it differently.
func itemOfAtom(r *raw, e *element) (Item, error) {
	g, err := new(atom.Parser).Parse(strings.NewReader(wrapped(r, e, "entry", "<feed>", "</feed>")))
	if err != nil {
		return Item{}, err
	}
	if len(g.Entries) != 1 {
		return Item{}, errNoItem
	}
	src := g.Entries[0]
	base, _ := e.inherit(r.base, r.lang)
	it := Item{Published: datePointer(src.PublishedParsed), Updated: datePointer(src.UpdatedParsed)}
	var links []atomLink
	for _, k := range e.kids {
		if !atomSpace(k.space) && k.space != r.native {
			continue
		}
		switch content := r.text[k.inner:k.innerEnd]; strings.ToLower(k.local) {
		case "id":
			it.fromAtomID(innerText(content))
		case "title":
			it.Title = plainAs(escapedIn03(k, content, src.Title), textType(k))
		case "summary":
			it.Summary, it.Also.PlainSummary = htmlOrText(escapedIn03(k, content, src.Summary), textType(k))
		case "content":
			it.readContent(k, content, src, base)
		case "link":
			links = append(links, linkOf(base, k))
		case "category":
			it.Categories = addCategory(it.Categories, Category{k.attr("term"), trimSpace(k.attr("scheme")), k.attr("label")})
		}
	}
	it.Link = alternate(links)
	it.useLinks(links)
	for _, p := range src.Authors {
		it.Authors = addPerson(it.Authors, Person{p.Name, p.Email, p.URI})
	}
	if src.Source != nil {
		it.Also.Source.Title = src.Source.Title
		for _, l := range src.Source.Links {
			if l.Rel == "self" {
				it.Also.Source.URL = l.Href
			}
		}
	}
	it.seal(r)
	return it, nil
}

// useLinks takes from the links what is not the page itself.
func (it *Item) useLinks(links []atomLink) {
	for _, l := range links {
		switch l.rel {
		case "enclosure":
			it.Enclosures = addEnclosure(it.Enclosures, Enclosure{l.href, l.media, length(l.length), l.title})
		case "related":
			it.Also.External = firstString(it.Also.External, []string{l.href})
		case "replies":
			if isPage(l.media) {
				it.Also.Comments = firstString(it.Also.Comments, []string{l.href})
			}
		}
	}
}

func isPage(media string) bool { return media == "" || strings.Contains(media, "html") }

// readContent takes content that can be shown; content elsewhere is a file, and
// content of other types stays in the raw entry.
func (it *Item) readContent(k *element, content string, src *atom.Entry, base string) {
	kind := textType(k)
	if at := trimSpace(k.attr("src")); at != "" {
		it.Enclosures = addEnclosure(it.Enclosures, Enclosure{URL: resolve(base, at), Type: kind})
		return
	}
	showable := kind == "" || kind == "text" || strings.Contains(kind, "html") || strings.HasPrefix(kind, "text/")
	if src.Content == nil || !showable || strings.EqualFold(k.attr("mode"), "base64") {
		return
	}
	it.Content, it.Also.PlainContent = htmlOrText(escapedIn03(k, content, src.Content.Value), kind)
}

func textType(k *element) string { return strings.ToLower(trimSpace(k.attr("type"))) }

// escapedIn03 reads Atom 0.3's mode="escaped", which gofeed leaves escaped where
// no type stands beside it.
func escapedIn03(k *element, content, asRead string) string {
	if strings.EqualFold(k.attr("mode"), "escaped") {
		return innerText(content)
	}
	return asRead
}

// htmlOrText says whether a text of an Atom type is plain.
func htmlOrText(s, kind string) (string, bool) {
	plain := !strings.Contains(kind, "html")
	return s, plain && s != ""
}
