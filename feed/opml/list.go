package opml

import (
	"strings"

	"github.com/feedtree/feedtree/feed"
)

// List is an OPML document.
type List struct {
	Title    string
	Head     []Attr    // the other elements of its head, by name and text
	Attrs    []Attr    // of its root: namespaces, mostly
	Outlines []Outline // of its body

	// Defects says what was wrong with the document, for people.
	Defects []string
}

// Outline is a feed, or a folder of them.
type Outline struct {
	Attrs    []Attr // in order
	Outlines []Outline
}

// Attr is an attribute. Its name is spelled as in the document.
type Attr struct{ Name, Value string }

// Feed is one feed of a list.
type Feed struct {
	Title  string
	URL    string   // as it stands in the list, without white space around it
	Site   string   // the web page, or ""
	Folder []string // the titles of the outlines around it
}

// Get returns the value of an attribute, whatever the case of its name.
func (o *Outline) Get(name string) string {
	for _, a := range o.Attrs {
		if strings.EqualFold(a.Name, name) {
			return a.Value
		}
	}
	return ""
}

// title is what a reader shows.
func (o *Outline) title() string {
	if t := strings.TrimSpace(o.Get("text")); t != "" {
		return t
	}
	return strings.TrimSpace(o.Get("title"))
}

// place is the attribute that has the feed's URL: xmlUrl, or in lists that know
// no better, url. It is nil for a folder.
func (o *Outline) place() *Attr {
	kind := strings.ToLower(strings.TrimSpace(o.Get("type")))
	var at *Attr
	for i := range o.Attrs {
		switch a := &o.Attrs[i]; strings.ToLower(a.Name) {
		case "xmlurl":
			return a
		case "url":
			if kind == "rss" || kind == "atom" || kind == "feed" {
				at = a
			}
		}
	}
	return at
}

// include returns the address of another list that stands here, or "".
func (o *Outline) include() string {
	url := strings.TrimSpace(o.Get("url"))
	kind := strings.ToLower(strings.TrimSpace(o.Get("type")))
	path, _, _ := strings.Cut(strings.ToLower(url), "?")
	if kind == "include" || kind == "link" && strings.HasSuffix(path, ".opml") {
		return url
	}
	return ""
}

// Feeds returns the feeds of the list in its order, as often as they stand there,
// and what is refused: feeds whose URL is none, and other lists.
func (l *List) Feeds() (feeds []Feed, refused []*Error) {
	walk(l.Outlines, nil, func(o *Outline, folder []string) {
		if other := o.include(); other != "" {
			refused = append(refused, &Error{Reason: Include, Title: o.title(), URL: other})
			return
		}
		at := o.place()
		if at == nil {
			return
		}
		f := Feed{Title: o.title(), URL: strings.TrimSpace(at.Value), Site: strings.TrimSpace(o.Get("htmlUrl")), Folder: folder}
		if err := check(f); err != nil {
			refused = append(refused, err)
			return
		}
		feeds = append(feeds, f)
	})
	return feeds, refused
}

// check says what is wrong with a feed's URL.
func check(f Feed) *Error {
	if f.URL == "" {
		return &Error{Reason: NoURL, Title: f.Title}
	}
	addr, err := f.URL, error(nil)
	if i := strings.IndexByte(addr, ':'); i > 0 && strings.EqualFold(addr[:i], "feed") && strings.Contains(addr, "://") {
		addr, err = feed.Embedded(addr)
	}
	if err == nil {
		_, err = feed.Canonical(addr)
	}
	if err != nil {
		return &Error{Reason: BadURL, Title: f.Title, URL: f.URL, Err: err}
	}
	return nil
}

// walk visits outlines before what is in them.
func walk(outlines []Outline, folder []string, visit func(*Outline, []string)) {
	for i := range outlines {
		o := &outlines[i]
		visit(o, folder)
		if len(o.Outlines) == 0 {
			continue
		}
		inside := folder
		if o.place() == nil { // a feed is no folder: its end is missing
			inside = append(folder[:len(folder):len(folder)], o.title())
		}
		walk(o.Outlines, inside, visit)
	}
}

// New makes a list of feeds. Folders stand where the first feed of each does.
func New(title string, feeds []Feed) *List {
	l := &List{Title: title}
	for _, f := range feeds {
		into := &l.Outlines
		for _, name := range f.Folder[:min(len(f.Folder), maxDepth-1)] {
			into = folderIn(into, name)
		}
		o := Outline{Attrs: []Attr{{"type", "rss"}, {"text", f.Title}, {"title", f.Title}, {"xmlUrl", f.URL}}}
		if f.Site != "" {
			o.Attrs = append(o.Attrs, Attr{"htmlUrl", f.Site})
		}
		*into = append(*into, o)
	}
	return l
}

// folderIn finds or makes a folder.
func folderIn(outlines *[]Outline, name string) *[]Outline {
	for i := range *outlines {
		if o := &(*outlines)[i]; o.place() == nil && o.title() == name {
			return &o.Outlines
		}
	}
	*outlines = append(*outlines, Outline{Attrs: []Attr{{"text", name}, {"title", name}}})
	return &(*outlines)[len(*outlines)-1].Outlines
}
