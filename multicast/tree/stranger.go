package tree

import (
	"slices"

	"github.com/feedtree/feedtree/overlay"
)

// A member has the same dozen lazy links for hours, and what they know of its own region
// may be nothing at all: where one node in thirty lives, two members in three have no link
// that leads there, and whoever came to hang below somebody far away would stay. So who is
// asked how it stands names a lazy link of its own beside its children, and a search after
// one that found nothing begins there: a walk through all members, a step a search, that
// costs no message.

// nameStranger adds one of this node's lazy links to an offer, with no standing.
func (n *Node) nameStranger(g *group, to overlay.ID, o *Message) {
	if l := g.links.lazy; len(l) > 0 {
		if id := l[n.rng.IntN(len(l))]; id != to {
			o.Peers, o.Posts = append(o.Peers, id), append(o.Posts, Standing{})
		}
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
