package kad

import (
	"bytes"
	"encoding/binary"
	"errors"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p"
	"github.com/libp2p/go-libp2p/core/host"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/p2p/protocol/identify"
	ma "github.com/multiformats/go-multiaddr"

	"github.com/feedtree/feedtree/overlay"
)

// pair starts two nodes that know each other's addresses and nothing more.
func pair(t *testing.T, c Config) (a, b *Node, ina, inb *seen) {
	a, ina = start(t, c)
	b, inb = start(t, c)
	introduce(a, b)
	introduce(b, a)
	return a, b, ina, inb
}

func introduce(n, other *Node) {
	n.Learn(other.Self(), other.AddrsOf(other.Self()))
}

// stranger is a bare libp2p host that knows n's address.
func stranger(t *testing.T, n *Node, options ...libp2p.Option) host.Host {
	h, err := libp2p.New(append(options, libp2p.ListenAddrStrings(onLoopback...), libp2p.DisableMetrics())...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })
	h.Peerstore().AddAddrs(n.host.ID(), n.host.Addrs(), time.Hour)
	return h
}

// speak opens a stream of a stranger's on which n takes frames.
func speak(t *testing.T, stranger host.Host, n *Node) network.Stream {
	t.Helper()
	s, err := stranger.NewStream(t.Context(), n.host.ID(), n.set.treeProtocol())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func send(t testing.TB, n *Node, to overlay.ID, frames ...[]byte) {
	t.Helper()
	for _, frame := range frames {
		if err := n.Send(to, frame); err != nil {
			t.Fatal(err)
		}
	}
}

func TestFramesArriveInOrder(t *testing.T) {
	for _, transport := range onLoopback {
		a, b, _, inb := pair(t, Config{Listen: []string{transport}})
		const count = 2000
		for i := range count {
			frame := make([]byte, 8+i%3000)
			binary.BigEndian.PutUint64(frame, uint64(i))
			eventually(t, "room in the queue", func() bool { return !errors.Is(a.Send(b.Self(), frame), ErrQueueFull) })
		}
		eventually(t, "all frames", func() bool { return len(inb.from(a.Self())) == count })
		for i, frame := range inb.from(a.Self()) {
			if got := binary.BigEndian.Uint64(frame); got != uint64(i) || len(frame) != 8+i%3000 {
				t.Fatalf("%s: frame %d is number %d with %d bytes", transport, i, got, len(frame))
			}
		}
		if rtt, ok := a.RTT(b.Self()); !ok || rtt <= 0 {
			t.Errorf("%s: RTT %v, %v", transport, rtt, ok)
		}
	}
}

func TestLargeFrames(t *testing.T) {
	a, b, _, inb := pair(t, Config{})
	large := bytes.Repeat([]byte("feed"), MaxFrame/4)
	send(t, a, b.Self(), large, []byte("small"), large)
	eventually(t, "all frames", func() bool { return len(inb.from(a.Self())) == 3 })
	got := inb.from(a.Self())
	if !bytes.Equal(got[0], large) || !bytes.Equal(got[2], large) || string(got[1]) != "small" {
		t.Error("frames changed on the way")
	}
}

func TestMisuseOfSend(t *testing.T) {
	a, b, _, _ := pair(t, Config{})
	for what, tc := range map[string]struct {
		to    overlay.ID
		frame []byte
		want  error
	}{
		"oversize": {b.Self(), make([]byte, MaxFrame+1), ErrTooLarge},
		"empty":    {b.Self(), nil, ErrTooLarge},
		"to self":  {a.Self(), []byte("x"), ErrPeer},
		"no ID":    {"nobody", []byte("x"), ErrPeer},
	} {
		if err := a.Send(tc.to, tc.frame); !errors.Is(err, tc.want) {
			t.Errorf("%s: %v, want %v", what, err, tc.want)
		}
	}
}

// What a stranger writes is counted under its reason and costs him the stream;
// the node goes on.
func TestBadBytes(t *testing.T) {
	n, in := start(t, Config{})
	h := stranger(t, n)
	for what, tc := range map[string]struct {
		bytes []byte
		count string
	}{
		"announced too long":  {binary.AppendUvarint(nil, MaxFrame+1), "refused_oversize"},
		"length without end":  {[]byte{0xff, 0xff, 0xff, 0xff}, "refused_oversize"},
		"empty frame":         {[]byte{0}, "refused_malformed"},
		"padded length":       {[]byte{0x81, 0x00}, "refused_malformed"},
		"ends in the length":  {[]byte{0x81}, "refused_truncated"},
		"ends in the frame":   {[]byte{5, 'a', 'b'}, "refused_truncated"},
		"ends in a large one": {append(binary.AppendUvarint(nil, MaxFrame), make([]byte, 1000)...), "refused_truncated"},
	} {
		before := n.Counters()[tc.count]
		s := speak(t, h, n)
		if _, err := s.Write(tc.bytes); err != nil {
			t.Fatal(err)
		}
		if tc.count == "refused_truncated" {
			_ = s.CloseWrite()
		}
		eventually(t, what+" is counted", func() bool { return n.Counters()[tc.count] == before+1 })
		if _, err := s.Read(make([]byte, 1)); err == nil {
			t.Errorf("%s: the stream lives on", what)
		}
	}
	id := overlay.ID(h.ID())
	eventually(t, "each is a loss", func() bool { return in.lost(id) == 7 })
	if len(in.from(id)) != 0 {
		t.Error("a frame came out of bad bytes")
	}
	s := speak(t, h, n)
	_, _ = s.Write([]byte{2, 'o', 'k'})
	eventually(t, "a good frame after all that", func() bool { return len(in.from(id)) == 1 })
}

func TestNewestStreamWins(t *testing.T) {
	n, in := start(t, Config{})
	h := stranger(t, n)
	id := overlay.ID(h.ID())
	var last network.Stream
	for i := range 3 {
		s := speak(t, h, n)
		_, _ = s.Write([]byte{1, 'x'})
		eventually(t, "its frame", func() bool { return len(in.from(id)) == i+1 })
		if last != nil {
			if _, err := last.Read(make([]byte, 1)); err == nil {
				t.Error("the older stream lives on")
			}
		}
		last = s
	}
	if in.lost(id) != 0 || n.Counters()["replaced_stream"] != 2 {
		t.Errorf("lost %d times, %d replaced", in.lost(id), n.Counters()["replaced_stream"])
	}
}

func TestQueueOverflow(t *testing.T) {
	a, ina := start(t, Config{})
	b, inb := start(t, Config{})
	introduce(a, b)
	release := make(chan struct{})
	inb.block = release
	frame := make([]byte, 256<<10)
	accepted := 0
	eventually(t, "the queue is full", func() bool {
		err := a.Send(b.Self(), frame)
		if err == nil {
			accepted++
		}
		return errors.Is(err, ErrQueueFull)
	})
	if a.Counters()["queue_full"] == 0 {
		t.Error("not counted")
	}
	if got := len(inb.from(a.Self())); got != 1 {
		t.Errorf("%d frames while the first one blocks", got)
	}
	close(release)
	eventually(t, "what was accepted arrives", func() bool { return len(inb.from(a.Self())) == accepted })
	if ina.lost(b.Self()) != 0 {
		t.Error("backpressure was taken for a loss")
	}
}

// While a dial takes its time, so many frames wait and no more; then all are lost.
func TestQueueOverflowWhileDialling(t *testing.T) {
	t.Parallel()
	n, in := start(t, Config{})
	nobody := overlay.ID(idOf(t, 1))
	n.Learn(nobody, [][]byte{ma.StringCast("/ip4/127.0.0.1/udp/9/quic-v1").Bytes()})
	for i := range queueFrames {
		if err := n.Send(nobody, []byte("x")); err != nil {
			t.Fatalf("frame %d: %v", i, err)
		}
	}
	if err := n.Send(nobody, []byte("x")); !errors.Is(err, ErrQueueFull) {
		t.Errorf("one more: %v", err)
	}
	eventually(t, "the failed dial is reported", func() bool { return in.lost(nobody) == 1 })
	if c := n.Counters(); c["frames_lost"] != queueFrames || c["queue_full"] != 1 {
		t.Errorf("counters %v", c)
	}
	n.links.mu.Lock()
	defer n.links.mu.Unlock()
	if n.links.bytes != 0 || len(n.links.byPeer) != 0 {
		t.Errorf("%d bytes still accounted, %d links", n.links.bytes, len(n.links.byPeer))
	}
}

func TestGone(t *testing.T) {
	t.Parallel()
	a, b, ina, inb := pair(t, Config{})
	send(t, a, b.Self(), []byte("from a"))
	send(t, b, a.Self(), []byte("from b"))
	eventually(t, "both frames", func() bool { return len(ina.from(b.Self())) == 1 && len(inb.from(a.Self())) == 1 })
	id := b.Self()
	b.host.Close() // no farewell: the process is gone
	eventually(t, "the loss is reported", func() bool { return ina.lost(id) == 1 })
	eventually(t, "the connection is closed", func() bool { return len(a.host.Network().ConnsToPeer(b.host.ID())) == 0 })
	if err := a.Send(id, []byte("to nobody")); err != nil {
		t.Fatal(err)
	}
	eventually(t, "so is the failed dial", func() bool { return ina.lost(id) == 2 })
	if c := a.Counters(); c["dials_failed"] != 1 || c["frames_lost"] != 1 || c["links_lost"] != 2 {
		t.Errorf("counters %v", c)
	}
}

// The loss of a link comes after the last frame of it and before the first of the
// next, even while the layer above is slow.
func TestGoneComesInOrder(t *testing.T) {
	n, in := start(t, Config{})
	in.block = make(chan struct{})
	h := stranger(t, n)
	id := overlay.ID(h.ID())
	open := func(frame string) network.Stream {
		s := speak(t, h, n)
		_, _ = s.Write(append([]byte{byte(len(frame))}, frame...))
		return s
	}
	first := open("first")
	eventually(t, "the first frame", func() bool { return len(in.from(id)) == 1 })
	l := func() *link {
		n.links.mu.Lock()
		defer n.links.mu.Unlock()
		return n.links.byPeer[h.ID()]
	}
	n.lose(l())
	_, _ = first.Read(make([]byte, 1)) // until the reset arrives
	open("second")
	eventually(t, "the second stream", func() bool { return l() != nil })
	if in.lost(id) != 0 || len(in.from(id)) != 1 {
		t.Error("something overtook the first frame")
	}
	in.block <- struct{}{}
	eventually(t, "the second frame", func() bool { return len(in.from(id)) == 2 })
	if in.lost(id) != 1 {
		t.Error("the second frame came before the loss of the first link")
	}
	close(in.block)
}

// A neighbour that is kept is watched though nothing is being sent to it.
func TestGoneWhenKept(t *testing.T) {
	a, b, ina, inb := pair(t, Config{Idle: 50 * time.Millisecond})
	a.Keep(b.Self(), true)
	send(t, b, a.Self(), []byte("from b"))
	eventually(t, "its frame", func() bool { return len(ina.from(b.Self())) == 1 })
	eventually(t, "b's idle stream is closed", func() bool { return b.Counters()["links_idle"] == 1 })
	id := b.Self()
	if ina.lost(id) != 0 || inb.lost(a.Self()) != 0 {
		t.Fatal("an idle stream was taken for a loss")
	}
	b.host.Close()
	eventually(t, "the loss is reported", func() bool { return ina.lost(id) == 1 })
}

func TestIdleAndKept(t *testing.T) {
	a, b, _, inb := pair(t, Config{Idle: 50 * time.Millisecond})
	kept, _ := start(t, Config{})
	introduce(a, kept)
	a.Keep(kept.Self(), true)
	send(t, a, kept.Self(), []byte("x"))
	for i := range 3 {
		send(t, a, b.Self(), []byte("x"))
		eventually(t, "the idle link is closed", func() bool { return a.Counters()["links_idle"] == uint64(i+1) })
	}
	eventually(t, "each frame arrived", func() bool { return len(inb.from(a.Self())) == 3 })
	linked := func(p peer.ID) bool {
		a.links.mu.Lock()
		defer a.links.mu.Unlock()
		return a.links.byPeer[p] != nil
	}
	if linked(b.host.ID()) || !linked(kept.host.ID()) {
		t.Error("the idle link lives, or the kept one does not")
	}
	a.Keep(kept.Self(), false)
	eventually(t, "no longer kept, it idles too", func() bool { return !linked(kept.host.ID()) })
}

// A link that is kept keeps its stream, and its writer only while there is something to
// write: what comes later goes the same way.
func TestTheWriterEndsAndTheStreamStays(t *testing.T) {
	a, b, _, inb := pair(t, Config{})
	a.Keep(b.Self(), true)
	written := func() (stream network.Stream, writes bool) {
		a.links.mu.Lock()
		defer a.links.mu.Unlock()
		l := a.links.byPeer[b.host.ID()]
		return l.out, l.wake != nil
	}
	var first network.Stream
	for i := range 3 {
		send(t, a, b.Self(), []byte("x"), []byte("y"))
		eventually(t, "both frames", func() bool { return len(inb.from(a.Self())) == 2*i+2 })
		eventually(t, "the writer ends", func() bool { _, writes := written(); return !writes })
		stream, _ := written()
		if first == nil {
			first = stream
		}
		if stream == nil || stream != first {
			t.Fatalf("after %d pairs of frames the stream is %v, first it was %v", i+1, stream, first)
		}
	}
}

// Close hands over what is queued.
func TestFarewell(t *testing.T) {
	a, b, _, inb := pair(t, Config{})
	send(t, a, b.Self(), []byte("hello"))
	eventually(t, "the link stands", func() bool { return len(inb.from(a.Self())) == 1 })
	for range 100 {
		send(t, a, b.Self(), make([]byte, 1000))
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "everything queued at the end", func() bool { return len(inb.from(a.Self())) == 101 })
	if err := a.Send(b.Self(), []byte("x")); !errors.Is(err, ErrClosed) {
		t.Errorf("send after close: %v", err)
	}
	if err := a.Close(); err != nil {
		t.Errorf("second close: %v", err)
	}
}

// libp2p asks a peer who it is once per connection. One that does not answer stays no
// stranger for good: the connection ends, and the next one asks again.
func TestWhoDoesNotSayWhoItIs(t *testing.T) {
	a, _ := start(t, Config{})
	h := stranger(t, a)
	h.RemoveStreamHandler(identify.ID)
	if err := h.Connect(t.Context(), peer.AddrInfo{ID: a.host.ID()}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "they part", func() bool {
		return a.Counters()["conns_dead"] == 1 && a.host.Network().Connectedness(h.ID()) == network.NotConnected
	})
}
