package feed

import "slices"

// nsHistory is the namespace of RFC 5005.
const nsHistory = "http://purl.org/syndication/history/1.0"

// Paging is a document's place in the history of its feed (RFC 5005 §4). What the
// source says of its own history is left out where this is written: it speaks of
// other documents.
type Paging struct {
	Archive bool   // one of the history's documents, whose entries stay as they are
	Prev    string // the archive document before it, or ""
	Next    string // the one after it, or ""
	Current string // the document to subscribe to, in an archive document
}

// pagingRels are the relations of links between the documents of one feed.
var pagingRels = []string{"prev-archive", "next-archive", "current", "first", "last", "next", "previous", "prev"}

// replaces reports whether what the options say stands in the place of a part.
func (p *Paging) replaces(of part) bool {
	return p != nil && (of.space == nsHistory || slices.Contains(pagingRels, of.rel))
}

// write writes the links, and of an archive document that it is one.
func (p *Paging) write(w *xmlWriter, media string) {
	if p == nil {
		return
	}
	if p.Archive {
		w.element(nsHistory, "archive", "")
	}
	for _, link := range [][2]string{{"prev-archive", p.Prev}, {"next-archive", p.Next}, {"current", p.Current}} {
		if link[1] != "" {
			w.element(nsAtom, "link", "", "rel", link[0], "type", media, "href", link[1])
		}
	}
}

// older is where the items before those of a document are, which is all that JSON
// Feed can say of a history.
func (p *Paging) older() string {
	if p == nil {
		return ""
	}
	return p.Prev
}
