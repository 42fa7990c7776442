package feed

import "strings"

// also writes what only JSON Feed has a place for, in the words that XML feeds use
// for it.
func (w *xmlWriter) also(it Item) {
	if it.source != nil && it.source.dialect != jsonFeed {
		return // it stands among the extensions, which are copied
	}
	if it.Also.External != "" {
		w.element(nsAtom, "link", "", "rel", "related", "href", it.Also.External)
	}
	if it.Also.Image != "" {
		w.element(nsMedia, "thumbnail", "", "url", it.Also.Image)
	}
}

// foreignOf copies from an item of another format what its fields do not hold.
func (w *xmlWriter) foreignOf(it Item) {
	r := it.source
	if r == nil || r.dialect == jsonFeed {
		return
	}
	kids, raws := r.children()
	for i, k := range kids {
		if !w.written(k, raws[i]) {
			w.splice(raws[i])
		}
	}
}

// foreign copies the extensions of a channel of another format.
func (w *xmlWriter) foreign(h *head) {
	if h == nil {
		return
	}
	for _, p := range h.parts {
		switch {
		case p.space == p.raw.native, p.space == Namespace, p.space == nsAtom, p.space == nsAtom03,
			p.space == nsDC, p.space == nsSy, p.space == nsRDF, p.space == nsRSS10, p.space == "":
			continue
		}
		w.splice(p.raw)
	}
}

// written reports that an element of an item has been written from the fields, or
// cannot stand in the other format.
func (w *xmlWriter) written(k *element, r *raw) bool {
	local := strings.ToLower(k.local)
	switch k.space {
	case nsAtom:
		switch local {
		case "link":
			l := linkOf("", k)
			return l.rel == "alternate" || l.rel == "enclosure" || l.rel == "replies" && isPage(l.media)
		case "contributor", "rights":
			return false
		case "source":
			return r.dialect != atom1
		}
		return true
	case nsDC:
		return local == "creator" || local == "date" || local == "subject"
	case nsContent:
		return local == "encoded"
	case nsDCTerms:
		return local == "issued" || local == "created" || local == "modified"
	case Namespace:
		return local == "trust"
	}
	// The feed's own vocabulary, and stray elements that would be taken for it.
	return k.space == r.native || k.space == "" || k.space == nsAtom03 || k.space == nsRSS10 || k.space == nsRDF
}
