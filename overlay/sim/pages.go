package sim

import (
	"iter"
	"slices"
)

// pages are the ends of a node that very many connect to, such as the root of a tree: by peer
// as in one list, but in pages. Of a million nodes who joined came to have hundreds of
// thousands in one list, of which each new one moved half: that took a tenth of all time.
//
// No page is empty, and a page holds those from its first peer on up to the next page's.
type pages [][]link

// of is the page in which a peer is, or is to be.
func (ps pages) of(peer int32) int {
	at, found := slices.BinarySearchFunc(ps, peer, func(p []link, peer int32) int { return int(p[0].peer) - int(peer) })
	if found {
		return at
	}
	return max(at-1, 0)
}

// makePages sees to it that there is room for one more in the list that a peer is to be in.
func (nd *node[M]) makePages(peer int32) {
	switch {
	case nd.pages == nil && len(nd.links) < linksMost:
	case nd.pages == nil:
		for part := range slices.Chunk(nd.links, pageMost/2) {
			nd.pages = append(nd.pages, slices.Grow(slices.Clone(part), pageMost-len(part)))
		}
		nd.links = nil
	default:
		at := nd.pages.of(peer)
		if p := nd.pages[at]; len(p) == pageMost {
			upper := append(make([]link, 0, pageMost), p[pageMost/2:]...)
			nd.pages = slices.Insert(nd.pages, at+1, upper)
			nd.pages[at] = p[:pageMost/2]
		}
	}
}

// dropPage takes a page away in which nothing is left.
func (nd *node[M]) dropPage() {
	if at := slices.IndexFunc(nd.pages, func(p []link) bool { return len(p) == 0 }); at >= 0 {
		nd.pages = slices.Delete(nd.pages, at, at+1)
	}
	if len(nd.pages) == 0 {
		nd.pages = nil // one list again
	}
}

// ends goes over all of them, by peer.
func (nd *node[M]) ends() iter.Seq[link] {
	return func(yield func(link) bool) {
		for _, list := range append(pages{nd.links}, nd.pages...) {
			for _, l := range list {
				if !yield(l) {
					return
				}
			}
		}
	}
}
