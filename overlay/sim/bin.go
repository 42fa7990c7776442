package sim

// A bin is a cache line of events of one slice of time, by slot. Were each event to name the
// next one, a processor would wait for memory once for each of them, and not for all at once.
type bin struct {
	next, n int32 // the slice's next bin, 0: none; how many are in this one
	all     [binMost]int32
}

const binMost = 14

func (b *bin) slots() []int32 { return b.all[:b.n] }

// bins are those of an agenda. They are named from one on, and never move.
type bins struct {
	chunks [][]bin
	unused int32 // those that are free, each naming the next; 0 ends
}

func (bs *bins) at(b int32) *bin { return &bs.chunks[(b-1)>>chunkBits][(b-1)&(1<<chunkBits-1)] }

// put puts an event into a slice's first bin, and returns which that is now.
func (bs *bins) put(first, slot int32) int32 {
	if first == 0 || bs.at(first).n == binMost {
		first = bs.take(first)
	}
	b := bs.at(first)
	b.all[b.n] = slot
	b.n++
	return first
}

// take makes an empty bin before another one.
func (bs *bins) take(next int32) int32 {
	if bs.unused == 0 {
		first := int32(len(bs.chunks)<<chunkBits) + 1
		chunk := make([]bin, 1<<chunkBits)
		for k := range chunk {
			chunk[k].next = first + int32(k) + 1
		}
		chunk[len(chunk)-1].next = 0
		bs.chunks, bs.unused = append(bs.chunks, chunk), first
	}
	b := bs.unused
	bs.unused = bs.at(b).next
	*bs.at(b) = bin{next: next}
	return b
}

// drop takes a bin away and returns the one behind it.
func (bs *bins) drop(b int32) (next int32) {
	next = bs.at(b).next
	bs.at(b).next = bs.unused
	bs.unused = b
	return next
}
