package fuzz

import (
	"bytes"
	"math/rand/v2"
)

const (
	mostPool  = 4096    // seeds that others take pieces of
	mostInput = 1 << 16 // bytes; larger seeds are cut
	mostSteps = 5       // mutations of one input, each on top of the last
)

// edges are bytes at which parsers decide.
const edges = "\x00\x01\x7f\x80\xff\n\r\t \"'<>&;:/?#[]{}=,.%-+0179azAZ\\"

// mutator makes inputs of inputs.
type mutator struct {
	rng    *rand.Rand
	pool   [][]byte // values of seeds seen so far
	loaded bool     // the corpus is in the pool
}

func newMutator(seed uint64) *mutator {
	return &mutator{rng: rand.New(rand.NewPCG(seed, 0x66757a7a))}
}

// know lets other inputs take pieces of a value.
func (m *mutator) know(value []byte) {
	if len(m.pool) < mostPool && len(value) > 0 {
		m.pool = append(m.pool, bytes.Clone(value[:min(len(value), mostInput)]))
	}
}

// mutate returns an input made of another one, all of it in memory of its own.
func (m *mutator) mutate(values [][]byte) [][]byte {
	made := make([][]byte, len(values))
	for i, v := range values {
		made[i] = bytes.Clone(v[:min(len(v), mostInput)])
	}
	for range 1 + m.rng.IntN(mostSteps) {
		i := m.rng.IntN(len(made))
		made[i] = m.step(made[i])
		made[i] = made[i][:min(len(made[i]), mostInput)]
	}
	return made
}

// step changes a value once.
func (m *mutator) step(b []byte) []byte {
	if len(b) == 0 {
		return append(b, m.piece()...)
	}
	at := m.rng.IntN(len(b))
	switch m.rng.IntN(12) {
	case 0, 1:
		b[at] ^= 1 << m.rng.IntN(8)
	case 2:
		b[at] = byte(m.rng.Uint32())
	case 3:
		b[at] = edges[m.rng.IntN(len(edges))]
	case 4:
		b[at] += byte(m.rng.IntN(35) - 17)
	case 5:
		return append(b[:at:at], b[m.end(b, at):]...)
	case 6:
		return b[:at]
	case 7:
		return splice(b, at, at, b[at:m.end(b, at)])
	case 8:
		return splice(b, at, at, []byte{edges[m.rng.IntN(len(edges))]})
	case 9:
		return splice(b, at, at, m.piece())
	case 10:
		return splice(b, at, m.end(b, at), m.piece())
	case 11:
		return m.swell(b, at)
	}
	return b
}

// swell repeats a piece, seldom so often that what is more than linear shows.
func (m *mutator) swell(b []byte, at int) []byte {
	unit := b[at:m.end(b, at)]
	times := 1 + m.rng.IntN(8)
	if m.rng.IntN(1000) == 0 {
		times = mostInput / len(unit)
	}
	return splice(b, at, at, bytes.Repeat(unit, min(times, mostInput/len(unit))))
}

// end is where a piece ends that begins at a place; most are short.
func (m *mutator) end(b []byte, at int) int {
	most := len(b) - at
	if m.rng.IntN(4) != 0 {
		most = min(most, 16)
	}
	return at + 1 + m.rng.IntN(most)
}

// piece is a part of any seed.
func (m *mutator) piece() []byte {
	if len(m.pool) == 0 {
		return []byte{edges[m.rng.IntN(len(edges))]}
	}
	from := m.pool[m.rng.IntN(len(m.pool))]
	at := m.rng.IntN(len(from))
	return from[at:m.end(from, at)]
}

// splice replaces a part of b. What is put there may be of b.
func splice(b []byte, from, to int, with []byte) []byte {
	made := make([]byte, 0, len(b)-(to-from)+len(with))
	return append(append(append(made, b[:from]...), with...), b[to:]...)
}
