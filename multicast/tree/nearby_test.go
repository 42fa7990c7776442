package tree_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/feedtree/feedtree/multicast/tree"
	"github.com/feedtree/feedtree/overlay"
)

// searching is a leaf at the end of a way with such delays, in a tree of many. All are at
// one place but for the edge to the parent, which is as long as the chart says.
func searching(t *testing.T, c *chart, seed uint64, delays ...time.Duration) *solo {
	t.Helper()
	return searchingBy(t, tree.Config{}, c, seed, delays...)
}

func searchingBy(t *testing.T, cfg tree.Config, c *chart, seed uint64, delays ...time.Duration) *solo {
	t.Helper()
	c.hop = "parent"
	s := &solo{t: t, n: tree.New(cfg, c, rand.New(rand.NewPCG(seed, 2)))}
	s.step(tree.Input{Kind: tree.JoinGroup, Group: group})
	var path []overlay.ID
	var posts []tree.Standing
	weight := uint32(16) << (4 * (len(delays) - 1))
	for i, d := range delays {
		path = append(path, overlay.ID(fmt.Sprint("above ", i)))
		posts = append(posts, tree.Standing{Delay: d, Weight: weight >> (4 * i), At: at(int32(i))})
	}
	path[len(path)-1] = "parent"
	s.receive("parent", tree.Message{Type: tree.Ack, Group: group, Edge: s.one("parent", tree.Join).Edge, Ver: 1, Path: path, Posts: posts})
	return s
}

// probes lets time pass, answers keep-alives, and lists who was probed. Offers are what
// those probed answer; nil: nothing.
func (s *solo) probes(d time.Duration, offer func(id overlay.ID) *tree.Message) (ids []overlay.ID) {
	for end := s.now + d; s.now < end; {
		s.pass(100 * time.Millisecond)
		for _, send := range s.out.Sends {
			switch m := send.Msg; m.Type {
			case tree.Ping:
				s.pong(send.To, m)
			case tree.Probe:
				ids = append(ids, send.To)
				if o := offer(send.To); o != nil {
					s.receive(send.To, *o)
				}
			}
		}
	}
	return ids
}

// from is an offer of nothing better by somebody so many milliseconds away.
func (c *chart) from(away int32, m *tree.Message) *tree.Message {
	c.rtt = time.Duration(max(away, 1)) * time.Millisecond
	own := *m.Self
	own.At = at(away)
	m.Self = &own
	return m
}

func silent(overlay.ID) *tree.Message { return nil }

// stands is an offer of nothing better, by somebody at the end of a way.
func stands(peers []overlay.ID, posts ...tree.Standing) *tree.Message {
	own := tree.Standing{Delay: 400 * time.Millisecond, Weight: 2, At: at(1)}
	return &tree.Message{Type: tree.Offer, Group: group, Self: &own, Path: []overlay.ID{"above 0"},
		Posts: append([]tree.Standing{{Weight: 1 << 16, At: at(0)}}, posts...), Peers: peers}
}

