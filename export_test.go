package feedtree

import (
	"context"
	"net/netip"
	"time"

	"github.com/feedtree/feedtree/feed/store"
	"github.com/feedtree/feedtree/multicast"
	"github.com/feedtree/feedtree/overlay"
	"github.com/feedtree/feedtree/signing"
)

// Judge, Notice and Deliver let tests be the tree.
func (n *Node) Deliver(env *signing.Envelope, via multicast.Via) {
	n.intake.deliver(multicast.Delivery{Via: via, Cursor: env.Seq}, env)
}

// DeliverWith delivers an event of a line that is whole up to the cursor.
func (n *Node) DeliverWith(env *signing.Envelope, cursor uint64) {
	n.intake.deliver(multicast.Delivery{Via: multicast.ViaTree, Cursor: cursor}, env)
}
func (n *Node) Judge(env *signing.Envelope) (multicast.Verdict, string) { return n.judge(env) }
func (n *Node) Notice(what multicast.Notice)                            { n.notice(what) }

// Store is where the node keeps what it knows.
func (n *Node) Store() store.Store { return n.config.Store }

// InTree reports whether the node serves the group of a feed in any way.
func (n *Node) InTree(url string) bool {
	_, ok := n.carrier.Group(multicast.GroupOf(url))
	return ok
}

// Stop keeps the desk from doing anything until resume is called.
func (n *Node) Stop() (resume func()) {
	stopped, on := make(chan struct{}), make(chan struct{})
	n.desk.post(func(*desk) { close(stopped); <-on })
	<-stopped
	return func() { close(on) }
}

// Waiting is how many posts wait for the desk.
func (n *Node) Waiting() int { return n.desk.box.waiting() }

// Subscriptions is how many a feed has here.
func (n *Node) Subscriptions(url string) (count int) {
	_ = n.desk.ask(context.Background(), func(d *desk) {
		if ch := d.channels[url]; ch != nil {
			count = len(ch.subs)
		}
	})
	return count
}

// Awaited is how many stamps receipts are waited for.
func (n *Node) Awaited() (count int) {
	_ = n.desk.ask(context.Background(), func(d *desk) { count = len(d.waits) })
	return count
}

// NetworkName names the network of an address.
func NetworkName(at netip.Addr) string { return networkOf(at) }

// ForgetLeft does what is done once a day.
func (n *Node) ForgetLeft(now time.Time) { n.forgetLeft(context.Background(), now) }

// Say hands an envelope to the tree, as a node would that has its key and no scruples.
func (n *Node) Say(ctx context.Context, env *signing.Envelope) error {
	return n.carrier.Publish(ctx, env.Wire(), 0)
}

// VisitBy has volunteers visited by a test.
func (n *Node) VisitBy(visit func(context.Context, overlay.ID) (netip.Addr, bool)) {
	n.places.mu.Lock()
	defer n.places.mu.Unlock()
	n.places.visit = visit
}
