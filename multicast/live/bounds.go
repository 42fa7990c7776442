package live

import (
	"github.com/feedtree/feedtree/signing"
	"google.golang.org/protobuf/encoding/protowire"
)

// What one frame may hold. A node never sends more; a frame with more is
// dropped whole, because cutting a list would change what the message says.
const (
	MaxFrame = 1<<20 + 64<<10  // bytes, before anything is allocated for it
	MaxEvent = signing.MaxWire // bytes of one envelope

	maxNumber  = signing.MaxNumber // of epochs, seqs and beats: far from where adding to one overflows
	maxPath    = 64
	maxPeers   = 32
	maxHeads   = 64    // of a message, and of each entry
	maxEntries = 16384 // edges or heads shared by one pair of nodes, over all groups
	maxID      = 64
	maxAddrs   = 4 // of each node named
	maxAddr    = 128
	eventField = 14      // of a frame
	coordBytes = 24      // of a coordinate
	maxMicros  = 1 << 40 // twelve days: far from where adding to a delay overflows
)

// field bounds one field of a message on the wire: how often it may occur,
// whether it has to, and, if its value is a run of bytes, how long that may be.
type field struct {
	times       int
	need        bool
	least, most int // both 0: the value is a number
	inside      shape
}

// shape bounds the fields of one kind of message. Fields it does not list are
// of a later version and skipped.
type shape map[protowire.Number]field

// The least a stamp takes is its source: 32 bytes, a tag and a length; an
// entry takes its group. Without these minima a frame of empty submessages
// would make the decoder allocate fifty times its size.
var (
	number = field{times: 1}

	stampShape = shape{1: {times: 1, need: true, least: 32, most: 32}, 2: number, 3: number, 4: number, 5: {times: 1, least: 16, most: 16}}
	stampField = field{times: 1, least: 34, most: 96, inside: stampShape}
	headsField = field{times: maxHeads, least: 34, most: 96, inside: stampShape}

	entryShape = shape{1: {times: 1, need: true, least: 32, most: 32}, 2: number, 3: number, 4: headsField}

	nodeShape = shape{1: {times: 1, need: true, least: 1, most: maxID}, 2: {times: maxAddrs, least: 1, most: maxAddr}}

	standShape = shape{1: number, 2: number, 3: number, 4: number, 5: {times: 1, least: coordBytes, most: coordBytes}, 6: number}
	standMost  = 80

	frameShape = shape{
		1: number, 2: number, 3: number, 4: number, 5: number, 6: number,
		7: {times: 1, least: 32, most: 32},
		8: number, 9: number, 10: number,
		11: stampField,
		12: number, 13: number,
		eventField: {times: 1, least: 1, most: MaxEvent},
		15:         {times: maxPath + maxPeers, least: 3, most: 1 << 10, inside: nodeShape},
		16:         {times: 1, least: 1, most: maxPath * 2},
		17:         {times: 1, least: 1, most: maxPeers * 2},
		18:         headsField,
		19:         {times: maxEntries, least: 34, most: 8 << 10, inside: entryShape},
		20:         number, 21: number,
		22: {times: 1, most: standMost, inside: standShape},
		23: {times: maxPath + maxPeers, most: standMost, inside: standShape},
		24: number, 25: number,
	}
)

// census walks a frame without allocating and reports whether everything in
// it is within its bounds. What passes unmarshals into memory proportional to
// the frame.
func (s shape) census(b []byte) reason {
	var seen [32]int
	for len(b) > 0 {
		num, typ, n := protowire.ConsumeTag(b)
		if n < 0 || typ == protowire.StartGroupType {
			return frameMalformed
		}
		b = b[n:]
		size := protowire.ConsumeFieldValue(num, typ, b)
		if size < 0 {
			return frameMalformed
		}
		value := b[:size]
		b = b[size:]
		f, known := s[num]
		if !known {
			continue
		}
		if seen[num]++; seen[num] > f.times {
			return frameTooMany
		}
		if r := f.check(typ, value); r != "" {
			return r
		}
	}
	for num, f := range s {
		if f.need && seen[num] == 0 {
			return frameMalformed
		}
	}
	return ""
}

func (f field) check(typ protowire.Type, value []byte) reason {
	if isBytes := typ == protowire.BytesType; isBytes != (f.most > 0) {
		return frameMalformed
	} else if !isBytes {
		return ""
	}
	body, _ := protowire.ConsumeBytes(value)
	if len(body) < f.least || len(body) > f.most {
		return frameBounds
	}
	if f.inside != nil {
		return f.inside.census(body)
	}
	return ""
}