// Who is asked names those members that are nearest to who asks: of its lazy links, as they
// said in keep-alives where they are, and of all that it asked: who may have many below it,
// for all that is known, is not named.
func TestTheMembersNamedAreNear(t *testing.T) {
	c := &chart{rtt: time.Millisecond}
	s := searching(t, c, 1, 0, 10*time.Millisecond)
	const members, told = 8, 6
	for i := range int32(members) {
		id := overlay.ID(fmt.Sprint("member ", i))
		s.link(id)
		s.receive(id, tree.Message{Type: tree.Ping, Self: &tree.Standing{At: at(100 * i)}})
	}
	named := func(asker overlay.ID, where int32) (ids []overlay.ID) {
		own := tree.Standing{Delay: time.Second, Weight: 1, At: at(where)}
		s.receive(asker, tree.Message{Type: tree.Probe, Group: group, Self: &own})
		o := s.one(asker, tree.Offer)
		for i, id := range o.Peers {
			if p := o.Posts[len(o.Path)+i]; p.Weight != 0 || !p.At.Known() {
				t.Errorf("%s is said to stand %+v", id, p)
			}
			ids = append(ids, id)
		}
		return ids
	}
	for i := range int32(members) {
		var want []overlay.ID
		for far := int32(0); len(want) < told; far++ { // to both sides
			for _, k := range []int32{i - far, i + far} {
				if id := overlay.ID(fmt.Sprint("member ", k)); k >= 0 && k < members && !slices.Contains(want, id) && len(want) < told {
					want = append(want, id)
				}
			}
		}
		if got := named("asker", 100*i-20); !slices.Equal(got, want) {
			t.Errorf("to who is at %d it names %v, want %v", 100*i-20, got, want)
		}
	}
	if got := named("member 1", 110); slices.Contains(got, "member 1") {
		t.Errorf("who asks is named %v", got)
	}
	asked := false
	for !asked && s.now < time.Hour {
		if got := named("asker", 12); slices.Contains(got, "heard of") {
			t.Fatalf("who was only heard of is named: %v", got)
		}
		asked = slices.Contains(s.probes(time.Second, func(id overlay.ID) *tree.Message {
			if id == "heard of" {
				return c.from(12, stands(nil))
			}
			return c.from(90, stands([]overlay.ID{"heard of", "crowded"}, tree.Standing{At: at(12)}, tree.Standing{At: at(11), Weight: 1000, Delay: time.Minute}))
		}), "heard of")
	}
	if got := named("asker", 12); len(got) != told || got[0] != "heard of" || slices.Contains(got, "crowded") {
		t.Errorf("after a search it names %v", got)
	}
}

// A member of a region that none of its lazy links knows finds it from member to member, as
// each names somebody nearer.
func TestASearchGoesOnFromMemberToMember(t *testing.T) {
	c := &chart{rtt: time.Millisecond}
	s := searching(t, c, 1, 0, 10*time.Millisecond, 20*time.Millisecond)
	s.link("member 0")
	s.link("member 1")
	next := map[overlay.ID]overlay.ID{"member 0": "far", "member 1": "far", "far": "nearer", "nearer": "next door"}
	where := map[overlay.ID]int32{"member 0": 200, "member 1": 200, "far": 90, "nearer": 40, "next door": 5}
	ids := s.probes(10*time.Minute, func(id overlay.ID) *tree.Message {
		if to, ok := next[id]; ok {
			return c.from(where[id], stands([]overlay.ID{to}, tree.Standing{At: at(where[to])}))
		}
		return nil
	})
	for _, want := range []overlay.ID{"far", "nearer", "next door"} {
		if !slices.Contains(ids, want) {
			t.Errorf("%s was not asked; asked: %v", want, ids)
		}
	}
	if first := slices.Index(ids, "far"); first < 1 {
		t.Errorf("somebody was asked whom nobody had named yet: %v", ids)
	}
}

// Of all it hears of a member asks the nearest again and again, and nobody far away.
func TestTheNearestAreAsked(t *testing.T) {
	c := &chart{rtt: time.Millisecond}
	s := searching(t, c, 1, 0, 10*time.Millisecond, 20*time.Millisecond)
	s.link("member")
	var ids []overlay.ID
	var posts []tree.Standing
	where := map[overlay.ID]int32{"member": 300, "parent": 100, "above 0": 100, "above 1": 100}
	for i := range int32(12) {
		id := overlay.ID(fmt.Sprint("heard ", i))
		ids, posts = append(ids, id), append(posts, tree.Standing{At: at(20 * i)})
		where[id] = 20 * i
	}
	asked := map[overlay.ID]int{}
	for _, id := range s.probes(10*time.Minute, func(id overlay.ID) *tree.Message {
		if id == "member" {
			return c.from(where[id], stands(ids, posts...))
		}
		return c.from(where[id], stands(nil))
	}) {
		asked[id]++
	}
	for id, n := range asked {
		if where[id] > 300 || where[id] > 160 && id != "parent" && id != "member" && id != "above 0" && id != "above 1" {
			t.Errorf("%s, %d ms away, was asked %d times", id, where[id], n)
		}
	}
	if asked["heard 0"] < 2 {
		t.Errorf("of those near were asked %v", asked)
	}
}

