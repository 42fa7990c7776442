package gossip

import (
	"context"
	"encoding/binary"
	"io"
	"sync"
	"time"

	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/protocol"

	"github.com/feedtree/feedtree/multicast"
	"github.com/feedtree/feedtree/overlay"
)

// A question is one stream: its kind, the group and, where it is about an event,
// source, epoch, seq and beat, big endian. The answer ends the stream.
const (
	askMembers = 'm' // who is in the group? Up to maxNamed peers, see members
	askHeld    = 'h' // do you hold this event durably? 1 as soon as it is, 0 if not in time

	questionSize = 1 + 32 + 32 + 3*8

	maxAsks     = 64              // questions being answered, and being asked
	holdFor     = 5 * time.Second // how long an answer waits for the event to be stored
	askPatience = holdFor + 2*time.Second
	maxStored   = 4096 // events known to be held durably
)

func (c *Carrier) protocol() protocol.ID {
	return protocol.ID("/feedtree/" + c.config.Network + "/gossip/1")
}

type heldKey struct {
	group multicast.Group
	stamp multicast.Stamp
}

// asked is what others ask this node, and what it asks them.
type asked struct {
	mu      sync.Mutex
	stored  map[heldKey]bool
	order   []heldKey                 // of stored, oldest first
	awaited map[heldKey]chan struct{} // closed when it is stored
	asking  map[heldKey]bool          // inquiries under way
	answers int
}

// Stored says that an event is held durably here, for who asks.
func (c *Carrier) Stored(g multicast.Group, s multicast.Stamp) error {
	if c.life.ctx.Err() != nil {
		return ErrClosed
	}
	a, key := &c.asked, heldKey{g, s}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.stored[key] {
		return nil
	}
	if a.stored == nil {
		a.stored = make(map[heldKey]bool)
	}
	a.stored[key] = true
	if a.order = append(a.order, key); len(a.order) > maxStored {
		delete(a.stored, a.order[0])
		a.order = a.order[1:]
	}
	if ch := a.awaited[key]; ch != nil {
		close(ch)
		delete(a.awaited, key)
	}
	return nil
}

// await waits until an event is held durably, for as long as ctx.
func (a *asked) await(ctx context.Context, key heldKey) bool {
	a.mu.Lock()
	if a.stored[key] {
		a.mu.Unlock()
		return true
	}
	if a.awaited == nil {
		a.awaited = make(map[heldKey]chan struct{})
	}
	ch := a.awaited[key]
	if ch == nil {
		ch = make(chan struct{})
		a.awaited[key] = ch
	}
	a.mu.Unlock()
	select {
	case <-ch:
		return true
	case <-ctx.Done():
		a.mu.Lock()
		defer a.mu.Unlock()
		if a.awaited[key] == ch {
			delete(a.awaited, key) // who else waits for it ends about now too
		}
		return false
	}
}

// answer answers one question. Few are answered at once.
func (c *Carrier) answer(s network.Stream) {
	defer s.Close()
	a := &c.asked
	a.mu.Lock()
	full := a.answers >= maxAsks
	if !full {
		a.answers++
	}
	a.mu.Unlock()
	if full {
		c.counts.refuse(whyAsks)
		_ = s.Reset()
		return
	}
	defer func() {
		a.mu.Lock()
		a.answers--
		a.mu.Unlock()
	}()
	_ = s.SetDeadline(time.Now().Add(askPatience))
	var q [questionSize]byte
	if _, err := io.ReadFull(s, q[:]); err != nil {
		_ = s.Reset()
		return
	}
	key := heldKey{group: multicast.Group(q[1:33]), stamp: multicast.Stamp{
		Source: multicast.Source(q[33:65]), Epoch: binary.BigEndian.Uint64(q[65:]),
		Seq: binary.BigEndian.Uint64(q[73:]), Beat: binary.BigEndian.Uint64(q[81:]),
	}}
	switch q[0] {
	case askMembers:
		_, _ = s.Write(c.members(key.group, s.Conn().RemotePeer()))
	case askHeld:
		ctx, cancel := context.WithTimeout(c.life.ctx, holdFor)
		defer cancel()
		answer := []byte{0}
		if c.asked.await(ctx, key) {
			answer[0] = 1
		}
		_, _ = s.Write(answer)
	default:
		_ = s.Reset()
	}
}

func question(kind byte, key heldKey) []byte {
	q := make([]byte, 0, questionSize)
	q = append(q, kind)
	q = append(q, key.group[:]...)
	q = append(q, key.stamp.Source[:]...)
	q = binary.BigEndian.AppendUint64(q, key.stamp.Epoch)
	q = binary.BigEndian.AppendUint64(q, key.stamp.Seq)
	return binary.BigEndian.AppendUint64(q, key.stamp.Beat)
}

// ask asks a peer and returns its answer, at most so many bytes.
func (c *Carrier) ask(ctx context.Context, p peer.ID, q []byte, most int64) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, askPatience)
	defer cancel()
	s, err := c.net.Host().NewStream(ctx, p, c.protocol())
	if err != nil {
		return nil, err
	}
	defer s.Close()
	defer context.AfterFunc(ctx, func() { _ = s.Reset() })()
	if _, err := s.Write(q); err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(s, most))
}

// inquire asks members of a group whether they hold an event: some more than are
// wanted, since not everybody has a durable store. One inquiry about an event is
// under way at a time; the source publishes again if too few answer.
func (c *Carrier) inquire(g *group, stamp multicast.Stamp, want int) {
	key, a := heldKey{g.id, stamp}, &c.asked
	a.mu.Lock()
	if a.asking[key] || len(a.asking) >= maxAsks {
		a.mu.Unlock()
		return
	}
	if a.asking == nil {
		a.asking = make(map[heldKey]bool)
	}
	a.asking[key] = true
	a.mu.Unlock()
	c.mu.Lock()
	var whom []peer.ID
	for p := range g.audience { // any of them
		if len(whom) < 2*want+2 {
			whom = append(whom, p)
		}
	}
	c.mu.Unlock()
	c.life.goes(func() {
		var each sync.WaitGroup
		for _, p := range whom {
			each.Go(func() {
				answer, err := c.ask(g.ctx, p, question(askHeld, key), 1)
				if err == nil && len(answer) == 1 && answer[0] == 1 {
					c.counts.add(receipts)
					c.put(g.ctx, arrival{notice: multicast.Notice{
						Kind: multicast.Receipt, Group: g.id, Stamp: stamp, Peers: []overlay.ID{overlay.ID(p)},
					}})
				}
			})
		}
		each.Wait()
		a.mu.Lock()
		delete(a.asking, key)
		a.mu.Unlock()
	})
}
