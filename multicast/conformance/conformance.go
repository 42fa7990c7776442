package conformance

import (
	"slices"
	"testing"
	"time"

	"github.com/feedtree/feedtree/multicast"
)

// Test runs the suite.
func Test(t *testing.T, b Backend) {
	n := start(t, b)
	t.Run("contract", func(t *testing.T) { // a group, so that the nodes outlive what runs in parallel
		for name, f := range map[string]func(*testing.T, *network){
			"AnyMemberPublishes": anyMemberPublishes,
			"PublisherOutside":   publisherOutside,
			"Unverified":         unverified,
			"Refused":            refused,
			"UnknownKey":         unknownKey,
			"GapIsReported":      gapIsReported,
			"Leave":              leave,
			"Rejoin":             rejoin,
			"LateJoiner":         lateJoiner,
			"TwoGroups":          twoGroups,
			"Burst":              burst,
			"Receipts":           receipts,
			"HeartbeatDue":       heartbeatDue,
			"Heartbeats":         heartbeats,
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				f(t, n)
			})
		}
	})
	t.Run("Close", func(t *testing.T) { closes(t, n) })
}

// Each member publishes on a line of its own; each event reaches each other member
// exactly once, and not the one who said it.
func anyMemberPublishes(t *testing.T, n *network) {
	first := newAuthor(t, "")
	join(t, first.group, nil, n.nodes...)
	var said []multicast.Stamp
	for i, each := range n.nodes {
		a := newAuthor(t, string(rune('a'+i)))
		a.group = first.group
		said = append(said, a.say(t, each))
	}
	for i, s := range said {
		arrives(t, s, others(n.nodes, n.nodes[i])...)
	}
	last := first.say(t, n.nodes[0]) // whatever came twice came before this
	arrives(t, last, n.nodes[1:]...)
	for i, s := range said {
		arrives(t, s, others(n.nodes, n.nodes[i])...)
		if n.nodes[i].times(s) != 0 {
			t.Error("a member was delivered what it published itself")
		}
	}
}

// A node that is no member can publish.
func publisherOutside(t *testing.T, n *network) {
	a := newAuthor(t, "")
	members := n.nodes[1:]
	join(t, a.group, nil, members...)
	arrives(t, a.say(t, n.nodes[0]), members...)
}

// What is not signed by its source is refused, counted, and stops no true event.
func unverified(t *testing.T, n *network) {
	a := newAuthor(t, "")
	join(t, a.group, nil, n.nodes...)
	wire, stamp := a.write(t)
	if err := n.nodes[0].Publish(t.Context(), append(slices.Clone(wire), 0), 0); err == nil {
		t.Error("what does not verify was published")
	}
	if err := n.nodes[0].Publish(t.Context(), wire, 0); err != nil {
		t.Fatal(err)
	}
	arrives(t, stamp, n.nodes[1:]...)

	victim := n.nodes[3]
	next, stamp := a.write(t)
	forged := slices.Clone(next) // with the stamp of the event to come
	forged[len(forged)-1] ^= 1
	before := victim.refusals("event: ")
	n.backend.Forge(t, victim.in, n.nodes[5].net, n.name, wire, forged)
	eventually(t, "the forgery is counted", func() bool { return victim.refusals("event: ") > before })
	for i, each := range n.nodes {
		if each.times(stamp) != 0 {
			t.Errorf("node %d was delivered a forgery", i)
		}
	}
	if err := n.nodes[0].Publish(t.Context(), next, 0); err != nil {
		t.Fatal(err)
	}
	arrives(t, stamp, n.nodes[1:]...)
}

// What the judge refuses is not delivered, and counted under its reason.
func refused(t *testing.T, n *network) {
	a := newAuthor(t, "")
	strict := n.nodes[2]
	strict.rule(a.group, multicast.Refuse)
	join(t, a.group, nil, n.nodes...)
	s := a.say(t, n.nodes[0])
	eventually(t, "it is refused", func() bool { return strict.refusals("judge: not the feed's key") > 0 })
	if strict.times(s) != 0 {
		t.Error("what the judge refused was delivered")
	}
}

// What the judge does not know is delivered once it does.
func unknownKey(t *testing.T, n *network) {
	a := newAuthor(t, "")
	for _, each := range n.nodes[1:] {
		each.rule(a.group, multicast.Unknown)
	}
	join(t, a.group, nil, n.nodes[:3]...)
	s := a.say(t, n.nodes[0])
	for _, each := range n.nodes[1:3] {
		each.rule(a.group, multicast.Accept)
		eventually(t, "the event comes once its key is known", func() bool {
			if err := each.Recheck(a.group); err != nil {
				t.Fatal(err)
			}
			return each.times(s) > 0
		})
		if got := each.times(s); got != 1 {
			t.Errorf("delivered %d times", got)
		}
	}
}

