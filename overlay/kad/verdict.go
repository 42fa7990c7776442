package kad

import "time"

// A node takes itself for one behind a NAT as soon as others see it at an address
// that is not its own, and for one that can be dialled as soon as somebody outside
// did so unasked. AutoNAT v2 corrects both; it takes two others, or minutes.
type facts struct {
	dialled    int  // addresses at which AutoNAT v2 got through
	vain       int  // addresses at which it did not
	called     bool // somebody outside connected, to an address of an interface here
	translated bool // others see addresses that are none of this machine's, and it has no public one
}

// verdict weighs the facts: what was tried counts more than what it looks like.
func (f facts) verdict() State {
	switch {
	case f.dialled > 0:
		return Public
	case f.vain > 0:
		return Private
	case f.called:
		return Public
	case f.translated:
		return Private
	}
	return Unknown
}

// aloneFor is how long a node that cannot be dialled must know nobody who can
// before it stands in for such a node.
const aloneFor = 2 * time.Second

// posture is how a node behaves toward the others.
type posture struct {
	state   State
	standIn bool
	alone   time.Time // since when nobody is known who can be dialled; zero: somebody is
}

// next is the posture that follows from a verdict, and from whether somebody is
// known who can be dialled. Behind NATs only, those who found each other must do
// without such a node: each serves the others as if it were one.
func (p posture) next(v State, known bool, now time.Time) posture {
	switch {
	case v != Private || known:
		return posture{state: v}
	case p.alone.IsZero():
		return posture{state: v, alone: now}
	}
	return posture{state: v, alone: p.alone, standIn: now.Sub(p.alone) >= aloneFor}
}

// serves reports whether the node is to be found in routing tables, and may be
// the root of trees.
func (p posture) serves() bool { return p.state != Private || p.standIn }
