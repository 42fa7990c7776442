package tree

import (
	"slices"

	"github.com/feedtree/feedtree/overlay"
)

// A member has the same dozen lazy links for hours, and what they know of its own region
// may be nothing at all: where one node in thirty lives, two members in three have no link
// that leads there, and whoever came to hang below somebody far away would stay. So who is
// asked how it stands names, beside its children, that lazy link of its own which is nearest
// to the asker, and a search after one that found nothing begins there: a walk through all
// members towards one's own region, a step a search, that costs no message.

// nameStranger adds a lazy link of this node to an offer, with no standing: the one that is
// nearest to who asks, as far as keep-alives and searches told where they are.
func (n *Node) nameStranger(g *group, to overlay.ID, at Coord, o *Message) {
	l := g.links.lazy
	if len(l) == 0 {
		return
	}
	var best overlay.ID
	least, first := never, n.rng.IntN(len(l))
	for i := range l {
		id := l[(first+i)%len(l)]
		way := vivaldiMost // of those that it does not know the first
		if p := n.pairs.find(id); at.Known() && p.at.Known() {
			way = p.at.RTT(at)
		}
		if id != to && way < least {
			best, least = id, way
		}
	}
	if best != "" {
		o.Peers, o.Posts = append(o.Peers, best), append(o.Posts, Standing{})
	}
}

// hearOf remembers a stranger for the next search: of several any.
func (n *Node) hearOf(g *group, id overlay.ID) {
	if t := &g.tune; t.stranger == "" || n.rng.IntN(2) == 0 {
		t.stranger = id
	}
}

// instead replaces a lazy link by the stranger, if the last search found nothing.
func (t *tune) instead(scouts []overlay.ID) []overlay.ID {
	id := t.stranger
	t.stranger = ""
	switch {
	case id == "" || t.slow == 0 || slices.Contains(scouts, id):
	case len(scouts) < scoutLinks:
		scouts = append(scouts, id)
	default:
		scouts[0] = id
	}
	return scouts
}