// Lines are dense: who gets 1 and 4 is told that 2 and 3 are missing, and what came
// is not held back.
func gapIsReported(t *testing.T, n *network) {
	a := newAuthor(t, "")
	join(t, a.group, nil, n.nodes...)
	arrives(t, a.say(t, n.nodes[0]), n.nodes[1:]...)
	_, two := a.write(t)
	_, three := a.write(t)
	four := a.say(t, n.nodes[0])
	arrives(t, four, n.nodes[1:]...)
	for i, each := range n.nodes[1:] {
		eventually(t, "the gap is reported", func() bool { return each.missing(two) && each.missing(three) })
		if each.missing(four) || each.times(two) != 0 {
			t.Errorf("node %d: what came is missing, or the other way round", i+1)
		}
	}
}

// Who left is delivered nothing any more.
func leave(t *testing.T, n *network) {
	a := newAuthor(t, "")
	join(t, a.group, nil, n.nodes...)
	arrives(t, a.say(t, n.nodes[0]), n.nodes[1:]...)
	gone := n.nodes[4]
	if err := gone.Leave(a.group); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it left", func() bool { s, ok := gone.Group(a.group); return !ok || !s.Member })
	rest := others(n.nodes[1:], gone)
	var said []multicast.Stamp
	for range 3 {
		said = append(said, a.say(t, n.nodes[0]))
		arrives(t, said[len(said)-1], rest...)
	}
	for _, s := range said {
		if gone.times(s) != 0 {
			t.Error("delivered after the member left")
		}
	}
}

// Who comes back with a cursor gets what it missed, or is told that it missed it.
func rejoin(t *testing.T, n *network) {
	a := newAuthor(t, "")
	join(t, a.group, nil, n.nodes...)
	one := a.say(t, n.nodes[0])
	arrives(t, one, n.nodes[1:]...)
	back := n.nodes[5]
	if err := back.Leave(a.group); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it left", func() bool { s, ok := back.Group(a.group); return !ok || !s.Member })
	var missed []multicast.Stamp
	for range 3 {
		missed = append(missed, a.say(t, n.nodes[0]))
		arrives(t, missed[len(missed)-1], others(n.nodes[1:], back)...)
	}
	join(t, a.group, []multicast.Stamp{one}, back)
	eventually(t, "it is in the group again", func() bool {
		s, _ := back.Group(a.group)
		return s.Audience < 0 || s.Audience >= size-1
	})
	arrives(t, a.say(t, n.nodes[0]), n.nodes[1:]...)
	catchUp := back.Abilities().CatchUp
	for _, s := range missed {
		eventually(t, "what was missed comes, or is told", func() bool {
			return back.times(s) == 1 || !catchUp && back.missing(s)
		})
	}
}

// Who comes late gets what comes from then on, and does not miss what was before.
func lateJoiner(t *testing.T, n *network) {
	a := newAuthor(t, "")
	late := n.nodes[6]
	early := others(n.nodes, late)
	join(t, a.group, nil, early...)
	var before []multicast.Stamp
	for range 3 {
		before = append(before, a.say(t, n.nodes[0]))
		arrives(t, before[len(before)-1], early[1:]...)
	}
	join(t, a.group, nil, late)
	eventually(t, "all know each other", func() bool {
		s, _ := late.Group(a.group)
		return s.Audience < 0 || s.Audience >= size-1
	})
	for range 3 {
		arrives(t, a.say(t, n.nodes[0]), n.nodes[1:]...)
	}
	for _, s := range before {
		if late.missing(s) {
			t.Error("a new member misses what was before it")
		}
	}
}

// Two groups with some of the same members have nothing to do with each other.
func twoGroups(t *testing.T, n *network) {
	a, b := newAuthor(t, "a"), newAuthor(t, "b")
	join(t, a.group, nil, n.nodes[:5]...)
	join(t, b.group, nil, n.nodes[3:]...)
	inA, inB := a.say(t, n.nodes[0]), b.say(t, n.nodes[size-1])
	arrives(t, inA, n.nodes[1:5]...)
	arrives(t, inB, n.nodes[3:size-1]...)
	if err := n.nodes[4].Leave(a.group); err != nil {
		t.Fatal(err)
	}
	arrives(t, b.say(t, n.nodes[size-1]), n.nodes[3:size-1]...)
	for i, each := range n.nodes {
		if i < 3 && each.times(inB) != 0 || i >= 5 && each.times(inA) != 0 {
			t.Errorf("node %d was delivered an event of a group it is not in", i)
		}
	}
}

