package feedtree

import (
	"github.com/feedtree/feedtree/multicast"
	"github.com/feedtree/feedtree/overlay"
	"github.com/feedtree/feedtree/signing"
)

// DeliverBy delivers an event as a neighbour brought it.
func (n *Node) DeliverBy(env *signing.Envelope, via multicast.Via, from overlay.ID, asked int) {
	n.intake.deliver(multicast.Delivery{Via: via, From: from, Asked: asked, Cursor: env.Seq}, env)
}
