package kad

import (
	"bufio"
	"context"
	"errors"
	"io"
	"time"

	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/feedtree/feedtree/overlay"
)

const (
	batchFrames = 32       // frames written at once
	batchBytes  = 32 << 10 // and their bytes, unless it is one frame
	readAhead   = 512      // kept for each neighbour: heads and the like; what is longer is read to where it stays

	queueFrames = 256     // frames that may wait for one neighbour
	queueBytes  = 8 << 20 // and their bytes
	totalBytes  = 64 << 20
	maxLinks    = 512
	maxInbound  = maxLinks * 3 / 4 // links that strangers may begin, so that room is left for ours

	restFor = time.Second // until a writer ends that wrote again and has nothing more to write

	openPatience  = 8 * time.Second  // to find, dial and open
	writePatience = 30 * time.Second // for the neighbour to take a frame
	readPatience  = 30 * time.Second // for the rest of a frame
)

// A link is what this node and one neighbour have between them. Every field
// below peer is guarded by the mutex of links.
type link struct {
	peer peer.ID

	queue []parcel
	bytes int
	wake  chan struct{}  // tells write that something is queued; closed: it is to end; nil: it does not run
	rests bool           // write waits for that
	used  time.Time      // when everything was written last
	out   network.Stream // the stream it serves, once open
	in    network.Stream // the newest stream the neighbour opened

	finish bool            // the stream ends once the queue is empty
	dead   bool            // nothing may be added any more
	turn   <-chan struct{} // closed when the callbacks of whoever was before are over
	pulse  pulse

	reading, writing transfer // by whoever serves in and out
}

// bare reports whether nothing happens on the link.
func (l *link) bare() bool { return l.wake == nil && l.out == nil && l.in == nil }

