package kad

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/libp2p/go-libp2p/core/network"
)

// A process that is killed closes its TCP connections; its QUIC ones just fall
// silent, and libp2p takes half a minute to notice. What a live peer never does
// is leave a QUIC packet unacknowledged. So nothing needs to be sent to a
// healthy neighbour: one that acknowledged nothing for a while after something was
// written to it gets a ping.
const (
	silenceQUIC = 2 * time.Second
	silenceTCP  = 10 * time.Second // where only frames tell that it lives
)

// pulse is what is known of a neighbour's being alive.
type pulse struct {
	heard atomic.Uint64 // frames received

	mu      sync.Mutex
	waiting bool      // something was written, and nothing has come since
	signs   uint64    // of life there were at the write
	since   time.Time // that write
}

// count counts the signs of life: what only a live neighbour can
// cause. Packets where the transport tells, else frames.
func (p *pulse) count(conn network.Conn) (signs uint64, limit time.Duration) {
	if q := quicOf(conn); q != nil {
		return q.ConnectionStats().PacketsReceived, silenceQUIC
	}
	return p.heard.Load(), silenceTCP
}

// wrote starts the wait for a sign, unless it is on already.
func (p *pulse) wrote(conn network.Conn) {
	signs, _ := p.count(conn)
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.waiting || signs != p.signs {
		p.waiting, p.signs, p.since = true, signs, time.Now()
	}
}

// excuse lets the wait begin now, if it is on.
func (p *pulse) excuse(now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.since = now
}

// left is how much longer the neighbour may take to show that it lives, if anything is
// waited for. Once that is nothing it counts as silent, and the wait starts anew.
func (p *pulse) left(conn network.Conn, now time.Time) (left time.Duration, waiting bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.waiting {
		return 0, false
	}
	signs, limit := p.count(conn)
	if signs != p.signs {
		p.waiting = false
		return 0, false
	}
	if left = limit - now.Sub(p.since); left <= 0 {
		p.since = now
	}
	return left, true
}

// waits reports whether a sign is waited for.
func (p *pulse) waits() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.waiting
}

// look goes over the links and returns when the next of them may have been silent for
// too long, within tendEvery. Where it is this node that is late, the signs of life may
// still be unread.
func (n *Node) look(now time.Time, late bool) (again time.Time) {
	again = now.Add(tendEvery)
	waiting, idle := n.links.survey(now, n.set.Idle)
	for _, w := range waiting {
		if late {
			w.link.pulse.excuse(now)
			continue
		}
		switch left, waits := w.link.pulse.left(w.conn, now); {
		case !waits:
		case left <= 0:
			n.doubt(w.link.peer, 0)
		case again.After(now.Add(left)):
			again = now.Add(left)
		}
	}
	for _, s := range idle {
		n.count.inc(linksIdle)
		endStream(s)
	}
	for _, s := range n.links.stalled(now, late) {
		_ = s.Reset() // who reads or writes it loses the link
	}
	return again
}

// written is a link that was written to, and its connection.
type written struct {
	link *link
	conn network.Conn
}

// survey goes over all links once, as a quiet node does little else. It lists those whose
// neighbour has yet to show that it lives, ends the writers that have rested for long, and
// takes the outbound streams of links that nobody keeps and that nothing was written to for
// a while.
func (ls *links) survey(now time.Time, while time.Duration) (waiting []written, idle []network.Stream) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	for _, l := range ls.byPeer {
		if l.out == nil {
			continue
		}
		if l.pulse.waits() {
			waiting = append(waiting, written{l, l.out.Conn()})
		}
		l.tire(now)
		if l.wake == nil && !ls.kept[l.peer] && now.Sub(l.used) >= while {
			idle = append(idle, l.out)
			l.out = nil
			ls.tidy(l)
		}
	}
	return waiting, idle
}
