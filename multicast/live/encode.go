package live

import (
	"fmt"

	"github.com/feedtree/feedtree/multicast"
	"github.com/feedtree/feedtree/multicast/live/internal/wire"
	"github.com/feedtree/feedtree/multicast/tree"
	"github.com/feedtree/feedtree/overlay"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// errBounds says that a message is larger than a frame may be. The tree's own
// caps are below those of the wire, so it means that the two disagree.
type errBounds struct {
	typ  tree.Type
	what string
}

func (e errBounds) Error() string {
	return fmt.Sprintf("a %v message has more %s than a frame takes", e.typ, e.what)
}

// addressBook says where a node can be dialled, nil or empty if unknown.
type addressBook func(overlay.ID) [][]byte

// beforeEvent is what stands directly before the event at most: its tag and its length.
const beforeEvent = 1 + 3

// frame is one on its way out. The event stands at its end and is not copied: a node
// hands the same one on to many, of whom some are slow to take it.
type frame struct{ head, event []byte }

func (f frame) len() int { return len(f.head) + len(f.event) }

// encode returns the frames that carry a message: one, but for heads of very
// many groups, which mean the same when told in parts.
func encode(m *tree.Message, addrs addressBook) ([]frame, error) {
	f, err := encodeOne(m, addrs)
	if err == nil {
		return []frame{f}, nil
	}
	if m.Type != tree.Heads || len(m.Entries) < 2 {
		return nil, err
	}
	half := len(m.Entries) / 2
	var frames []frame
	for _, entries := range [][]tree.Entry{m.Entries[:half], m.Entries[half:]} {
		part := *m
		part.Entries = entries
		more, err := encode(&part, addrs)
		if err != nil {
			return nil, err
		}
		frames = append(frames, more...)
	}
	return frames, nil
}

func encodeOne(m *tree.Message, addrs addressBook) (out frame, err error) {
	if what := oversize(m); what != "" {
		return frame{}, errBounds{m.Type, what}
	}
	f := &wire.Frame{
		Type:   uint32(m.Type),
		Flags:  uint32(m.Flags),
		Reason: uint32(m.Reason),
		Via:    uint32(m.Via),
		Hops:   uint32(m.Hops),
		Want:   uint32(m.Want),
		Turn:   uint32(m.Turn),
		Edge:   m.Edge,
		Ver:    m.Ver,
		Digest: m.Digest,
		Paths:  m.Paths,
		Known:  m.Known,
		Heads:  stampsOut(m.Heads),
	}
	if m.Group != (multicast.Group{}) {
		f.Group = m.Group[:]
	}
	if s := m.Span; s != nil {
		f.Stamp, f.From, f.To = stampOut(s.Stamp), s.From, s.To
	}
	f.Nodes, f.Path, f.Peers = nodesOut(m, addrs)
	f.Rtt = micros(m.RTT)
	if m.Self != nil {
		f.Self = standOut(*m.Self)
	}
	if len(m.Posts) == len(m.Path)+len(m.Peers) || len(m.Posts) == len(m.Path) {
		for _, s := range m.Posts {
			f.Posts = append(f.Posts, standOut(s))
		}
	}
	for i := range m.Entries {
		e := &m.Entries[i]
		f.Entries = append(f.Entries, &wire.Entry{
			Group: e.Group[:], Edge: e.Edge, Flags: uint32(e.Flags), Heads: stampsOut(e.Heads),
		})
	}
	out.head = make([]byte, 0, proto.Size(f)+beforeEvent)
	if out.head, err = (proto.MarshalOptions{UseCachedSize: true}).MarshalAppend(out.head, f); err != nil {
		return frame{}, fmt.Errorf("encode a %v message: %w", m.Type, err)
	}
	if m.Event != nil {
		out.event = m.Event.Body
		out.head = protowire.AppendTag(out.head, eventField, protowire.BytesType)
		out.head = protowire.AppendVarint(out.head, uint64(len(out.event)))
	}
	if out.len() > MaxFrame {
		return frame{}, errBounds{m.Type, "bytes"}
	}
	return out, nil
}

// oversize names the part of a message that is beyond its bound, if one is.
func oversize(m *tree.Message) string {
	switch {
	case len(m.Path) > maxPath:
		return "steps in its path"
	case len(m.Peers) > maxPeers:
		return "peers"
	case len(m.Heads) > maxHeads:
		return "heads"
	case len(m.Entries) > maxEntries:
		return "entries"
	case m.Event != nil && len(m.Event.Body) > MaxEvent:
		return "bytes in its event"
	case carries(m.Type) != (m.Event != nil && len(m.Event.Body) > 0):
		return "or fewer events"
	}
	for i := range m.Entries {
		if len(m.Entries[i].Heads) > maxHeads {
			return "heads in an entry"
		}
	}
	for _, ids := range [][]overlay.ID{m.Path, m.Peers} {
		for _, id := range ids {
			if len(id) == 0 || len(id) > maxID {
				return "or fewer bytes in a node's ID"
			}
		}
	}
	return ""
}

// nodesOut lists the nodes a message mentions, each once with its addresses,
// and the path and the peers as places in that list.
func nodesOut(m *tree.Message, addrs addressBook) (nodes []*wire.Node, path, peers []uint32) {
	place := func(ids []overlay.ID) []uint32 {
		var places []uint32
		for _, id := range ids {
			at := -1
			for i, n := range nodes { // at most 96, mostly under 10
				if string(n.Id) == string(id) {
					at = i
				}
			}
			if at < 0 {
				at = len(nodes)
				nodes = append(nodes, &wire.Node{Id: []byte(id), Addrs: addrsOut(addrs(id))})
			}
			places = append(places, uint32(at))
		}
		return places
	}
	path = place(m.Path)
	peers = place(m.Peers)
	return nodes, path, peers
}

// addrsOut cuts an address list to what a frame takes. The overlay puts the
// better addresses first.
func addrsOut(addrs [][]byte) [][]byte {
	var out [][]byte
	for _, a := range addrs {
		if len(a) > 0 && len(a) <= maxAddr && len(out) < maxAddrs {
			out = append(out, a)
		}
	}
	return out
}

func stampOut(s multicast.Stamp) *wire.Stamp {
	out := &wire.Stamp{Source: s.Source[:], Epoch: s.Epoch, Seq: s.Seq, Beat: s.Beat}
	if s.Tag != (multicast.Tag{}) {
		out.Tag = s.Tag[:]
	}
	return out
}

func stampsOut(stamps []multicast.Stamp) []*wire.Stamp {
	var out []*wire.Stamp
	for i := range stamps {
		out = append(out, stampOut(stamps[i]))
	}
	return out
}
