package kad

import (
	"encoding/binary"
	"errors"
	"testing"
	"time"

	"github.com/feedtree/feedtree/overlay"
)

// underWay waits until a frame is, and returns the link.
func underWay(t *testing.T, n *Node, of func(*link) *transfer) (l *link) {
	eventually(t, "a frame is under way", func() bool {
		n.links.mu.Lock()
		defer n.links.mu.Unlock()
		for _, l = range n.links.byPeer {
			if of(l).since.Load() > noTransfer {
				return true
			}
		}
		return false
	})
	return l
}

// The rest of a frame may take half a minute. Then it is counted as slow, and the link is lost. If
// it is this node that did not look for so long, there is time for another one.
func TestAFrameThatDoesNotArrive(t *testing.T) {
	n, in := start(t, Config{})
	h := stranger(t, n)
	s := speak(t, h, n)
	if _, err := s.Write(append(binary.AppendUvarint(nil, 4000), make([]byte, 1000)...)); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	l := underWay(t, n, func(l *link) *transfer { return &l.reading })
	n.look(began.Add(readPatience-time.Second), false)
	n.look(began.Add(2*readPatience), true)
	n.look(began.Add(3*readPatience-time.Second), false)
	if l.reading.since.Load() <= noTransfer {
		t.Fatal("it was given up before its time")
	}
	n.look(began.Add(3*readPatience+time.Second), false)
	eventually(t, "it is counted", func() bool { return n.Counters()["refused_slow"] == 1 })
	eventually(t, "the link is lost", func() bool { return in.lost(overlay.ID(h.ID())) == 1 })
	if _, err := s.Read(make([]byte, 1)); err == nil {
		t.Error("the stream lives on")
	}
}

// A frame begins with the first byte of its length: who sends no more of it is not waited for
// either.
func TestALengthThatDoesNotArrive(t *testing.T) {
	n, in := start(t, Config{})
	h := stranger(t, n)
	if _, err := speak(t, h, n).Write([]byte{0x80}); err != nil {
		t.Fatal(err)
	}
	underWay(t, n, func(l *link) *transfer { return &l.reading })
	n.look(time.Now().Add(readPatience+time.Second), false)
	eventually(t, "it is counted", func() bool { return n.Counters()["refused_slow"] == 1 })
	eventually(t, "the link is lost", func() bool { return in.lost(overlay.ID(h.ID())) == 1 })
}

// Who arrives in time is not waited for any more, and the next frame has time of its own.
func TestAFrameThatArrives(t *testing.T) {
	n, in := start(t, Config{})
	h := stranger(t, n)
	s := speak(t, h, n)
	for i := range 2 {
		_, _ = s.Write(append(binary.AppendUvarint(nil, 4000), make([]byte, 1000)...))
		underWay(t, n, func(l *link) *transfer { return &l.reading })
		_, _ = s.Write(make([]byte, 3000))
		eventually(t, "the frame", func() bool { return len(in.from(overlay.ID(h.ID()))) == i+1 })
	}
	n.look(time.Now().Add(time.Hour), false)
	_, _ = s.Write([]byte{2, 'o', 'k'})
	eventually(t, "one more", func() bool { return len(in.from(overlay.ID(h.ID()))) == 3 })
}

// A neighbour that takes nothing for half a minute is lost.
func TestANeighbourThatDoesNotRead(t *testing.T) {
	a, ina := start(t, Config{})
	b, inb := start(t, Config{})
	introduce(a, b)
	release := make(chan struct{})
	defer close(release)
	inb.block = release
	frame := make([]byte, 256<<10)
	eventually(t, "the queue is full", func() bool { return errors.Is(a.Send(b.Self(), frame), ErrQueueFull) })
	underWay(t, a, func(l *link) *transfer { return &l.writing })
	a.look(time.Now().Add(writePatience/2), false)
	if ina.lost(b.Self()) != 0 {
		t.Error("it was lost before its time")
	}
	a.look(time.Now().Add(writePatience+time.Second), false)
	eventually(t, "the neighbour is lost", func() bool { return ina.lost(b.Self()) == 1 })
}