// nudge tells the writer, of which there must be one.
func (l *link) nudge() {
	l.rests = false
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// dismiss ends the writer, if there is one.
func (l *link) dismiss() {
	if l.wake != nil {
		close(l.wake)
		l.wake, l.rests = nil, false
	}
}

// tire ends the writer if it has rested for long.
func (l *link) tire(now time.Time) {
	if l.rests && now.Sub(l.used) >= restFor {
		l.dismiss()
	}
}

// write writes what is queued, on the link's stream. There is a stream for as long as the
// link is in use, and a writer while something is written every second.
func (n *Node) write(l *link, wake <-chan struct{}) {
	s, err := n.outbound(l)
	if s == nil {
		if err != nil {
			n.count.inc(dialsFailed)
			n.set.Log.Debug("cannot reach a neighbour", "peer", l.peer, "err", err)
			n.lose(l)
		}
		return
	}
	var room [4]parcel
	for {
		frames := n.links.pop(l, room[:0])
		if len(frames) == 0 {
			switch n.links.finish(l, time.Now()) {
			case endStreamToo:
				endStream(s)
				return
			case end:
				return
			}
			if _, ok := <-wake; !ok {
				return
			}
			continue
		}
		l.pulse.wrote(s.Conn())
		l.writing.begin(n.links.clock(time.Now()))
		err := writeFrames(s, frames)
		l.writing.end()
		n.count.add(framesOut, len(frames))
		n.count.add(bytesOut, size(frames))
		if err != nil {
			n.set.Log.Debug("a stream to a neighbour broke", "peer", l.peer, "err", err)
			n.lose(l)
			return
		}
	}
}

// outbound returns the link's stream, opened if need be; nil if it cannot be, or if the
// link was lost meanwhile.
func (n *Node) outbound(l *link) (network.Stream, error) {
	if s := n.links.outbound(l); s != nil {
		return s, nil
	}
	s, err := n.open(l.peer)
	if err != nil {
		return nil, err
	}
	if !n.links.attach(l, s) {
		_ = s.Reset()
		return nil, nil
	}
	if n.enter() {
		n.outs.Add(1)
		go func() {
			defer n.leave()
			defer n.outs.Done()
			n.watch(l, s)
		}()
	}
	return s, nil
}

// endStream ends a stream cleanly. The neighbour closes its half once it has read
// everything, which ends watch; it gets as long for that as for any frame.
func endStream(s network.Stream) {
	_ = s.SetReadDeadline(time.Now().Add(readPatience))
	_ = s.CloseWrite()
}

// open dials if need be and opens the stream, asking the DHT for the address of
// a peer that has none.
func (n *Node) open(p peer.ID) (network.Stream, error) {
	ctx, cancel := context.WithTimeout(n.ctx, openPatience)
	defer cancel()
	if n.host.Network().Connectedness(p) == network.NotConnected && len(n.host.Peerstore().Addrs(p)) == 0 {
		n.find(ctx, p)
	}
	s, err := n.host.NewStream(ctx, p, n.set.treeProtocol())
	if err == nil {
		n.measure(s.Conn())
	}
	return s, err
}

func (n *Node) find(ctx context.Context, p peer.ID) {
	ctx, cancel := context.WithTimeout(ctx, openPatience/2)
	defer cancel()
	if info, err := n.dht.FindPeer(ctx, p); err == nil {
		n.host.Peerstore().AddAddrs(p, info.Addrs, learnFor)
	}
}

// watch reads the outbound stream, on which the neighbour never writes, to see
// it die.
func (n *Node) watch(l *link, s network.Stream) {
	var b [1]byte
	_, err := s.Read(b[:])
	if n.links.retired(l, s) {
		_ = s.Close()
		return
	}
	if err == nil {
		err = errors.New("the neighbour wrote on a stream it should only read")
	}
	n.set.Log.Debug("a stream to a neighbour ended", "peer", l.peer, "err", err)
	n.lose(l)
}

// accept serves a stream a neighbour opened: the newest one counts.
func (n *Node) accept(s network.Stream) {
	if !n.enter() {
		_ = s.Reset()
		return
	}
	defer n.leave()
	p := s.Conn().RemotePeer()
	done := make(chan struct{})
	l, turn, old := n.links.admit(p, s, done)
	if l == nil {
		n.count.inc(refusedLinks)
		_ = s.Reset()
		return
	}
	if old != nil {
		n.count.inc(replacedStream)
		_ = old.Reset()
	}
	select {
	case <-turn:
	case <-n.ctx.Done():
		_ = s.Reset()
		return
	}
	err := n.read(l, s)
	close(done)
	switch {
	case err == io.EOF:
		_ = s.Close()
		n.links.ended(l, s)
	case n.links.current(l, s):
		n.refuse(p, err)
		n.lose(l)
	}
	_ = s.Reset()
}

// refuse counts what is wrong with the bytes of a stream.
func (n *Node) refuse(p peer.ID, err error) {
	var bad *frameError
	if errors.As(err, &bad) {
		n.count.inc(bad.reason)
	}
	n.set.Log.Debug("a stream from a neighbour broke", "peer", p, "err", err)
}

// read hands over the frames of s while it is the link's.
func (n *Node) read(l *link, s network.Stream) error {
	from := overlay.ID(l.peer)
	r := bufio.NewReaderSize(s, readAhead)
	for {
		frame, err := n.receive(l, r, s)
		if err != nil {
			return err
		}
		if !n.links.current(l, s) {
			return errReplaced
		}
		n.count.inc(framesIn)
		n.count.add(bytesIn, len(frame))
		l.pulse.heard.Add(1)
		n.in.Frame(from, frame)
		if len(frame) > step {
			s.Scope().ReleaseMemory(len(frame))
		}
	}
}

var errReplaced = errors.New("a newer stream took over")

// receive waits for a frame, for as long as the neighbour has nothing to say, and reads it
// in bounded time and memory. What is longer than step stays reserved until it was handed
// over.
func (n *Node) receive(l *link, r *bufio.Reader, s network.Stream) ([]byte, error) {
	if _, err := r.Peek(1); err != nil {
		return nil, err
	}
	if arrived(r) {
		return readFrame(r, s.Scope())
	}
	l.reading.begin(n.links.clock(time.Now()))
	frame, err := readFrame(r, s.Scope())
	if l.reading.end() && err != nil {
		err = errSlow
	}
	return frame, err
}
