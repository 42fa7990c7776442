package live

import (
	"time"

	"github.com/feedtree/feedtree/multicast/tree"
	"github.com/feedtree/feedtree/overlay"
)

// Frame takes a frame from an authenticated peer. It decodes and verifies on
// the caller's goroutine and may block until there is room: call it from a
// goroutine of the peer's own. The frame is the loop's from here on.
func (l *Loop) Frame(from overlay.ID, frame []byte) {
	if len(frame) > MaxFrame { // before room is taken for it
		l.gate.refused.count(frameTooLarge)
		return
	}
	done, err := l.frames.take(l.life.ctx, len(frame))
	if err != nil {
		return // the loop has ended
	}
	it, contacts, ok := l.gate.admit(time.Now(), from, frame)
	if !ok {
		done()
		return
	}
	l.learn(contacts)
	it.done = done
	if !l.box.put(it) {
		done()
	}
}

// learn passes on where the nodes named in a message may be dialled.
func (l *Loop) learn(contacts []contact) {
	self := l.overlay.Self()
	for _, c := range contacts {
		if c.id != self && len(c.addrs) > 0 {
			l.overlay.Learn(c.id, c.addrs)
		}
	}
}

// Gone says that the connection to a peer is lost, or that dialling it failed.
// It does not block.
func (l *Loop) Gone(id overlay.ID) {
	l.box.put(item{input: tree.Input{Kind: tree.Gone, From: id}})
}

// Routes says that the routing table or the set of connected peers changed. It
// does not block; several changes before the loop looks are one.
func (l *Loop) Routes() {
	if !l.life.rerouted.Swap(true) {
		l.box.put(item{input: tree.Input{Kind: tree.Routes}})
	}
}
