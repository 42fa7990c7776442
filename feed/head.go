package feed

import (
	"strings"
)

// head is what a parsed document said outside its items, kept so that rendering
// in the same format loses nothing. Never changed once made.
type head struct {
	dialect dialect
	root    []attr // of the root element, in order
	name    string // of the root element, as written
	channel []attr // of <channel>
	base    string // xml:base and xml:lang in effect for items
	lang    string
	parts   []part   // children of the channel, without the items
	members []member // JSON: all members but the items

	// As parsed, to see whether the caller changed them.
	tree *Tree
	poll *Poll
}

// part is one element at channel level.
type part struct {
	space, local string
	rel          string // of a link
	raw          *raw
}

func (p part) is(space, local string) bool {
	return p.space == space && strings.EqualFold(p.local, local)
}

// newPart makes a part and notes what it says of hubs, self and ft: metadata:
// what gofeed drops, looked up by namespace and not by prefix.
func newPart(e *element, r *raw, f *Feed) part {
	p := part{space: e.space, local: e.local, raw: r}
	switch {
	case e.space == nsAtom && e.local == "link", e.space == nsAtom03 && e.local == "link",
		r.dialect == atom1 && e.space == r.native && e.is("link"):
		p.rel = strings.ToLower(trimSpace(e.attr("rel")))
		href := resolve(r.base, trimSpace(e.attr("href")))
		switch p.rel {
		case "hub":
			f.Hubs = appendNew(f.Hubs, href)
		case "self":
			if f.Self == "" {
				f.Self = href
			}
		}
	case e.space == Namespace && e.local == "tree" && f.Tree == nil:
		var poll *Poll
		if f.Tree, poll = treeOf(r, e); poll != nil {
			f.Poll = poll
		}
	case e.space == Namespace && e.local == "poll":
		f.Poll = pollOf(e)
	}
	return p
}

const maxHubs = 16

func appendNew(list []string, s string) []string {
	if s == "" || len(list) >= maxHubs {
		return list
	}
	for _, have := range list {
		if have == s {
			return list
		}
	}
	return append(list, s)
}

// sealHead remembers the metadata as parsed.
func (f *Feed) sealHead(h *head) {
	h.tree, h.poll = f.Tree, f.Poll
	f.source = h
}
