package gossip

import (
	"context"
	"encoding/binary"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
	ma "github.com/multiformats/go-multiaddr"

	"github.com/feedtree/feedtree/multicast"
	"github.com/feedtree/feedtree/overlay"
)

const (
	meetAt   = 3 // nodes near the group's key through which members meet
	enough   = 6 // members known that make a mesh
	maxNamed = 16
	maxAddrs = 4

	answerMost = 32 << 10 // bytes of an answer that names members

	maxSearches = 4 // at once
	searchFirst = time.Second
	searchLast  = 5 * time.Minute
	dialWithin  = 10 * time.Second
)

// finder is what keeps members of groups able to meet.
type finder struct {
	mu     sync.Mutex
	active int
	meets  map[multicast.Group][]overlay.ID // where each group meets
	kept   map[overlay.ID]int               // for how many groups

	recalling map[peer.ID]bool // peers that are asked whether they left
}

// search looks for members of a group for as long as this node is one: soon again
// while too few are known, and now and then in any case, since the nodes near the
// key change.
func (c *Carrier) search(g *group) {
	pause := searchFirst
	for {
		if c.finder.begin() {
			c.seek(g)
			c.finder.end()
		}
		wait := pause + rand.N(pause/4)
		if c.known(g) >= enough {
			wait = searchLast
		}
		pause = min(2*pause, searchLast)
		select {
		case <-g.ctx.Done():
			return
		case <-time.After(wait):
		}
	}
}

func (f *finder) begin() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.active >= maxSearches {
		return false // another time
	}
	f.active++
	return true
}

func (f *finder) end() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.active--
}

func (c *Carrier) known(g *group) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(g.audience)
}

// seek looks up where the group meets, stays connected to these nodes, asks them
// who is there, and connects to whom they name.
func (c *Carrier) seek(g *group) {
	ctx, cancel := context.WithTimeout(g.ctx, 3*dialWithin)
	defer cancel()
	near, err := c.net.Lookup(ctx, g.id[:])
	if err != nil || len(near) == 0 {
		return // alone so far
	}
	near = near[:min(len(near), meetAt)]
	c.finder.meet(c.net, g.id, near)
	if g.ctx.Err() != nil { // left meanwhile
		c.finder.release(c.net, g.id)
		return
	}
	for _, id := range near {
		answer, err := c.ask(ctx, peer.ID(id), question(askMembers, heldKey{group: g.id}), answerMost)
		if err != nil {
			continue
		}
		for _, info := range named(answer) {
			if c.known(g) >= enough {
				return
			}
			c.approach(ctx, info)
		}
	}
}

// approach connects to a node that another one named. Pubsub does the rest.
func (c *Carrier) approach(ctx context.Context, info peer.AddrInfo) {
	h := c.net.Host()
	if info.ID == h.ID() || c.connected(info.ID) {
		return
	}
	addrs := make([][]byte, len(info.Addrs))
	for i, a := range info.Addrs {
		addrs[i] = a.Bytes()
	}
	c.net.Learn(overlay.ID(info.ID), addrs) // which refuses what is no address to dial
	ctx, cancel := context.WithTimeout(ctx, dialWithin)
	defer cancel()
	if err := h.Connect(ctx, peer.AddrInfo{ID: info.ID}); err != nil {
		c.config.Log.Debug("a member of a group cannot be reached", "peer", info.ID, "error", err)
	}
}

// meet notes where a group meets, and keeps those connections instead of the
// former ones.
func (f *finder) meet(net Overlay, g multicast.Group, near []overlay.ID) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.kept == nil {
		f.kept, f.meets = make(map[overlay.ID]int), make(map[multicast.Group][]overlay.ID)
	}
	before := f.meets[g]
	f.meets[g] = near
	for _, id := range near {
		if f.kept[id]++; f.kept[id] == 1 {
			net.Keep(id, true)
		}
	}
	f.drop(net, before)
}

// release lets go of where a group met.
func (f *finder) release(net Overlay, g multicast.Group) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.drop(net, f.meets[g])
	delete(f.meets, g)
}

func (f *finder) drop(net Overlay, ids []overlay.ID) {
	for _, id := range ids {
		if f.kept[id]--; f.kept[id] == 0 {
			delete(f.kept, id)
			net.Keep(id, false)
		}
	}
}

// members names this node, if it is in a group, and peers that pubsub knows to be, for
// somebody who asks: for each the length and bytes of its ID, the number of its addresses,
// and the length and bytes of each. Whoever asks this node needs no address of it.
func (c *Carrier) members(g multicast.Group, asker peer.ID) []byte {
	var b []byte
	count := 0
	if c.in(g) {
		b = append(appendBytes(b, []byte(c.net.Self())), 0)
		count++
	}
	peers := c.pubsub.ListPeers(c.topicOf(g))
	rand.Shuffle(len(peers), func(i, j int) { peers[i], peers[j] = peers[j], peers[i] })
	for _, p := range peers {
		addrs := c.net.AddrsOf(overlay.ID(p))
		if p == asker || len(addrs) == 0 || count == maxNamed {
			continue
		}
		count++
		b = appendBytes(b, []byte(p))
		addrs = addrs[:min(len(addrs), maxAddrs)]
		b = append(b, byte(len(addrs)))
		for _, a := range addrs {
			b = appendBytes(b, a)
		}
	}
	return b
}

func (c *Carrier) in(id multicast.Group) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	g := c.groups[id]
	return g != nil && g.member
}

func appendBytes(b, what []byte) []byte {
	return append(binary.BigEndian.AppendUint16(b, uint16(len(what))), what...)
}

// named reads what members wrote; at the first fault it stops.
func named(b []byte) (all []peer.AddrInfo) {
	next := func() []byte {
		if len(b) < 2 || int(binary.BigEndian.Uint16(b)) > len(b)-2 {
			b = nil
			return nil
		}
		n := int(binary.BigEndian.Uint16(b))
		what := b[2 : 2+n]
		b = b[2+n:]
		return what
	}
	for len(b) > 0 && len(all) < maxNamed {
		id, err := peer.IDFromBytes(next())
		if err != nil || len(b) == 0 || b[0] > maxAddrs {
			return all
		}
		info, count := peer.AddrInfo{ID: id}, b[0]
		b = b[1:]
		for range count {
			addr, err := ma.NewMultiaddrBytes(next())
			if err != nil {
				return all
			}
			info.Addrs = append(info.Addrs, addr)
		}
		all = append(all, info)
	}
	return all
}