// Who does not answer is not asked again before somebody else names it.
func TestWhoIsGoneIsForgotten(t *testing.T) {
	c := &chart{rtt: time.Millisecond}
	s := searching(t, c, 1, 0, 10*time.Millisecond, 20*time.Millisecond)
	s.link("member")
	asked := 0
	s.probes(time.Hour, func(id overlay.ID) *tree.Message {
		switch {
		case id == "gone":
			asked++
			return nil
		case id == "member" && asked == 0:
			return c.from(100, stands([]overlay.ID{"gone"}, tree.Standing{At: at(2)}))
		}
		return c.from(100, stands(nil))
	})
	if asked != 1 {
		t.Errorf("asked %d times, want once", asked)
	}
}

// askers counts, of so many nodes with nobody below, those that ask one nearby with so many
// below it within a time.
func askers(t *testing.T, runs int, weight uint32, d time.Duration) (n int) {
	t.Helper()
	for seed := range uint64(runs) {
		s := searching(t, &chart{rtt: 20 * time.Millisecond}, seed, 0, 10*time.Millisecond, 20*time.Millisecond)
		s.link("member")
		post := tree.Standing{Delay: time.Minute, Weight: weight, At: at(2)} // no place to go to
		if slices.Contains(s.probes(d, func(overlay.ID) *tree.Message {
			return stands([]overlay.ID{"near"}, post)
		}), "near") {
			n++
		}
	}
	return n
}

// Who has many nodes below it is near to all of its region: of those with nobody below only
// one in so many asks it, and from 32 on in the square of as many. Those that search more
// and more rarely ask it all the same in the end.
func TestTheHeavyAreAskedByFew(t *testing.T) {
	const runs = 400
	light, heavy := askers(t, runs, 2, 3*time.Minute), askers(t, runs, 160, 3*time.Minute)
	if light < runs/4 || heavy == 0 || heavy > light/4 {
		t.Errorf("of %d nodes one with nobody below was asked by %d, one with 160 by %d", runs, light, heavy)
	}
	one, four := askers(t, runs, 80, time.Minute), askers(t, runs, 320, time.Minute)
	if one < 8 || four > one/8 {
		t.Errorf("one with 80 below was asked by %d, one with four times as many by %d", one, four)
	}
	late, all := askers(t, runs, 160, 30*time.Minute), askers(t, runs, 2, 30*time.Minute)
	if late < 2*heavy || late < all/4 {
		t.Errorf("within half an hour one with 160 below was asked by %d, within three minutes by %d; one with nobody below by %d", late, heavy, all)
	}
}

// Who has many nodes below it pauses half as long between searches as who has few: since each
// in vain makes the next pause longer, it has made more of them at any time.
func TestTheHeavySearchMoreOften(t *testing.T) {
	const runs = 40
	searches := func(below uint32) (n int) {
		for seed := range uint64(runs) {
			s := searching(t, &chart{rtt: 4 * time.Millisecond}, seed, 0, 5*time.Millisecond, 10*time.Millisecond)
			own := tree.Standing{Delay: 20 * time.Millisecond, Weight: below, At: at(3)}
			s.receive("child", tree.Message{Type: tree.Join, Group: group, Edge: 1, Flags: tree.Detached, Self: &own})
			s.link("member")
			last := time.Duration(-1)
			for s.now < time.Minute {
				if len(s.probes(100*time.Millisecond, func(overlay.ID) *tree.Message { return stands(nil) })) > 0 {
					if s.now-last > 600*time.Millisecond { // else it is the same search
						n++
					}
					last = s.now
				}
			}
		}
		return n
	}
	if few, many := searches(12), searches(18); few < runs || many < few+runs || many > 2*few {
		t.Errorf("with 18 below it searched %d times, with 12 %d times", many, few)
	}
}