// A burst loses nothing in silence: each event comes, or is told as missing.
func burst(t *testing.T, n *network) {
	const events = 400
	a := newAuthor(t, "")
	join(t, a.group, nil, n.nodes...)
	arrives(t, a.say(t, n.nodes[0]), n.nodes[1:]...) // from here on a node misses what it lacks
	var said []multicast.Stamp
	for range events {
		said = append(said, a.say(t, n.nodes[0]))
	}
	closing := time.NewTicker(time.Second) // only what comes later shows that the last are missing
	defer closing.Stop()
	for i, each := range n.nodes[1:] {
		whole := func() bool {
			select {
			case <-closing.C:
				a.say(t, n.nodes[0])
			default:
			}
			return !slices.ContainsFunc(said, func(s multicast.Stamp) bool { return each.times(s) == 0 && !each.missing(s) })
		}
		eventually(t, "every event came or is missing", whole)
		for _, s := range said {
			if each.times(s) > 1 {
				t.Errorf("node %d was delivered %v %d times", i+1, s, each.times(s))
			}
			if each.missing(s) && each.Abilities().Fill {
				t.Errorf("node %d misses %v in a whole network", i+1, s)
			}
		}
	}
}

// The source hears who holds its event durably.
func receipts(t *testing.T, n *network) {
	a := newAuthor(t, "")
	join(t, a.group, nil, n.nodes...)
	wire, stamp := a.write(t)
	again := time.NewTicker(time.Second)
	defer again.Stop()
	publish := func() {
		if err := n.nodes[0].Publish(t.Context(), wire, 3); err != nil {
			t.Fatal(err)
		}
	}
	publish()
	eventually(t, "three nodes hold it", func() bool {
		select {
		case <-again.C: // as a publisher does who waits
			publish()
		default:
		}
		holders := map[string]bool{}
		for _, r := range n.nodes[0].noticed(multicast.Receipt, a.group) {
			for _, id := range r.Peers {
				if r.Stamp == stamp {
					holders[string(id)] = true
				}
			}
		}
		return len(holders) >= 3
	})
}

// FeedTree §4.3: a source that promised a sign of life is reminded of it.
func heartbeatDue(t *testing.T, n *network) {
	a := newAuthor(t, "")
	a.ttl = time.Second
	join(t, a.group, nil, n.nodes[:2]...)
	s := a.say(t, n.nodes[0])
	eventually(t, "a heartbeat is due", func() bool {
		return slices.ContainsFunc(n.nodes[0].noticed(multicast.BeatDue, a.group), func(w multicast.Notice) bool {
			return w.Stamp.Source == s.Source
		})
	})
	eventually(t, "its silence is noticed", func() bool {
		return len(n.nodes[1].noticed(multicast.Overdue, a.group)) > 0
	})
}

// A heartbeat is delivered, and proves what was missed.
func heartbeats(t *testing.T, n *network) {
	a := newAuthor(t, "")
	join(t, a.group, nil, n.nodes...)
	arrives(t, a.say(t, n.nodes[0]), n.nodes[1:]...)
	_, two := a.write(t)
	wire, beat := a.beat(t)
	if err := n.nodes[0].Publish(t.Context(), wire, 0); err != nil {
		t.Fatal(err)
	}
	arrives(t, beat, n.nodes[1:]...)
	for _, each := range n.nodes[1:] {
		eventually(t, "what the heartbeat proves is missing", func() bool { return each.missing(two) })
	}
}

// A carrier that ends says so, and harms nobody.
func closes(t *testing.T, n *network) {
	a := newAuthor(t, "")
	leaver := n.add(t)
	members := slices.Clone(n.nodes)
	join(t, a.group, nil, members...)
	arrives(t, a.say(t, n.nodes[0]), members[1:]...)
	if err := leaver.end(); err != nil {
		t.Error(err)
	}
	wire, _ := a.write(t)
	for name, err := range map[string]error{
		"Join": leaver.Join(t.Context(), a.group, nil, nil), "Leave": leaver.Leave(a.group),
		"Publish": leaver.Publish(t.Context(), wire, 0), "Stored": leaver.Stored(a.group, multicast.Stamp{}),
		"Lease": leaver.Lease(t.Context(), a.group, nil), "Recheck": leaver.Recheck(a.group),
		"Ask": leaver.Ask(a.group, nil), "Convict": leaver.Convict(t.Context(), nil),
	} {
		if err == nil {
			t.Errorf("%s after the end: no error", name)
		}
	}
	if err := leaver.Run(t.Context()); err == nil {
		t.Error("a carrier ran twice")
	}
	leaver.Group(a.group)
	leaver.Counters()
	if err := n.nodes[0].Publish(t.Context(), wire, 0); err != nil {
		t.Fatal(err)
	}
	arrives(t, a.say(t, n.nodes[0]), n.nodes[1:size]...)
}
