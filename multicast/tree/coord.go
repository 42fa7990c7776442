package tree

import (
	"math"
	"math/rand/v2"
	"time"

	"github.com/feedtree/feedtree/overlay"
)

// Coord is where a node is in the network by its own estimate: a Vivaldi
// coordinate (Dabek et al., SIGCOMM 2004) of four dimensions and a height, in
// microseconds of round-trip time. The height is what every way to the node
// costs, its access link. The zero value is unknown.
type Coord struct {
	At     [4]int32
	Height int32
	Err    int32 // the relative error of late, in thousandths; 0: the coordinate is unknown
}

// Known reports whether c says anything.
func (c Coord) Known() bool { return c.Err > 0 }

// Valid reports whether c is a place on this planet, and so safe to reckon with.
func (c Coord) Valid() bool {
	const most = int32(vivaldiMost / time.Microsecond)
	for _, v := range c.At {
		if v < -most || v > most {
			return false
		}
	}
	return c.Height >= 0 && c.Height <= most && c.Err >= 0 && c.Err <= errNew
}

// RTT estimates the round trip between two coordinates.
func (c Coord) RTT(o Coord) time.Duration {
	var sum float64
	for i := range c.At {
		d := float64(c.At[i]) - float64(o.At[i])
		sum += float64(d * d)
	}
	return time.Duration(math.Sqrt(sum)+float64(c.Height)+float64(o.Height)) * time.Microsecond
}

const (
	vivaldiGain = 0.25
	vivaldiUp   = 0.2              // part of the force that goes into the height
	vivaldiMost = 60 * time.Second // a coordinate beyond it is nonsense, whoever tells it
	errNew      = 1000
	errLeast    = 10
)

// position is a node's coordinate and the latest measurements that it rests on.
// They are gone through again with every new one: most nodes measure a few
// dozen round trips in all, too few to find a place by taking each one once.
type position struct {
	Coord
	seen [samples]sample
	n    int32 // measured so far
}

type sample struct {
	from uint32
	to   Coord
	rtt  int32 // µs
}

const (
	samples = 12
	passes  = 4
)

// rtt is the round trip to a node that has just answered: what the overlay
// measured, or else the time the answer took, which counts the making of a
// connection too.
func (n *Node) rtt(id overlay.ID, asked time.Duration) time.Duration {
	if d, ok := n.router.RTT(id); ok && d > 0 {
		return d
	}
	return max(n.step.now-asked, 1)
}

// learnRTT moves the node's coordinate by one measured round trip to a node
// that told its own.
func (n *Node) learnRTT(from overlay.ID, to Coord, rtt time.Duration) {
	if rtt <= 0 || rtt > vivaldiMost {
		return
	}
	p := &n.at
	if !p.Known() {
		p.Err, p.Height = errNew, 100
	}
	if !to.Known() {
		return
	}
	p.note(sample{from: short(from), to: to, rtt: int32(rtt / time.Microsecond)})
	c := p.afloat()
	for range passes {
		for i := range min(p.n, samples) {
			c.fit(&p.seen[i], n.rng)
		}
	}
	p.move(c)
}

// note keeps a measurement: for each node the latest one.
func (p *position) note(s sample) {
	for i := range min(p.n, samples) {
		if p.seen[i].from == s.from {
			last := (p.n - 1) % samples
			p.seen[i], p.seen[last] = p.seen[last], s
			return
		}
	}
	p.seen[p.n%samples] = s
	p.n++
}

// short is a number to know an ID by, among a dozen.
func short(id overlay.ID) uint32 {
	h := uint32(2166136261)
	for i := range len(id) {
		h = (h ^ uint32(id[i])) * 16777619
	}
	return h
}

// afloat is a coordinate while it moves, in whole microseconds and thousandths at each step:
// as numbers that need not be converted, a place of its own for each.
type afloat struct {
	w, x, y, z  float64
	height, err float64
}

func (c Coord) afloat() afloat {
	return afloat{float64(c.At[0]), float64(c.At[1]), float64(c.At[2]), float64(c.At[3]), float64(c.Height), float64(c.Err)}
}

func (p *position) move(c afloat) {
	p.At = [4]int32{int32(c.w), int32(c.x), int32(c.y), int32(c.z)}
	p.Height, p.Err = int32(c.height), int32(c.err)
}

// fit moves the coordinate a little towards where one measurement wants it. As everywhere in
// this package products are made float64 before they are added: else some processors add them
// without rounding them (Go's specification, on floating-point operators), and what a seed
// gives is another run there.
func (c *afloat) fit(s *sample, rng *rand.Rand) {
	w, x := c.w-float64(s.to.At[0]), c.x-float64(s.to.At[1])
	y, z := c.y-float64(s.to.At[2]), c.z-float64(s.to.At[3])
	length := math.Sqrt(float64(w*w) + float64(x*x) + float64(y*y) + float64(z*z))
	measured := float64(s.rtt)
	guess := math.Trunc(length + c.height + float64(s.to.Height)) // as RTT has it
	own, other := float64(c.err*c.err), float64(float64(s.to.Err)*float64(s.to.Err))
	weight := own / (own + other)
	gain := float64(vivaldiGain * weight)
	off := math.Abs(guess-measured) / measured * 1000
	e := float64(off*vivaldiGain*weight) + float64(c.err*(1-gain))
	c.err = math.Trunc(bounded(e, errLeast, errNew))
	c.pushAway(w, x, y, z, length, gain*(measured-guess), rng)
}

// pushAway moves the coordinate by force along the way from another one, in a
// random direction if the two coincide.
func (c *afloat) pushAway(w, x, y, z, length, force float64, rng *rand.Rand) {
	if length < 1 {
		w, x = float64(rng.Float64())-0.5, float64(rng.Float64())-0.5
		y, z = float64(rng.Float64())-0.5, float64(rng.Float64())-0.5
		length = max(math.Sqrt(float64(w*w)+float64(x*x)+float64(y*y)+float64(z*z)), 1e-9)
	}
	c.w, c.x = micros(c.w+force*w/length), micros(c.x+force*x/length)
	c.y, c.z = micros(c.y+force*y/length), micros(c.z+force*z/length)
	c.height = max(micros(c.height+float64(force*vivaldiUp)), 100)
}

// micros are whole ones, and no more than a coordinate may have.
func micros(f float64) float64 {
	const most = float64(vivaldiMost / time.Microsecond)
	return math.Trunc(bounded(f, -most, most))
}

// bounded is min(max(f, least), most). Those look for what is no number, too: with them
// learning a round trip takes a fifth longer, and it is a twelfth of what a node computes.
func bounded(f, least, most float64) float64 {
	if f < least {
		return least
	}
	if f > most {
		return most
	}
	return f
}