// A search in vain makes the pause before the next longer by two fifths: eight or so in two
// minutes, and after an hour two or three in one.
func TestSearchesInVainBecomeRare(t *testing.T) {
	s := searching(t, &chart{rtt: 4 * time.Millisecond}, 1, 0, 5*time.Millisecond, 10*time.Millisecond)
	s.link("member")
	first := len(s.probes(2*time.Minute, silent))
	s.probes(time.Hour, silent)
	if late := len(s.probes(time.Hour, silent)); first < 8 || first > 40 || late > 10 {
		t.Errorf("%d probes in the first two minutes, %d in the third hour", first, late)
	}
}

// All who ask a parent are told of the same children: they ask those less often than
// others that stand alike.
func TestChildrenNamedToAllAreAskedByFewer(t *testing.T) {
	const runs = 2000
	children, above := 0, 0
	for seed := range uint64(runs) {
		s := searching(t, &chart{rtt: 90 * time.Millisecond}, seed, 0, 100*time.Millisecond, 200*time.Millisecond)
		s.link("member")
		post := tree.Standing{Delay: 50 * time.Millisecond, Weight: 300}
		own := tree.Standing{Delay: 400 * time.Millisecond, Weight: 2, At: at(1)}
		o := tree.Message{Type: tree.Offer, Group: group, Self: &own, Path: []overlay.ID{"above 0", "on the way"},
			Posts: []tree.Standing{{Weight: 4096, At: at(0)}, post, post}, Peers: []overlay.ID{"child"}}
		for _, id := range s.probes(20*time.Second, func(id overlay.ID) *tree.Message {
			if id == "member" {
				return &o
			}
			return nil
		}) {
			switch id {
			case "child":
				children++
			case "on the way":
				above++
			}
		}
	}
	if children == 0 || above < 2*children {
		t.Errorf("the child was asked %d times, one on the way to the top that stands alike %d times", children, above)
	}
}

// contacts is a chart of so many connections, the i-th of them i milliseconds away.
func contacts(many int) *chart {
	c := &chart{rtt: 300 * time.Millisecond, rtts: map[overlay.ID]time.Duration{}}
	for i := range many {
		id := overlay.ID(fmt.Sprint("contact ", (7*i+3)%many))
		c.closest = append(c.closest, id)
		c.rtts[id] = time.Duration((7*i+3)%many+1) * time.Millisecond
	}
	return c
}

// The first members that searches try are the nearest of the overlay's connections, and the
// nearest of them most.
func TestASearchBeginsAtTheNearestConnections(t *testing.T) {
	const remembered, runs = 8, 60
	asked := map[overlay.ID]int{}
	for seed := range uint64(runs) {
		c := contacts(50)
		s := searching(t, c, seed, 0, 10*time.Millisecond, 20*time.Millisecond)
		for _, id := range s.probes(time.Minute, func(id overlay.ID) *tree.Message {
			own := tree.Standing{Delay: 400 * time.Millisecond, Weight: 2, At: at(int32(c.rtts[id] / time.Millisecond))}
			return &tree.Message{Type: tree.Offer, Group: group, Self: &own, Path: []overlay.ID{"above 0"}, Posts: []tree.Standing{{Weight: 1 << 16, At: at(0)}}}
		}) {
			if d, ok := c.rtts[id]; ok {
				asked[id]++
				if d > remembered*time.Millisecond {
					t.Errorf("%s was asked", id)
				}
			}
		}
	}
	if asked["contact 0"] < runs || asked["contact 0"] < 2*asked["contact 1"] || asked["contact 1"] < asked["contact 3"] || asked["contact 3"] == 0 {
		t.Errorf("%v", asked)
	}
}

