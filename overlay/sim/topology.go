package sim

import (
	"math"
	"slices"
	"time"
)

// The shape of Scribe's network (Castro et al., JSAC 2002, §V.A): GT-ITM's
// transit–stub model. There the numbers are means, here they are exact.
const (
	transitDomains = 10
	domainRouters  = 5
	transitRouters = transitDomains * domainRouters
	routerStubs    = 10 // stub domains on each transit router
	stubRouters    = 10 // routers in each stub domain
	stubDomains    = transitRouters * routerStubs
	allRouters     = transitRouters + stubDomains*stubRouters

	lanDelay = time.Millisecond
)

// What the paper does not say and is assumed: link delays follow from places
// on a square, where a domain covers a disc of the given radius; they are
// scaled so that the links of the core, those between transit routers, take
// coreDelay in the mean. Links inside a domain are drawn with GT-ITM's usual
// probabilities over what connects it; each stub domain has one link up.
const (
	coreDelay     = 40700 * time.Microsecond
	domainRadius  = 0.15
	stubAway      = 0.06 // of a stub domain from its transit router, at most
	stubRadius    = 0.02
	domainsLinked = 0.5 // probability that two transit domains have a link
	transitLinked = 0.6
	stubLinked    = 0.42
)

// End stands in a Link for the node itself, which is no router.
const End = -1

// Link is a physical link, between routers or, with End at one end, the LAN
// between a node and its router.
type Link struct {
	From, To int // routers: first the transit routers, then the stub domains'
	Delay    time.Duration
}

// Topology is a transit–stub network of 5,050 routers with Scribe's
// parameters. Each place is attached by a LAN link of 1 ms to a random router
// of a stub domain. Messages take the shortest path, which is exact: a stub
// domain has one way out, so no other domain's inside is ever shorter.
type Topology struct {
	seed  uint64
	core  grid
	stubs []grid
	gates []gate // by stub domain
}

// A gate is a stub domain's link to its transit router.
type gate struct {
	router int // within the domain
	delay  time.Duration
}

type spot struct{ x, y float64 }

func (a spot) to(b spot) float64 { return math.Hypot(a.x-b.x, a.y-b.y) }

// around draws a spot on the disc around a.
func (a spot) around(radius float64, draws *uint64) spot {
	r, phi := radius*math.Sqrt(unit(next(draws))), 2*math.Pi*unit(next(draws))
	return spot{a.x + float64(r*math.Cos(phi)), a.y + float64(r*math.Sin(phi))}
}

// NewTransitStub makes the network that follows from a seed.
func NewTransitStub(seed uint64) *Topology {
	t := &Topology{seed: seed, stubs: make([]grid, stubDomains), gates: make([]gate, stubDomains)}
	draws := mix(seed, 0x746f706f6c6f6779)
	spots := make([]spot, 0, transitRouters)
	for range transitDomains {
		centre := spot{unit(next(&draws)), unit(next(&draws))}
		for range domainRouters {
			spots = append(spots, centre.around(domainRadius, &draws))
		}
	}
	core := coreLinks(spots, &draws)
	sum := 0.0
	for _, l := range core {
		sum += spots[l[0]].to(spots[l[1]])
	}
	scale := float64(coreDelay) * float64(len(core)) / sum
	t.core = newGrid(spots, core, scale)
	for d := range t.stubs {
		transit := spots[d/routerStubs]
		centre := transit.around(stubAway, &draws)
		inside := make([]spot, stubRouters)
		for r := range inside {
			inside[r] = centre.around(stubRadius, &draws)
		}
		t.stubs[d] = newGrid(inside, connect(indices(stubRouters), stubLinked, &draws), scale)
		g := within(next(&draws), stubRouters)
		t.gates[d] = gate{g, delayOf(inside[g].to(transit), scale)}
	}
	return t
}

// coreLinks connects the routers of each transit domain, and the domains by
// links between routers drawn from them.
func coreLinks(spots []spot, draws *uint64) [][2]int {
	var links [][2]int
	for d := range transitDomains {
		domain := indices(domainRouters)
		for i := range domain {
			domain[i] += d * domainRouters
		}
		links = append(links, connect(domain, transitLinked, draws)...)
	}
	for _, l := range connect(indices(transitDomains), domainsLinked, draws) {
		a := l[0]*domainRouters + within(next(draws), domainRouters)
		b := l[1]*domainRouters + within(next(draws), domainRouters)
		links = append(links, [2]int{a, b})
	}
	return links
}

func indices(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}

