package witness

import "slices"

const (
	mostVoices   = 32 // on one side of an item
	fromANetwork = 4  // of them; the others of a network would count for nothing
)

// voice is one source on one side.
type voice struct {
	by      Source
	own     bool
	network string
	parent  [32]byte
}

func (v voice) is(o voice) bool { return v.own == o.own && v.by == o.by }

type voices []voice

// add enters a voice, in the place of what the same source said before.
func (vs *voices) add(v voice) {
	vs.drop(v)
	near := 0
	for _, o := range *vs {
		if o.network == v.network && !o.own {
			near++
		}
	}
	if v.own || near < fromANetwork && len(*vs) < mostVoices {
		*vs = append(*vs, v)
	}
}

func (vs *voices) drop(v voice) { *vs = slices.DeleteFunc(*vs, v.is) }

func (vs voices) has(by Source) bool { return slices.ContainsFunc(vs, voice{by: by}.is) }

func (vs voices) own() bool { return slices.ContainsFunc(vs, func(v voice) bool { return v.own }) }

// independent is how many of the voices can be chosen so that no two share a network
// or a parent, at most limit: a matching of networks to parents. Keys are different
// anyway. Whoever has no parent, as the tree's top, shares none.
func (vs voices) independent(limit int) int {
	m := matching{byNetwork: map[string][]place{}, taken: map[place]string{}}
	var networks []string
	for i, v := range vs {
		if v.network == "" || v.own {
			continue
		}
		at := place{parent: v.parent}
		if v.parent == [32]byte{} {
			at.orphan = i + 1
		}
		if m.byNetwork[v.network] == nil {
			networks = append(networks, v.network)
		}
		m.byNetwork[v.network] = append(m.byNetwork[v.network], at)
	}
	n := 0
	for _, network := range networks {
		if n == limit {
			break
		}
		if m.place(network, map[place]bool{}) {
			n++
		}
	}
	return n
}

// place is a parent, or the lack of one.
type place struct {
	parent [32]byte
	orphan int
}

// matching gives networks places, each to one (Kuhn).
type matching struct {
	byNetwork map[string][]place
	taken     map[place]string
}

func (m *matching) place(network string, tried map[place]bool) bool {
	for _, at := range m.byNetwork[network] {
		if tried[at] {
			continue
		}
		tried[at] = true
		if has, taken := m.taken[at]; !taken || m.place(has, tried) {
			m.taken[at] = network
			return true
		}
	}
	return false
}
