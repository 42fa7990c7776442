package feedtree

import (
	"github.com/feedtree/feedtree/feed/store"
	"github.com/feedtree/feedtree/multicast"
	"github.com/feedtree/feedtree/multicast/live"
	"github.com/feedtree/feedtree/multicast/tree"
	"github.com/feedtree/feedtree/signing"
)

// Judge, Notice and Deliver let tests be the tree.
func (n *Node) Deliver(env *signing.Envelope, via multicast.Via) {
	n.intake.deliver(multicast.Delivery{Via: via, Cursor: env.Seq}, env)
}
func (n *Node) Judge(env *signing.Envelope) (live.Verdict, string) { return n.judge(env) }
func (n *Node) Notice(what tree.Notice)                            { n.notice(what) }

// Store is where the node keeps what it knows.
func (n *Node) Store() store.Store { return n.config.Store }

// InTree reports whether the node serves the group of a feed in any way.
func (n *Node) InTree(url string) bool {
	_, ok := n.loop.Group(multicast.GroupOf(url))
	return ok
}