// connect links each of the given to one before it, then any two with
// probability p.
func connect(all []int, p float64, draws *uint64) [][2]int {
	var links [][2]int
	for i := 1; i < len(all); i++ {
		links = append(links, [2]int{all[within(next(draws), i)], all[i]})
	}
	for i := range all {
		for _, b := range all[i+1:] {
			if l := [2]int{all[i], b}; unit(next(draws)) < p && !slices.Contains(links, l) {
				links = append(links, l)
			}
		}
	}
	return links
}

// delayOf is a link's delay in whole microseconds, at least 100.
func delayOf(far, scale float64) time.Duration {
	return max(time.Duration(far*scale).Round(time.Microsecond), 100*time.Microsecond)
}

// A grid is the shortest paths among a few routers.
type grid struct {
	size  int
	delay []time.Duration // from*size+to
	hop   []uint8         // the first router on the way; the target itself if they are neighbours
	links []Link
}

const apart = time.Hour // no way is known yet

func newGrid(spots []spot, links [][2]int, scale float64) grid {
	g := grid{size: len(spots)}
	g.delay = slices.Repeat([]time.Duration{apart}, g.size*g.size)
	g.hop = make([]uint8, g.size*g.size)
	for _, l := range links {
		d := delayOf(spots[l[0]].to(spots[l[1]]), scale)
		g.links = append(g.links, Link{l[0], l[1], d})
		g.set(l[0], l[1], d, l[1])
		g.set(l[1], l[0], d, l[0])
	}
	for i := range g.size {
		g.set(i, i, 0, i)
	}
	for via := range g.size {
		for a := range g.size {
			for b := range g.size {
				if d := g.at(a, via) + g.at(via, b); d < g.at(a, b) {
					g.set(a, b, d, int(g.hop[a*g.size+via]))
				}
			}
		}
	}
	return g
}

func (g *grid) at(a, b int) time.Duration { return g.delay[a*g.size+b] }

func (g *grid) set(a, b int, d time.Duration, hop int) {
	g.delay[a*g.size+b], g.hop[a*g.size+b] = d, uint8(hop)
}

// path appends the links from a to b, first being the number of router 0.
func (g *grid) path(links []Link, a, b, first int) []Link {
	for a != b {
		hop := int(g.hop[a*g.size+b])
		links = append(links, Link{first + a, first + hop, g.at(a, hop)})
		a = hop
	}
	return links
}

// Routers returns how many routers there are.
func (t *Topology) Routers() int { return allRouters }

// Links returns every link between routers, each once.
func (t *Topology) Links() []Link {
	all := slices.Clone(t.core.links)
	for d := range t.stubs {
		for _, l := range t.stubs[d].links {
			all = append(all, Link{number(d, l.From), number(d, l.To), l.Delay})
		}
		all = append(all, Link{number(d, t.gates[d].router), d / routerStubs, t.gates[d].delay})
	}
	return all
}

func number(domain, router int) int { return transitRouters + domain*stubRouters + router }

// stub returns the stub domain of a place and the router there.
func (t *Topology) stub(place uint64) (domain, router int) {
	k := within(mix(place, t.seed), stubDomains*stubRouters)
	return k / stubRouters, k % stubRouters
}

// Latency returns the delay of the shortest path between places, their LANs
// included. It is the same for every message and in both directions.
func (t *Topology) Latency() Latency {
	return func(from, to, _ uint64) time.Duration {
		d, a := t.stub(from)
		e, b := t.stub(to)
		if d == e {
			return 2*lanDelay + t.stubs[d].at(a, b)
		}
		return 2*lanDelay + t.up(d, a) + t.core.at(d/routerStubs, e/routerStubs) + t.up(e, b)
	}
}

// up is the way from a router of a stub domain to the transit router above.
func (t *Topology) up(domain, router int) time.Duration {
	g := t.gates[domain]
	return t.stubs[domain].at(router, g.router) + g.delay
}

// AppendRoute appends to links those on the shortest path between two places, in order:
// first and last the LANs.
func (t *Topology) AppendRoute(links []Link, from, to uint64) []Link {
	d, a := t.stub(from)
	e, b := t.stub(to)
	links = append(links, Link{End, number(d, a), lanDelay})
	if d == e {
		links = t.stubs[d].path(links, a, b, number(d, 0))
	} else {
		g, h, up, down := t.gates[d], t.gates[e], d/routerStubs, e/routerStubs
		links = t.stubs[d].path(links, a, g.router, number(d, 0))
		links = append(links, Link{number(d, g.router), up, g.delay})
		links = t.core.path(links, up, down, 0)
		links = append(links, Link{down, number(e, h.router), h.delay})
		links = t.stubs[e].path(links, h.router, b, number(e, 0))
	}
	return append(links, Link{number(e, b), End, lanDelay})
}
