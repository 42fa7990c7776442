package gossip

import (
	"strings"
	"time"

	pubsub "github.com/libp2p/go-libp2p-pubsub"
	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/feedtree/feedtree/multicast"
	"github.com/feedtree/feedtree/signing"
)

const (
	meshFrom        = 1100 * time.Millisecond // pubsub's heartbeat, at which all have met, is a second
	meshWithin      = 3 * time.Second         // pubsub's heartbeats that make a mesh
	maxWaiting      = 64                      // events published that wait for somebody to come
	maxWaitingBytes = 4 << 20
)

// watch follows who is in a group.
func (c *Carrier) watch(g *group) {
	for {
		e, err := g.events.NextPeerEvent(g.ctx)
		if err != nil {
			return
		}
		c.mu.Lock()
		if e.Type == pubsub.PeerJoin {
			g.audience[e.Peer] = true
		} else {
			delete(g.audience, e.Peer)
			delete(g.mesh, e.Peer) // pubsub does not say so
			c.life.goes(func() { c.recall(g, e.Peer) })
		}
		c.mu.Unlock()
		c.settle(g)
	}
}

// grafted notes whom pubsub forwards to. Pubsub's own goroutine calls it.
func (c *Carrier) grafted(topic string, p peer.ID, on bool) {
	id, err := multicast.ParseGroup(strings.TrimPrefix(topic, c.topicPrefix()))
	if err != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	g := c.groups[id]
	if g == nil {
		return // being left
	}
	if on {
		g.mesh[p] = true
	} else {
		delete(g.mesh, p)
	}
	if !g.attached || len(g.mesh) == 0 {
		c.life.goes(func() { c.settle(g) })
	}
}

// streamed notes to whom pubsub has a stream. Pubsub's own goroutine calls it.
func (c *Carrier) streamed(p peer.ID, on bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !on {
		delete(c.streams, p)
		return
	}
	c.streams[p] = true
	for _, g := range c.groups {
		if len(g.waiting) > 0 && g.audience[p] {
			c.life.goes(func() { c.settle(g) })
		}
	}
}

// settle publishes what waited for somebody, and tells whether the group is
// connected.
func (c *Carrier) settle(g *group) {
	g.settling.Lock()
	defer g.settling.Unlock()
	c.mu.Lock()
	switch {
	case len(g.mesh) == 0:
		g.since = time.Time{}
	case g.since.IsZero():
		g.since = time.Now()
		c.life.goes(func() { c.settleAfter(g, meshWithin) })
	}
	ready, member := c.ready(g, time.Now()), g.member
	changed := member && ready != g.attached
	if member {
		g.attached = ready
	}
	var due []*signing.Envelope
	if ready {
		due, g.waiting, g.bytes = g.waiting, nil, 0
	}
	c.mu.Unlock()
	for _, env := range due {
		if err := c.send(g.ctx, g, env); err != nil {
			return // left, or the end
		}
	}
	if changed {
		kind := multicast.Detached
		if ready {
			kind = multicast.Attached
		}
		c.put(g.ctx, arrival{notice: multicast.Notice{Kind: kind, Group: g.id}})
	}
}

func (c *Carrier) settleAfter(g *group, d time.Duration) {
	select {
	case <-time.After(d):
		c.settle(g)
	case <-g.ctx.Done():
	}
}

// ready reports whether what is published reaches those who are there. Who is in a
// topic sends to its mesh alone, which is empty or partial for a second or two after
// a join; whoever enters it later is never told of what came before. So the first
// events wait until the mesh is as large as it gets, but not for long. The mutex is
// held.
func (c *Carrier) ready(g *group, now time.Time) bool {
	switch {
	case !g.member:
		for p := range g.audience {
			if c.streams[p] {
				return true
			}
		}
		return false
	case now.Sub(g.joined) < meshFrom:
		return false
	case g.attached || !g.since.IsZero() && now.Sub(g.since) >= meshWithin:
		return len(g.mesh) > 0
	}
	return len(g.mesh) > 0 && len(g.mesh) >= min(len(g.audience), pubsub.GossipSubDlo)
}

// wait queues an event until somebody comes. The mutex is held.
func (c *Carrier) wait(g *group, env *signing.Envelope) {
	for _, w := range g.waiting {
		if w.Sum == env.Sum && w.Seq == env.Seq && w.Kind == env.Kind && w.Time.Equal(env.Time) {
			return // the same again
		}
	}
	g.waiting = append(g.waiting, env)
	g.bytes += len(env.Wire())
	for len(g.waiting) > maxWaiting || g.bytes > maxWaitingBytes {
		g.bytes -= len(g.waiting[0].Wire())
		g.waiting = g.waiting[1:]
		c.counts.refuse(whyWaiting)
	}
}