// Where the group is a small part of the overlay, most connections are no members. They are
// bothered once.
func TestConnectionsThatAreNoMembersAreAskedOnce(t *testing.T) {
	s := searching(t, contacts(50), 1, 0, 10*time.Millisecond, 20*time.Millisecond)
	asked := map[overlay.ID]int{}
	s.probes(2*time.Hour, func(id overlay.ID) *tree.Message {
		if id == "parent" || id == "above 0" || id == "above 1" {
			return nil
		}
		asked[id]++
		return &tree.Message{Type: tree.Offer, Group: group, Flags: tree.Detached}
	})
	if len(asked) != 8 {
		t.Errorf("asked %v, want the nearest eight", asked)
	}
	for id, times := range asked {
		if times > 1 {
			t.Errorf("%s was asked %d times", id, times)
		}
	}
}

// Who has many nodes below it looks for others of its rank: near it are mostly those that
// hang below itself.
func TestTheHeavyAskTheHeavy(t *testing.T) {
	c := &chart{rtt: time.Millisecond}
	s := searching(t, c, 1, 0, 10*time.Millisecond, 20*time.Millisecond)
	s.link("member")
	for i := range 3 {
		own := tree.Standing{Weight: 100, Height: 3, At: at(1)}
		s.receive(overlay.ID(fmt.Sprint("child ", i)), tree.Message{Type: tree.Join, Group: group, Edge: 1, Self: &own})
	}
	post := func(weight uint32, where int32) tree.Standing {
		return tree.Standing{Delay: time.Minute, Weight: weight, At: at(where)}
	}
	asked := map[overlay.ID]int{}
	for _, id := range s.probes(10*time.Minute, func(id overlay.ID) *tree.Message {
		if id == "member" {
			return c.from(300, stands([]overlay.ID{"leaf", "twig", "branch"}, post(1, 2), post(60, 3), post(90, 250)))
		}
		return c.from(250, stands(nil))
	}) {
		asked[id]++
	}
	if asked["branch"] == 0 || asked["leaf"] > 0 || asked["twig"] > 0 {
		t.Errorf("with 301 nodes below it asked %v", asked)
	}
}

// And it is named those: members with a quarter as many nodes below or more, and not so many
// more that it may not ask.
func TestTheHeavyAreNamedTheHeavy(t *testing.T) {
	c := &chart{rtt: time.Millisecond}
	s := searching(t, c, 1, 0, 10*time.Millisecond, 20*time.Millisecond)
	s.link("member")
	var ids []overlay.ID
	var posts []tree.Standing
	for _, w := range []uint32{1, 10, 40, 400, 20_000} {
		ids = append(ids, overlay.ID(fmt.Sprint("with ", w)))
		posts = append(posts, tree.Standing{Delay: time.Minute, Weight: w, At: at(int32(len(ids)))})
	}
	s.probes(5*time.Minute, func(id overlay.ID) *tree.Message {
		if id == "member" {
			return c.from(300, stands(ids, posts...))
		}
		if i := slices.Index(ids, id); i >= 0 {
			return &tree.Message{Type: tree.Offer, Group: group, Self: &posts[i], Path: []overlay.ID{"above 0"}, Posts: []tree.Standing{{Weight: 1 << 16, At: at(0)}}}
		}
		return silent(id)
	})
	for _, row := range []struct {
		asker uint32
		want  []overlay.ID
	}{
		{1, []overlay.ID{"with 1", "with 10"}},
		{100, []overlay.ID{"with 40", "with 400"}},
		{10_000, []overlay.ID{"with 20000"}},
	} {
		own := tree.Standing{Delay: time.Second, Weight: row.asker, At: at(1)}
		s.receive("asker", tree.Message{Type: tree.Probe, Group: group, Self: &own})
		got := slices.DeleteFunc(slices.Clone(s.one("asker", tree.Offer).Peers), func(id overlay.ID) bool { return !slices.Contains(ids, id) })
		slices.Sort(got)
		if !slices.Equal(got, row.want) {
			t.Errorf("who has %d below is named %v, want %v", row.asker, got, row.want)
		}
	}
}
