package gossip

import (
	"context"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
)

// Two peers have a stream of pubsub in each direction. When the one that this node opened
// ends, pubsub (v0.17) forgets what the peer is in, though another connection may stand:
// nodes that dialled each other at once have two for a moment. The peer, whose own stream
// goes on, does not say it again, and from then on nothing is published to it. So who left
// and stays connected is asked whether it did, and if it did not, the two begin anew.
//
// A connection that is made anew loses what is under way, so a member that left and came
// back must not be taken for one that was forgotten.
const (
	recallAfter = 3 * time.Second // by then a stream that took the place of another has told
	maxRecalls  = 64              // at once, over all groups
)

// recall finds out whether a peer left a group, or was forgotten.
func (c *Carrier) recall(g *group, p peer.ID) {
	if !c.connected(p) {
		return
	}
	switch first, full := c.finder.recalls(p); {
	case full:
		c.counts.refuse(whyRecalls)
		return
	case !first:
		return
	}
	defer c.finder.recalled(p)
	if !c.misses(g, p, recallAfter+rand.N(recallAfter)) { // everybody who knew it may ask
		return
	}
	if !c.isMember(g.ctx, g, p) || !c.misses(g, p, recallAfter) { // it may have come back while it was asked
		return
	}
	c.counts.add(renewed)
	_ = c.net.Host().Network().ClosePeer(p) // one that is closed already is as well
	c.approach(g.ctx, peer.AddrInfo{ID: p})
}

// misses reports whether after a while a connected peer is not in a group, as pubsub says.
func (c *Carrier) misses(g *group, p peer.ID, while time.Duration) bool {
	select {
	case <-time.After(while):
	case <-g.ctx.Done():
		return false
	}
	c.mu.Lock()
	here := g.audience[p]
	c.mu.Unlock()
	return !here && c.connected(p)
}

func (c *Carrier) connected(p peer.ID) bool {
	return c.net.Host().Network().Connectedness(p) == network.Connected
}

// isMember asks a peer whether it is in a group. One that does not answer is not.
func (c *Carrier) isMember(ctx context.Context, g *group, p peer.ID) bool {
	answer, err := c.ask(ctx, p, question(askMembers, heldKey{group: g.id}), answerMost)
	return err == nil && slices.ContainsFunc(named(answer), func(i peer.AddrInfo) bool { return i.ID == p })
}

// recalls begins to ask a peer, unless it is asked already, or as many are as may be at once.
func (f *finder) recalls(p peer.ID) (first, full bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.recalling[p] {
		return false, false
	}
	if len(f.recalling) >= maxRecalls {
		return false, true
	}
	if f.recalling == nil {
		f.recalling = make(map[peer.ID]bool)
	}
	f.recalling[p] = true
	return true, false
}

func (f *finder) recalled(p peer.ID) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.recalling, p)
}
