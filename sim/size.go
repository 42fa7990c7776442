package sim

import (
	"github.com/feedtree/feedtree/multicast"
	"github.com/feedtree/feedtree/multicast/tree"
)

// What parts of a message take on the wire, to within a few bytes.
const (
	frameBytes  = 8  // length, type, flags, small numbers
	groupBytes  = 34 // a tag, a length, 32 bytes
	numberBytes = 6  // a varint of middling size with its tag
	edgeBytes   = 10 // a random number
	headBytes   = 34 + 3*3
	tagBytes    = 18
	idBytes     = 40       // a peer ID of an Ed25519 key
	addrBytes   = 60       // the addresses that go along with an ID one may dial
	sealBytes   = 172 + 64 // an envelope's header and signature
)

// Size estimates the bytes a message takes on the wire. The simulator never
// encodes; the estimate is what its traffic figures count.
func Size(m *tree.Message) int {
	n := frameBytes
	if m.Group != (multicast.Group{}) {
		n += groupBytes
	}
	for _, v := range [...]uint64{m.Edge, m.Digest} {
		if v != 0 {
			n += edgeBytes
		}
	}
	n += numbers(m.Ver)
	if s := m.Span; s != nil {
		n += headBytes + numbers(s.From, s.To)
	}
	if m.Event != nil {
		n += sealBytes + len(m.Event.Body)
	}
	n += len(m.Path)*idBytes + len(m.Peers)*(idBytes+addrBytes) + len(m.Heads)*(headBytes+tagBytes)
	for _, e := range m.Entries {
		n += groupBytes + edgeBytes + len(e.Heads)*(headBytes+tagBytes)
	}
	return n
}

// numbers is what those of them take that are not 0.
func numbers(all ...uint64) int {
	n := 0
	for _, v := range all {
		if v != 0 {
			n += numberBytes
		}
	}
	return n
}
