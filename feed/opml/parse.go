package opml

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"golang.org/x/net/html"

	"github.com/feedtree/feedtree/feed"
)

const (
	// MaxBytes is how long a list may be. One of 10,000 feeds has 3 MiB.
	MaxBytes = 16 << 20

	maxOutlines = 50_000
	maxDepth    = 32
	maxAttrs    = 64  // of one outline
	maxHead     = 64  // elements of the head
	maxDefects  = 16  // said
	maxName     = 256 // of an attribute
)

// Read reads a list, of which it takes at most MaxBytes.
func Read(r io.Reader) (*List, error) {
	doc, err := io.ReadAll(io.LimitReader(r, MaxBytes+1))
	if err != nil {
		return nil, err
	}
	return Parse(doc)
}

// Parse reads a list as leniently as readers do. What is no list at all is an
// *[Error].
func Parse(doc []byte) (*List, error) {
	if len(doc) > MaxBytes {
		return nil, &Error{Reason: TooLarge}
	}
	text, repaired := feed.Decode(doc, "")
	if strings.TrimSpace(text) == "" {
		return nil, &Error{Reason: Empty}
	}
	p := &parser{z: html.NewTokenizer(strings.NewReader(mend(text))), list: &List{Defects: repaired}}
	p.z.AllowCDATA(true)
	for p.err == nil && p.next() {
	}
	if p.err != nil {
		return nil, p.err
	}
	if err := p.verdict(text); err != nil {
		return nil, err
	}
	if !p.ended {
		p.defect("it ends before its end")
	}
	p.closeTo(0)
	p.list.Outlines = p.stack[0].Outlines
	return p.list, nil
}

// parser makes a list of tokens. The stack holds the outlines that are open, below
// them the body.
type parser struct {
	z        *html.Tokenizer
	list     *List
	root     string // the first element
	ended    bool   // the end of the list was seen
	stack    []Outline
	outlines int
	within   string // an element of the head
	inHead   bool
	inside   strings.Builder // its text
	err      *Error
}

// next takes a token, and reports whether there may be more.
func (p *parser) next() bool {
	if p.stack == nil {
		p.stack = []Outline{{}}
	}
	switch kind := p.z.Next(); kind {
	case html.ErrorToken:
		return false
	case html.StartTagToken, html.SelfClosingTagToken:
		raw := string(p.z.Raw()) // a copy: TagAttr writes over it
		p.z.NextIsNotRawText()
		name, more := p.z.TagName()
		p.start(string(name), p.attrs(raw, more), kind == html.SelfClosingTagToken)
	case html.EndTagToken:
		name, _ := p.z.TagName()
		p.end(string(name))
	case html.TextToken:
		if p.within != "" {
			p.inside.Write(p.z.Text())
		}
	}
	return true
}

func (p *parser) start(name string, attrs []Attr, closed bool) {
	if p.root == "" {
		p.root = name
	}
	switch name {
	case "opml":
		for i := range attrs {
			if strings.EqualFold(attrs[i].Name, "version") {
				attrs[i].Name = "version" // or it would be written beside this one
			}
		}
		p.list.Attrs = attrs
	case "head":
		p.inHead = !closed
	case "body":
		p.inHead = false
	case "outline":
		p.inHead = false
		p.open(Outline{Attrs: attrs}, closed)
	default:
		if p.inHead && !closed {
			p.within = name
			p.inside.Reset()
		}
	}
}

// open puts an outline into the one that is open.
func (p *parser) open(o Outline, closed bool) {
	if p.outlines++; p.outlines > maxOutlines {
		p.err = &Error{Reason: TooLarge}
		return
	}
	if closed || len(p.stack) > maxDepth {
		top := &p.stack[len(p.stack)-1]
		top.Outlines = append(top.Outlines, o)
		if !closed {
			p.defect("outlines nest too deeply")
		}
		return
	}
	p.stack = append(p.stack, o)
}

func (p *parser) end(name string) {
	switch {
	case name == "outline" && len(p.stack) > 1:
		p.closeOne(false)
	case name == "outline":
		p.defect("more outlines end than begin")
	case name == "head":
		p.inHead, p.within = false, ""
	case name == "body" || name == "opml":
		p.closeTo(0)
		p.ended = true
	case name == p.within:
		p.head(name, strings.TrimSpace(legal(p.inside.String())))
		p.within = ""
	}
}

// head takes in an element of the head.
func (p *parser) head(name, text string) {
	switch {
	case name == "title":
		p.list.Title = text
	case text != "" && len(p.list.Head) < maxHead && isName(name):
		p.list.Head = append(p.list.Head, Attr{properly(name), text})
	}
}

// closeTo closes the outlines above a depth, whose ends are missing.
func (p *parser) closeTo(depth int) {
	for len(p.stack) > depth+1 {
		p.defect("outlines that do not end")
		p.closeOne(true)
	}
}

// closeOne closes the innermost outline. Where the end of a feed's outline is
// missing, what followed it was not meant to be in it.
func (p *parser) closeOne(missing bool) {
	n := len(p.stack) - 1
	o := p.stack[n]
	p.stack = p.stack[:n]
	into := &p.stack[n-1]
	if missing && o.place() != nil {
		inner := o.Outlines
		o.Outlines = nil
		into.Outlines = append(append(into.Outlines, o), inner...)
		return
	}
	into.Outlines = append(into.Outlines, o)
}

// attrs reads the attributes of a tag with the names as they are spelled in raw.
func (p *parser) attrs(raw string, more bool) []Attr {
	var list []Attr
	spelling := names{raw: raw}
	for n := 0; more && n < tagAttrs; n++ {
		var key, value []byte
		key, value, more = p.z.TagAttr()
		name := spelling.next(string(key))
		taken := slices.ContainsFunc(list, func(a Attr) bool { return a.Name == name })
		switch {
		case name == "":
		case taken || len(list) == maxAttrs || !isName(name):
			p.defect("attributes that are none, or twice the same")
		default:
			list = append(list, Attr{name, legal(string(value))})
		}
	}
	return list
}

// verdict says what a document without a list in it is.
func (p *parser) verdict(text string) *Error {
	if p.outlines > 0 || p.root == "opml" {
		return nil
	}
	switch p.root {
	case "html", "head", "body", "title", "meta", "div", "p", "script":
		return &Error{Reason: WebPage}
	case "rss", "feed", "rdf:rdf":
		return &Error{Reason: IsFeed}
	case "":
		return &Error{Reason: NotOPML, Err: fmt.Errorf("it begins with %q", clip(strings.TrimSpace(text)))}
	}
	return &Error{Reason: NotOPML, Err: fmt.Errorf("its first element is %q", clip(p.root))}
}

// defect notes what is wrong, each kind once.
func (p *parser) defect(what string) {
	if len(p.list.Defects) < maxDefects && !slices.Contains(p.list.Defects, what) {
		p.list.Defects = append(p.list.Defects, what)
	}
}
