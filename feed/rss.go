package feed

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/mmcdole/gofeed/rss"
)

// parseRSS reads <rss> and <rdf:RDF> documents.
func parseRSS(body string, isRDF bool, d *defects) (*Feed, error) {
	t, err := scan(body, 3, undeclared, d)
	if err != nil {
		return nil, err
	}
	f := &Feed{Format: RSS}
	h := &head{dialect: rss2, root: t.root.attrs, name: "rss"}
	if isRDF {
		h.dialect = rdf
	}
	outer := context{dialect: h.dialect, native: t.root.space}.inside(t.root)
	var items []Item
	channels := 0
	for _, e := range t.root.kids {
		switch {
		case !ownSpace(e.space, t.root):
			continue // RSS has no extensions here
		case e.is("channel") && channels == 0:
			channels++
			h.channel = e.attrs
			c := outer.inside(e)
			c.native = e.space
			h.base, h.lang = c.base, c.lang
			if items, err = f.readRSS(t, e.kids, c, h, items, d); err != nil {
				return nil, err
			}
		default:
			// RSS 1.0 has its items, image and text input beside the channel.
			c := outer
			c.native = e.space
			if items, err = f.readRSS(t, []*element{e}, c, h, items, d); err != nil {
				return nil, err
			}
		}
	}
	if channels == 0 && len(items) == 0 {
		return nil, fmt.Errorf("%w: <%s> with neither channel nor items", ErrEmpty, t.root.local)
	}
	f.Items = items
	f.Version = rssVersion(t.root, isRDF)
	f.describeRSS(h, d)
	if f.Title == "" && f.Link == "" && f.Self == "" && len(items) == 0 {
		return nil, fmt.Errorf("%w: <channel> with neither title nor items", ErrEmpty)
	}
	f.sealHead(h)
	return f, nil
}

// ownSpace reports the namespaces of RSS: none, the one that the root claims, and
// those of RSS 0.90 and 1.0.
func ownSpace(uri string, root *element) bool {
	switch uri {
	case "", root.space, nsRSS10, "http://my.netscape.com/rdf/simple/0.9/", "http://channel.netscape.com/rdf/simple/0.9/":
		return true
	}
	return false
}

// readRSS takes in elements of the channel: items, and parts of the head.
func (f *Feed) readRSS(t *tree, kids []*element, c context, h *head, items []Item, d *defects) ([]Item, error) {
	for _, e := range kids {
		if e.cut && e.is("item") {
			d.add("the last item is cut off and left out")
			continue
		}
		own := c
		isItem := e.is("item") && (e.space == c.native || e.space == "") && (e.prefix == "" || c.dialect == rdf)
		if isItem {
			own.native = e.space
		}
		r, inside, err := newRaw(t.text[e.start:e.end], own, d)
		if err != nil {
			return nil, err
		}
		if !isItem {
			h.parts = append(h.parts, newPart(inside.root, r, f))
			continue
		}
		if len(items) == maxItems {
			return nil, fmt.Errorf("%w: more than %d items", ErrTooMany, maxItems)
		}
		it, err := itemOfRSS(r, inside.root)
		if err != nil {
			d.add("item left out: %v", err)
			continue
		}
		items = append(items, it)
	}
	return items, nil
}

func rssVersion(root *element, isRDF bool) string {
	if !isRDF {
		if v := trimSpace(root.attr("version")); v != "" {
			return v
		}
		return "2.0"
	}
	for _, b := range root.declarations() {
		if strings.Contains(b.uri, "netscape.com/rdf/simple/0.9") {
			return "0.90"
		}
	}
	return "1.0"
}

// describeRSS has gofeed read the channel, without its items.
func (f *Feed) describeRSS(h *head, d *defects) {
	w := newXMLWriter(rss2)
	for _, p := range h.parts {
		if p.space == Namespace {
			continue
		}
		w.splice(p.raw)
	}
	doc := w.document(`<rss version="2.0"`, "<channel>", "</channel></rss>")
	g, err := new(rss.Parser).Parse(strings.NewReader(doc))
	if err != nil {
		d.add("channel not readable: %v", err)
		return
	}
	f.Title, f.Description, f.Language = g.Title, g.Description, g.Language
	f.Link = resolve(h.base, g.Link)
	f.Updated = firstDate(datePointer(g.LastBuildDateParsed), datePointer(g.PubDateParsed))
	f.About.Rights, f.About.Generator = g.Copyright, g.Generator
	if n, err := strconv.Atoi(strings.TrimSpace(g.TTL)); err == nil && n > 0 && n < 60*24*366 {
		f.TTL = time.Duration(n) * time.Minute
	}
	if g.Image != nil {
		f.About.Image = Image{resolve(h.base, g.Image.URL), g.Image.Title, resolve(h.base, g.Image.Link)}
	}
	for _, c := range g.Categories {
		f.About.Categories = addCategory(f.About.Categories, Category{Term: c.Value, Scheme: c.Domain})
	}
	for _, who := range []string{g.ManagingEditor, g.WebMaster} {
		f.About.Authors = addPerson(f.About.Authors, parsePerson(who))
	}
	if dc := g.DublinCoreExt; dc != nil {
		f.Title = firstString(f.Title, dc.Title)
		f.Description = firstString(f.Description, dc.Description)
		f.Language = firstString(f.Language, dc.Language)
		f.About.Rights = firstString(f.About.Rights, dc.Rights)
		f.Updated = firstDate(f.Updated, parseDate(firstString("", dc.Date)))
		for _, who := range dc.Creator {
			f.About.Authors = addPerson(f.About.Authors, parsePerson(who))
		}
	}
	if it := g.ITunesExt; it != nil {
		f.Description = firstString(f.Description, []string{it.Summary, it.Subtitle})
		f.About.Image.URL = firstString(f.About.Image.URL, []string{it.Image})
		if len(f.About.Authors) == 0 {
			f.About.Authors = addPerson(nil, parsePerson(it.Author))
		}
	}
	if f.Language == "" {
		f.Language = h.lang
	}
}

func firstString(s string, more []string) string {
	for _, m := range more {
		if s != "" {
			break
		}
		s = m
	}
	return s
}
