package kad

import (
	"errors"
	"sync"
	"time"

	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/feedtree/feedtree/overlay"
)

// Misuse of Send, and what the layer above has to live with.
var (
	ErrQueueFull = errors.New("the neighbour's queue is full: it does not keep up")
	ErrTooLarge  = errors.New("the frame is empty or larger than MaxFrame")
	ErrClosed    = errors.New("the node is closed")
	ErrPeer      = errors.New("no ID of another node")
	ErrLinks     = errors.New("too many neighbours")
)

var over = func() <-chan struct{} { c := make(chan struct{}); close(c); return c }()

// links holds every link by its peer, under one lock that is never held across a
// call to libp2p or to the layer above.
type links struct {
	mu     sync.Mutex
	byPeer map[peer.ID]*link
	turns  map[peer.ID]<-chan struct{} // of links lost whose Gone is still to come
	kept   map[peer.ID]bool
	bytes  int // queued on all links
	closed bool
	began  time.Time
}

func newLinks() *links {
	return &links{
		byPeer: make(map[peer.ID]*link),
		turns:  make(map[peer.ID]<-chan struct{}),
		kept:   make(map[peer.ID]bool),
		began:  time.Now(),
	}
}

// get returns the link to p, a new one if there is none; nil if there are limit
// already.
func (ls *links) get(p peer.ID, limit int) *link {
	if l := ls.byPeer[p]; l != nil {
		return l
	}
	if len(ls.byPeer) >= limit {
		return nil
	}
	l := &link{peer: p, turn: over}
	if turn, ok := ls.turns[p]; ok {
		l.turn = turn
	}
	ls.byPeer[p] = l
	return l
}

// Send queues a frame, in one or more parts, for a peer and returns at once; the node
// dials if it has to. The parts are not copied: they must not change any more, and each
// may be sent to several peers. If the frame cannot be delivered, the peer is reported as
// gone.
func (n *Node) Send(to overlay.ID, parts ...[]byte) error {
	frame := parcel(parts)
	if length := frame.len(); length == 0 || length > MaxFrame {
		return ErrTooLarge
	}
	p := peer.ID(to)
	if p == n.host.ID() || !allowed(p) {
		return ErrPeer
	}
	l, start, err := n.links.push(p, frame)
	switch {
	case errors.Is(err, ErrQueueFull):
		n.count.inc(queueFull)
	case errors.Is(err, ErrLinks):
		n.count.inc(refusedLinks)
	case start != nil:
		n.goes(func() { n.write(l, start) })
	}
	return err
}

// push queues a frame. With start set, the caller must start a writer with it.
func (ls *links) push(p peer.ID, frame parcel) (l *link, start chan struct{}, err error) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if ls.closed {
		return nil, nil, ErrClosed
	}
	if l = ls.get(p, maxLinks); l == nil {
		return nil, nil, ErrLinks
	}
	length := frame.len()
	if len(l.queue) >= queueFrames || l.bytes+length > queueBytes || ls.bytes+length > totalBytes {
		if l.bare() {
			ls.forget(l)
		}
		return nil, nil, ErrQueueFull
	}
	l.queue = append(l.queue, frame)
	l.bytes += length
	ls.bytes += length
	if l.wake == nil {
		start = make(chan struct{}, 1)
		l.wake = start
	} else {
		l.nudge()
	}
	return l, start, nil
}

// pop adds the next frames to write to into, as many as go at once; none if there are
// none.
func (ls *links) pop(l *link, into []parcel) []parcel {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	bytes := 0
	for len(l.queue) > 0 && len(into) < batchFrames {
		frame := l.queue[0]
		length := frame.len()
		if bytes += length; bytes > batchBytes && len(into) > 0 {
			break
		}
		into = append(into, frame)
		l.queue[0] = nil
		l.queue = l.queue[1:]
		l.bytes -= length
		ls.bytes -= length
	}
	if len(l.queue) == 0 {
		l.queue = nil // let go of the backing array after a burst
	}
	return into
}

// attach gives the link its outbound stream, unless it was lost meanwhile.
func (ls *links) attach(l *link, s network.Stream) bool {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if l.dead {
		return false
	}
	l.out = s
	return true
}

// outbound returns the link's outbound stream, nil if there is none.
func (ls *links) outbound(l *link) network.Stream {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	return l.out
}

// What a writer does once it has nothing to write.
type next uint8

const (
	wait         next = iota // for more
	end                      // it ends, and the stream stays
	endStreamToo             // as the node closes
)

// finish says what is next for the writer of a link whose queue is empty. It rests where
// the last frame before came a moment ago: most neighbours hear of something every ten
// seconds or so, and for those it would only be woken once more, to end.
func (ls *links) finish(l *link, now time.Time) next {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	often := now.Sub(l.used) < restFor
	switch {
	case l.wake == nil || len(l.queue) > 0: // dismissed or nudged already
		return wait
	case l.finish:
		l.wake, l.out = nil, nil
		return endStreamToo
	case !often:
		l.wake, l.used = nil, now
		return end
	}
	select {
	case <-l.wake: // of a frame that is written already: who rests waits for a new one
	default:
	}
	l.rests, l.used = true, now
	return wait
}

// retired reports whether s is no longer the link's outbound stream.
func (ls *links) retired(l *link, s network.Stream) bool {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	return l.out != s
}

// admit makes s the link's inbound stream. It returns the turn to wait for before
// the first callback, and the stream that s replaces. done is closed when s's own
// callbacks are over.
func (ls *links) admit(p peer.ID, s network.Stream, done <-chan struct{}) (l *link, turn <-chan struct{}, old network.Stream) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if ls.closed {
		return nil, nil, nil
	}
	if l = ls.get(p, maxInbound); l == nil {
		return nil, nil, nil
	}
	turn, old = l.turn, l.in
	l.turn, l.in = done, s
	return l, turn, old
}

// current reports whether s is the inbound stream of a link that lives.
func (ls *links) current(l *link, s network.Stream) bool {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	return l.in == s && !l.dead
}

// ended says that s came to its end cleanly.
func (ls *links) ended(l *link, s network.Stream) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if l.in == s && !l.dead {
		l.in = nil
		ls.tidy(l)
	}
}

// tidy forgets a link on which nothing happens. One that is kept stays, so that
// the loss of the neighbour is noticed and reported once.
func (ls *links) tidy(l *link) {
	if l.bare() && !ls.kept[l.peer] {
		ls.forget(l)
	}
}

// forget drops l from the table, leaving its turn to the next link with the peer.
func (ls *links) forget(l *link) {
	delete(ls.byPeer, l.peer)
	select {
	case <-l.turn:
		delete(ls.turns, l.peer)
	default:
		ls.turns[l.peer] = l.turn
	}
}
