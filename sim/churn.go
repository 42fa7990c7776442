package sim

import (
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"github.com/feedtree/feedtree/multicast"
	"github.com/feedtree/feedtree/overlay"
)

// Death is how a node goes.
type Death uint8

// The ways to go, from the worst for the others to the best.
const (
	Silent  Death = iota // a machine without power: its peers notice after the network's Detect
	Hangup               // a killed process: its connections are seen to close, no word is said
	Orderly              // it tells its neighbours, then closes
)

// Kill takes nodes down at once. Those that are down stay so.
func (w *Trees) Kill(how Death, ids ...overlay.ID) {
	for _, id := range ids {
		switch {
		case !w.Alive(id):
		case how == Orderly:
			w.Shut(id)
		case how == Hangup:
			w.Close(id)
		default:
			w.Crash(id)
		}
	}
}

// KillPart takes the given part of the live nodes down at one instant, drawn
// from the seed among all but those to spare, and returns them.
func (w *Trees) KillPart(how Death, part float64, seed uint64, spare ...overlay.ID) []overlay.ID {
	live := slices.DeleteFunc(w.Live(), func(id overlay.ID) bool { return slices.Contains(spare, id) })
	rng := rand.New(rand.NewPCG(seed, uint64(len(live))))
	rng.Shuffle(len(live), func(i, j int) { live[i], live[j] = live[j], live[i] })
	dead := live[:int(math.Round(part*float64(len(live))))]
	w.Kill(how, dead...)
	return dead
}

// Churn describes nodes that come and go: each lives for a time drawn from an
// exponential distribution, goes, and after another such time comes back, or
// somebody new comes in its place.
type Churn struct {
	Session time.Duration // median life; 0: one hour
	Away    time.Duration // median absence; 0: a tenth of Session
	Silent  float64       // part of the deaths that are silent,
	Hangup  float64       // and that hang up; the others are orderly
	Replace bool          // a new node, with nothing from before, joins the groups of the dead one
	Seed    uint64
}

// Churn lets nodes come and go from now on until the returned function is
// called; who is away then still comes back.
func (w *Trees) Churn(c Churn, ids ...overlay.ID) (stop func()) {
	if c.Session == 0 {
		c.Session = time.Hour
	}
	if c.Away == 0 {
		c.Away = c.Session / 10
	}
	p := &process{world: w, churn: c, rng: rand.New(rand.NewPCG(c.Seed, 0x636875726e))}
	for _, id := range ids {
		p.live(id)
	}
	return func() { p.over = true }
}

type process struct {
	world *Trees
	churn Churn
	rng   *rand.Rand
	over  bool
}

func (p *process) after(median time.Duration, f func()) {
	p.world.At(p.world.Now()+time.Duration(p.rng.ExpFloat64()*float64(median)/math.Ln2), f)
}

func (p *process) live(id overlay.ID) {
	p.after(p.churn.Session, func() {
		if p.over {
			return
		}
		how, x := Orderly, p.rng.Float64()
		switch {
		case x < p.churn.Silent:
			how = Silent
		case x < p.churn.Silent+p.churn.Hangup:
			how = Hangup
		}
		p.world.Kill(how, id)
		p.after(p.churn.Away, func() { p.comeBack(id) })
	})
}

func (p *process) comeBack(id overlay.ID) {
	w := p.world
	switch {
	case p.churn.Replace:
		groups := w.bury(id)
		id = w.newborn()
		w.Add(id)
		for _, g := range groups {
			w.Join(g, id)
		}
	case !w.Alive(id): // nobody else brought it up
		w.Restart(id)
	}
	p.live(id)
}

// newborn returns a name that no node has.
func (w *Trees) newborn() overlay.ID {
	for k := len(w.ids); ; k++ {
		if id := overlay.ID("n" + strconv.Itoa(k)); w.find(id) == nil {
			return id
		}
	}
}

// bury ends the memberships of a node that never comes back and returns the
// groups they were in.
func (w *Trees) bury(id overlay.ID) []multicast.Group {
	var groups []multicast.Group
	for _, r := range w.host(id).records {
		if r.Member {
			groups = append(groups, r.Group)
			r.Member = false
		}
		r.recent, r.leased = nil, nil
	}
	return groups
}
