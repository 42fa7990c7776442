package live

import (
	"bytes"
	"math"
	"time"

	"github.com/feedtree/feedtree/multicast"
	"github.com/feedtree/feedtree/multicast/live/internal/wire"
	"github.com/feedtree/feedtree/multicast/tree"
	"github.com/feedtree/feedtree/overlay"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// contact is a node named in a message, and where its sender says it can be
// dialled.
type contact struct {
	id    overlay.ID
	addrs [][]byte
}

// unmarshal ignores fields of later versions without keeping their bytes.
var unmarshal = proto.UnmarshalOptions{DiscardUnknown: true}

// decode reads a frame. The event, if there is one, has only its body: the
// rest of it is not sent but taken out of the body by verification. The body is
// the frame's own bytes, which must not change any more.
func decode(frame []byte) (*tree.Message, []contact, reason) {
	if len(frame) > MaxFrame {
		return nil, nil, frameTooLarge
	}
	if r := frameShape.census(frame); r != "" {
		return nil, nil, r
	}
	event, rest := cutEvent(frame)
	var f wire.Frame
	if err := unmarshal.Unmarshal(rest, &f); err != nil {
		return nil, nil, frameMalformed
	}
	if f.Type > math.MaxUint8 || !tree.Type(f.Type).Known() {
		return nil, nil, frameType
	}
	if !numbersWithin(&f) {
		return nil, nil, frameBounds
	}
	m := &tree.Message{
		Type:   tree.Type(f.Type),
		Flags:  tree.Flags(f.Flags),
		Reason: tree.Reason(f.Reason),
		Via:    multicast.Via(f.Via),
		Hops:   uint8(f.Hops),
		Want:   uint8(f.Want),
		Turn:   uint8(f.Turn),
		Edge:   f.Edge,
		Ver:    f.Ver,
		Digest: f.Digest,
		Paths:  f.Paths,
		Known:  f.Known,
		Heads:  stampsIn(f.Heads),
	}
	m.RTT = time.Duration(f.Rtt) * time.Microsecond
	if f.Self != nil {
		own := standIn(f.Self)
		m.Self = &own
	}
	if f.Stamp != nil {
		m.Span = &tree.Span{Stamp: stampIn(f.Stamp), From: f.From, To: f.To}
	}
	copy(m.Group[:], f.Group)
	if len(event) > 0 {
		m.Event = &multicast.Event{Body: event}
	}
	contacts, r := nodesIn(&f, m)
	for _, e := range f.Entries {
		m.Entries = append(m.Entries, entryIn(e))
	}
	for _, s := range f.Posts {
		m.Posts = append(m.Posts, standIn(s))
	}
	if k := len(m.Posts); r == "" && k != 0 && k != len(m.Path) && k != len(m.Path)+len(m.Peers) {
		r = frameMalformed
	}
	if r == "" && (m.Event != nil) != carries(m.Type) {
		r = frameMalformed
	}
	if r != "" {
		return nil, nil, r
	}
	return m, contacts, ""
}

// besideEvent is how much longer a frame may be than its event for the event to stay in
// it: who holds an event holds all of its frame, and a sender can add what it likes.
const besideEvent = 512

// cutEvent takes the event out of a frame that passed the census. It is most of what is
// ever received, and the unmarshaller would copy it.
func cutEvent(frame []byte) (event, rest []byte) {
	for b := frame; len(b) > 0; {
		num, typ, tag := protowire.ConsumeTag(b)
		size := protowire.ConsumeFieldValue(num, typ, b[tag:])
		if num == eventField {
			event, _ = protowire.ConsumeBytes(b[tag:])
			at := len(frame) - len(b)
			rest = append(frame[:at:at], b[tag+size:]...)
			if len(rest) > besideEvent {
				return bytes.Clone(event), rest
			}
			return event[:len(event):len(event)], rest
		}
		b = b[tag+size:]
	}
	return nil, frame
}

// carries reports whether messages of a type have an event in them, or what stands
// in its place.
func carries(t tree.Type) bool { return t == tree.Data || t == tree.Fork }

// nodesIn resolves the places in the list of nodes. Every node listed has to
// be mentioned: the list is no way to plant addresses.
func nodesIn(f *wire.Frame, m *tree.Message) ([]contact, reason) {
	if len(f.Path) > maxPath || len(f.Peers) > maxPeers {
		return nil, frameTooMany
	}
	contacts := make([]contact, 0, len(f.Nodes))
	for _, n := range f.Nodes {
		contacts = append(contacts, contact{overlay.ID(n.Id), n.Addrs})
	}
	mentioned := make([]bool, len(contacts))
	resolve := func(places []uint32) (ids []overlay.ID) {
		for _, at := range places {
			if int(at) >= len(contacts) {
				return nil
			}
			mentioned[at] = true
			ids = append(ids, contacts[at].id)
		}
		return ids
	}
	m.Path, m.Peers = resolve(f.Path), resolve(f.Peers)
	if len(m.Path) != len(f.Path) || len(m.Peers) != len(f.Peers) {
		return nil, frameMalformed
	}
	for _, yes := range mentioned {
		if !yes {
			return nil, frameMalformed
		}
	}
	return contacts, ""
}

// numbersWithin checks what census cannot see: the values of numbers. They
// are narrowed and added to from here on.
func numbersWithin(f *wire.Frame) bool {
	if max(f.Flags, f.Reason, f.Hops, f.Want, f.Turn) > math.MaxUint8 || f.Via > uint32(multicast.ViaLazy) ||
		max(f.From, f.To) > maxNumber || !stampWithin(f.Stamp) || !stampsWithin(f.Heads) ||
		f.Rtt > maxMicros || !standWithin(f.Self) {
		return false
	}
	for _, s := range f.Posts {
		if !standWithin(s) {
			return false
		}
	}
	for _, e := range f.Entries {
		if e.Flags > math.MaxUint8 || !stampsWithin(e.Heads) {
			return false
		}
	}
	return true
}

func stampWithin(s *wire.Stamp) bool {
	return max(s.GetEpoch(), s.GetSeq(), s.GetBeat()) <= maxNumber
}

func stampsWithin(stamps []*wire.Stamp) bool {
	for _, s := range stamps {
		if !stampWithin(s) {
			return false
		}
	}
	return true
}

func entryIn(e *wire.Entry) tree.Entry {
	entry := tree.Entry{Edge: e.Edge, Flags: tree.Flags(e.Flags), Heads: stampsIn(e.Heads)}
	copy(entry.Group[:], e.Group)
	return entry
}

func stampIn(s *wire.Stamp) (out multicast.Stamp) {
	if s != nil {
		copy(out.Source[:], s.Source)
		copy(out.Tag[:], s.Tag)
		out.Epoch, out.Seq, out.Beat = s.Epoch, s.Seq, s.Beat
	}
	return out
}

func stampsIn(stamps []*wire.Stamp) []multicast.Stamp {
	var out []multicast.Stamp
	for _, s := range stamps {
		out = append(out, stampIn(s))
	}
	return out
}
