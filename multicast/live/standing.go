package live

import (
	"encoding/binary"
	"math"
	"time"

	"github.com/feedtree/feedtree/multicast/live/internal/wire"
	"github.com/feedtree/feedtree/multicast/tree"
)

// standOut and standIn carry what a node tells about its place in a tree.
func standOut(s tree.Standing) *wire.Standing {
	w := &wire.Standing{Delay: micros(s.Delay), Weight: uint64(s.Weight), Height: uint32(s.Height), Room: uint32(s.Room), Far: uint32(s.Far)}
	if s.At.Known() {
		for _, v := range [...]int32{s.At.At[0], s.At.At[1], s.At.At[2], s.At.At[3], s.At.Height, s.At.Err} {
			w.At = binary.LittleEndian.AppendUint32(w.At, uint32(v))
		}
	}
	return w
}

func standIn(w *wire.Standing) tree.Standing {
	s := tree.Standing{Delay: time.Duration(w.Delay) * time.Microsecond, Weight: uint32(w.Weight), Height: uint8(w.Height), Room: uint8(w.Room), Far: uint16(w.Far)}
	if len(w.At) == coordBytes {
		v := func(i int) int32 { return int32(binary.LittleEndian.Uint32(w.At[4*i:])) }
		if at := (tree.Coord{At: [4]int32{v(0), v(1), v(2), v(3)}, Height: v(4), Err: v(5)}); at.Known() || !at.Valid() {
			s.At = at // else it says nothing, and is written as nothing
		}
	}
	return s
}

func standWithin(w *wire.Standing) bool {
	if w == nil {
		return true
	}
	if w.Delay > maxMicros || w.Weight > math.MaxUint32 || max(w.Height, w.Room) > math.MaxUint8 || w.Far > math.MaxUint16 {
		return false
	}
	at := standIn(w).At
	return len(w.At) == 0 || at.Valid()
}

func micros(d time.Duration) uint64 { return uint64(max(d, 0) / time.Microsecond) }
