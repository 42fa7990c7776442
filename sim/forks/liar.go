package forks

import (
	"math/rand/v2"
	"slices"
	"time"

	"github.com/feedtree/feedtree/multicast"
	"github.com/feedtree/feedtree/multicast/tree"
	"github.com/feedtree/feedtree/overlay"
	oversim "github.com/feedtree/feedtree/overlay/sim"
	"github.com/feedtree/feedtree/sim"
)

const (
	words     = 3                // that a liar says twice each
	told      = 2 * time.Minute  // within which everybody is to know
	cutFor    = 20 * time.Second // how long the parts of a network are apart
	lookEvery = 250 * time.Millisecond
)

// outcome is what became of one liar.
type outcome struct {
	met    bool          // honest neighbours held different events
	proved bool          // somebody knew
	first  time.Duration // from the first lie, or the meeting of the parts, until somebody knew
	all    time.Duration // and everybody
	missed int           // honest members that did not learn of it in time
}

// liars are the two lines of one key and who is told which.
type liars struct {
	*sim.Trees
	group   multicast.Group
	source  multicast.Source
	rng     *rand.Rand
	lines   [2]author
	told    [2]map[uint64]multicast.Event // by seq
	nodes   []overlay.ID                  // that speak
	sides   map[overlay.ID]int            // who is told which
	knows   map[overlay.ID]time.Duration
	parted  bool
	started bool
}

// playLiar plays one world of a liar.
func playLiar(seed uint64) outcome {
	rng := rand.New(rand.NewPCG(seed, 1))
	w := &liars{rng: rng, sides: map[overlay.ID]int{}, parted: seed%2 == 1, knows: map[overlay.ID]time.Duration{}}
	id := newIdentity(rng)
	w.source = multicast.Source(id.Public())
	cfg := sim.TreesConfig{Nodes: 20 + rng.IntN(40), Lie: w.lie, Prove: w.prove, Watch: w.watch, Body: 100}
	cfg.Net = oversim.Config[*tree.Message]{Seed: seed, Latency: oversim.Uniform(10*time.Millisecond, 120*time.Millisecond)}
	w.Trees = sim.NewTrees(cfg)
	w.group = w.GroupNamed("feed")
	for i := range w.lines {
		w.lines[i] = author{id: id, group: w.group, ttl: time.Hour}
		w.lines[i].line.Epoch = 1
		w.told[i] = map[uint64]multicast.Event{}
	}
	w.RunFor(2 * time.Second)
	ids := w.IDs()
	w.Join(w.group, ids...)
	w.nodes = ids[:1]
	if w.parted {
		w.nodes = ids[:2]
	}
	w.RunFor(20 * time.Second)
	w.truth()
	return w.lies()
}

// truth is a first event that all get alike. Who promises more becomes the top, and
// has the most neighbours to lie to.
func (w *liars) truth() {
	e := w.lines[0].say(w.Now(), "both")
	w.lines[1].line = w.lines[0].line
	w.told[0][1], w.told[1][1] = e, e
	w.Say(w.nodes[0], e)
	w.RunFor(40 * time.Second)
}

// lies tells the rest twice.
func (w *liars) lies() (o outcome) {
	w.started = true
	if w.parted {
		half := w.IDs()[2:]
		w.rng.Shuffle(len(half), func(i, j int) { half[i], half[j] = half[j], half[i] })
		w.Partition(append(slices.Clone(half[:len(half)/2]), w.nodes[0]))
		w.RunFor(cutFor)
	}
	begin := w.Now()
	for range words {
		for side := range w.lines {
			e := w.lines[side].say(w.Now(), [...]string{"one", "other"}[side])
			w.told[side][e.Stamp.Seq] = e
		}
		for side, id := range w.nodes {
			w.Say(id, w.told[side][w.lines[side].line.Seq])
		}
		o.met = o.met || w.met()
		w.RunFor(time.Duration(w.rng.IntN(2000)) * time.Millisecond)
	}
	if w.parted {
		w.Heal()
		begin = w.Now()
	}
	for w.Now() < begin+told && (!o.met || len(w.knows) < len(w.IDs())-len(w.nodes)) {
		w.RunFor(lookEvery)
		o.met = o.met || w.met()
	}
	for _, at := range w.knows {
		if !o.proved || at-begin < o.first {
			o.first = max(at-begin, 0)
		}
		o.proved = true
		o.all = max(o.all, at-begin)
	}
	o.missed = len(w.IDs()) - len(w.nodes) - len(w.knows)
	return o
}

// side is what a node is told by a liar that tells every other neighbour the other.
func (w *liars) side(to overlay.ID) int {
	side, ok := w.sides[to]
	if !ok {
		side = len(w.sides) % 2
		w.sides[to] = side
	}
	return side
}

// lie is what the liar's node sends: to each neighbour the one line or the other,
// and never a proof.
func (w *liars) lie(from, to overlay.ID, m *tree.Message) *tree.Message {
	if !w.started || !slices.Contains(w.nodes, from) {
		return m
	}
	if m.Type == tree.Fork {
		return nil
	}
	if w.parted {
		return m // each node believes its own
	}
	side := w.side(to)
	twin := *m
	if e := m.Event; e != nil && e.Stamp.Source == w.source {
		other := w.told[side][e.Stamp.Seq]
		twin.Event = &other
	}
	twin.Heads = w.heads(side, m.Heads)
	twin.Entries = slices.Clone(m.Entries)
	for i := range twin.Entries {
		twin.Entries[i].Heads = w.heads(side, twin.Entries[i].Heads)
	}
	return &twin
}

func (w *liars) heads(side int, heads []multicast.Stamp) []multicast.Stamp {
	heads = slices.Clone(heads)
	for i := range heads {
		if e, ok := w.told[side][heads[i].Seq]; ok && heads[i].Source == w.source {
			heads[i].Tag = e.Tag
		}
	}
	return heads
}

// prove is done by honest nodes.
func (w *liars) prove(at overlay.ID, events []multicast.Event) (multicast.Event, bool) {
	if slices.Contains(w.nodes, at) {
		return multicast.Event{}, false
	}
	return prove(events)
}

func (w *liars) watch(now time.Duration, at overlay.ID, n tree.Notice) {
	if _, known := w.knows[at]; n.Kind == tree.Forked && !known && !slices.Contains(w.nodes, at) {
		w.knows[at] = now
	}
}

// met reports whether honest neighbours that can talk hold different events.
func (w *liars) met() bool {
	held := map[overlay.ID]map[uint64]multicast.Tag{}
	for _, id := range w.IDs() {
		if slices.Contains(w.nodes, id) {
			continue
		}
		held[id] = map[uint64]multicast.Tag{}
		for _, d := range w.Record(w.group, id).Deliveries {
			held[id][d.Stamp.Seq] = d.Tag
		}
	}
	for id, own := range held {
		st, ok := w.Node(id).Status(w.group)
		if !ok {
			continue
		}
		for _, other := range append(append(slices.Clone(st.Children), st.Lazy...), st.Parent) {
			for seq, tag := range held[other] {
				if mine, ok := own[seq]; ok && mine != tag && w.connected(id, other) {
					return true
				}
			}
		}
	}
	return false
}

// connected reports whether no partition is between two nodes: each sees the same
// node as the one nearest to the group.
func (w *liars) connected(a, b overlay.ID) bool {
	return w.Nearest(w.group, a) == w.Nearest(w.group, b)
}
