package kad

import (
	"time"

	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/feedtree/feedtree/overlay"
)

// keepTag protects a neighbour's connection from being trimmed.
const keepTag = "feedtree"

// lose ends a link that broke and reports its peer as gone. Every sign of the
// same loss leads here; the first one counts.
func (n *Node) lose(l *link) {
	in, out, dropped, report := n.links.bury(l)
	if in != nil {
		_ = in.Reset()
	}
	if out != nil {
		_ = out.Reset()
	}
	n.count.add(framesLost, dropped)
	if report != nil {
		n.count.inc(linksLost)
		n.goes(func() { n.report(l.peer, report) })
	}
}

// A grave is what is left of a lost link until it was reported.
type grave struct {
	turn <-chan struct{} // closed when the link's own callbacks are over
	done chan struct{}   // to close when the report is
}

// bury takes a lost link out of the table. Its grave is nil if somebody else was
// first, or if nobody wants to hear of it because the node closes.
func (ls *links) bury(l *link) (in, out network.Stream, dropped int, g *grave) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if l.dead {
		return nil, nil, 0, nil
	}
	l.dead = true
	l.dismiss()
	in, out, dropped = l.in, l.out, len(l.queue)
	ls.bytes -= l.bytes
	l.queue, l.bytes, l.out = nil, 0, nil
	if ls.byPeer[l.peer] == l {
		delete(ls.byPeer, l.peer)
	}
	if ls.closed {
		return in, out, dropped, nil
	}
	g = &grave{turn: l.turn, done: make(chan struct{})}
	ls.turns[l.peer] = g.done
	return in, out, dropped, g
}

// report calls Gone after the last frame of the lost link and before the first of
// the next.
func (n *Node) report(p peer.ID, g *grave) {
	defer n.links.settle(p, g)
	select {
	case <-g.turn:
	case <-n.ctx.Done():
		return
	}
	if n.ctx.Err() == nil {
		n.in.Gone(overlay.ID(p))
	}
}

func (ls *links) settle(p peer.ID, g *grave) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	close(g.done)
	if ls.turns[p] == g.done {
		delete(ls.turns, p)
	}
}

// Keep marks a peer as a neighbour of the tree, or no longer: its connection is
// not trimmed, its link is not closed for being idle, and its disconnecting is
// reported even while nothing is being sent. Keep does not dial.
func (n *Node) Keep(id overlay.ID, on bool) {
	p := peer.ID(id)
	if p == n.host.ID() || !allowed(p) {
		return
	}
	if n.links.keep(p, on) {
		n.host.ConnManager().Protect(p, keepTag)
	} else {
		n.host.ConnManager().Unprotect(p, keepTag)
	}
}

func (ls *links) keep(p peer.ID, on bool) bool {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if on && (len(ls.kept) < maxLinks || ls.kept[p]) {
		ls.kept[p] = true
		return true
	}
	delete(ls.kept, p)
	if l := ls.byPeer[p]; l != nil {
		l.used = time.Now()
		ls.tidy(l)
	}
	return false
}

// disconnected loses a kept link on which nothing happened: its streams, which
// would have told, were closed before.
func (n *Node) disconnected(p peer.ID) {
	if l := n.links.quiet(p); l != nil {
		n.lose(l)
	}
}

func (ls *links) quiet(p peer.ID) *link {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if l := ls.byPeer[p]; l != nil && l.bare() {
		return l
	}
	return nil
}
