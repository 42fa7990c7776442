package sim

// A bin is a cache line of events of one slice of time, by slot. Were each event to name the
// next one, a processor would wait for memory once for each of them, and not for all at once.
type bin struct {
	next pile // below this one
	all  [binMost]int32
}

const binMost = 15

// A pile is the bins of one slice: the upper one and, in the lowest bits, how many events are in
// that. All below it are full. Who puts one more there has nothing to look at for it; 0: none.
type pile uint32

const pileBits = 4

func (p pile) bin() int32 { return int32(p >> pileBits) }
func (p pile) n() int     { return int(p & (1<<pileBits - 1)) }

// bins are those of an agenda. They are named from one on, and never move.
type bins struct {
	chunks [][]bin
	unused []int32
}

func (bs *bins) at(b int32) *bin { return &bs.chunks[(b-1)>>chunkBits][(b-1)&(1<<chunkBits-1)] }

// put puts an event on a pile, and returns what that is now.
func (bs *bins) put(p pile, slot int32) pile {
	if p == 0 || p.n() == binMost {
		b := bs.take()
		bs.at(b).next = p
		p = pile(b) << pileBits
	}
	bs.at(p.bin()).all[p.n()] = slot
	return p + 1
}

// take returns a bin that nobody uses.
func (bs *bins) take() int32 {
	if len(bs.unused) == 0 {
		first := int32(len(bs.chunks)<<chunkBits) + 1
		bs.chunks = append(bs.chunks, make([]bin, 1<<chunkBits))
		for b := first + 1<<chunkBits - 1; b >= first; b-- {
			bs.unused = append(bs.unused, b)
		}
	}
	last := len(bs.unused) - 1
	b := bs.unused[last]
	bs.unused = bs.unused[:last]
	return b
}

// drop takes the upper bin away: it returns what lay in it, and the rest of the pile.
func (bs *bins) drop(p pile) (slots []int32, rest pile) {
	b := bs.at(p.bin())
	bs.unused = append(bs.unused, p.bin())
	return b.all[:p.n()], b.next
}
