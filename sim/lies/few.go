package lies

import (
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/feedtree/feedtree/feed/witness"
)

const (
	interval = time.Hour
	rounds   = 120 // polls in a world of the few
	honest   = 18  // volunteers in it
)

// gang is liars that are fewer than K in what counts.
type gang struct {
	rng  *rand.Rand
	k    int
	kind int // what they have in common
	keys [8]int
	next int
	lies []witness.Item
	told uint32
}

func newGang(rng *rand.Rand, k int) *gang {
	g := &gang{rng: rng, k: k, kind: rng.IntN(3)}
	for i := range g.keys {
		g.fresh(i)
	}
	return g
}

// fresh gives a liar a new key.
func (g *gang) fresh(i int) { g.next++; g.keys[i] = g.next }

// forge is what one of them says of an answer.
func (g *gang) forge(i int, s witness.Statement) witness.Statement {
	s.By = name(2, g.keys[i])
	network, parent := i, g.rng.IntN(1000)
	switch g.kind {
	case 0:
		network = i % (g.k - 1)
	case 1:
		parent = i % (g.k - 1)
	}
	s.Network, s.Parent = "liars "+strconv.Itoa(network), name(4, parent)
	if g.kind == 2 {
		s.Network = ""
	}
	for range 1 + g.rng.IntN(8) {
		g.told++
		g.lies = append(g.lies, itemOf(g.told, 1))
	}
	g.lies = g.lies[max(0, len(g.lies)-24):] // the others confirm them
	s.Items = inOrder(append(s.Items, g.lies...))
	switch g.rng.IntN(4) {
	case 0: // under the true validators
		s.Body[9] = byte(g.rng.IntN(256))
	case 1:
		s.Strong, s.Validators, s.Body[9] = false, [32]byte{}, 1
	default:
		s.Validators[9], s.Body[9] = byte(1+g.rng.IntN(255)), byte(1+g.rng.IntN(255))
	}
	s.Taken = s.Taken.Add(time.Duration(g.rng.IntN(120)-100) * time.Minute)
	s.Partial = g.rng.IntN(6) == 0
	return s
}

// playFew plays a world of the few and returns how many lies were told, how many of
// them were shown as corroborated, and how many honest volunteers were taken for
// liars. The panel corroborates at k; the gang is fewer than of.
func playFew(seed uint64, k, of int) (told, believed, framed, true_ int) {
	rng := rand.New(rand.NewPCG(seed, 3))
	o := newOrigin(rng, rng.IntN(10) == 0)
	g := newGang(rng, of)
	p := witness.New(witness.Config{K: k})
	now := time.Duration(0)
	hear := func(s witness.Statement) {
		f := p.Hear(epochZero.Add(now), s)
		for _, it := range f.Changed {
			switch {
			case p.State(it) != witness.Corroborated:
			case isLie(it):
				believed++
			default:
				true_++
			}
		}
		for _, l := range f.Liars {
			if l.By[0] == 2 {
				for i := range g.keys {
					if name(2, g.keys[i]) == l.By {
						g.fresh(i)
					}
				}
			} else {
				framed++
			}
		}
	}
	own := o.answer(now, 0)
	own.Own = true
	hear(own)
	for range rounds {
		now += interval / 2
		o.live()
		switch n := rng.IntN(100); {
		case n < 45:
			hear(g.forge(rng.IntN(len(g.keys)), o.answer(now, rng.IntN(2))))
		case n < 50:
			own := o.answer(now, 0)
			own.Own = true
			hear(own)
		default:
			i := rng.IntN(honest)
			s := o.answer(now, i)
			s.By, s.Network, s.Parent = name(1, i), "honest "+strconv.Itoa(i), name(3, i%5)
			hear(s)
		}
	}
	return int(g.told), believed, framed, true_
}
