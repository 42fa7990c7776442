package tree_test

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/feedtree/feedtree/multicast"
	"github.com/feedtree/feedtree/multicast/tree"
	"github.com/feedtree/feedtree/overlay"
	oversim "github.com/feedtree/feedtree/overlay/sim"
	"github.com/feedtree/feedtree/sim"
)

// The tests of this file stand beside the sentences of FeedTree (Sandler,
// Mislove, Post, Druschel 2005), §4.2, §4.3 and §4.5.2, that say what the
// system does. Each goes red when the rule it names is taken out of the core.
//
// What §4.3 says about signatures is not this package's: a Node is only given
// verified events. TestTamper and its neighbours in multicast/live hold that.

func world(nodes int, seed uint64, cfg tree.Config) (*sim.Trees, multicast.Group) {
	w := sim.NewTrees(sim.TreesConfig{Nodes: nodes, Tree: cfg,
		Net: oversim.Config[*tree.Message]{Seed: seed, Latency: oversim.Uniform(20*time.Millisecond, 80*time.Millisecond)}})
	w.RunFor(2 * time.Second)
	return w, w.GroupNamed("feed")
}

func whole(t *testing.T, w *sim.Trees, g multicast.Group) {
	t.Helper()
	for _, h := range w.Missed(g, 0) {
		t.Errorf("missed: %v", h)
	}
	for _, h := range w.Doubled(g) {
		t.Errorf("doubled: %v", h)
	}
}

// §4.2: "Each Scribe group has a 160 bit groupId which serves as the address
// of the group." Ours has 256 bits. Members that share nothing but it meet.
func TestPaper42GroupIDIsTheAddress(t *testing.T) {
	w, g := world(100, 1, tree.Config{})
	w.Join(g, "n3", "n77")
	w.RunFor(10 * time.Second)
	w.Publish(g, "n3", 0)
	w.RunFor(2 * time.Second)
	whole(t, w, g)
	if n := len(w.Record(g, "n77").Deliveries); n != 1 {
		t.Fatalf("%d deliveries, want 1", n)
	}
}

// §4.2: the members' tree is "the union of Pastry routes from all group
// members to the node with nodeId numerically closest to the groupId".
func TestPaper42TreeIsTheUnionOfRoutes(t *testing.T) {
	w := sim.NewTrees(sim.TreesConfig{Nodes: 300, Tree: tree.Config{Children: 1000, AllChildren: 1000},
		Net: oversim.Config[*tree.Message]{Seed: 2, Tables: oversim.Tables{Bucket: 3}}})
	g := w.GroupNamed("feed")
	w.RunFor(2 * time.Second)
	members := w.IDs()[:80]
	w.Join(g, members...)
	if faults := w.Settle(time.Minute); len(faults) > 0 {
		t.Fatal(faults)
	}
	if roots := w.Roots(g); len(roots) != 1 || roots[0] != w.Nearest(g, roots[0]) {
		t.Fatalf("roots %v, nearest to the key %v", roots, w.Nearest(g, members[0]))
	}
	// Tables change when the join opens connections, so the route is compared
	// where it still is what the joiner followed: every parent is closer.
	depth := 0
	for _, id := range w.Live() {
		st, ok := w.Node(id).Status(g)
		if !ok || st.Root {
			continue
		}
		depth = max(depth, len(st.Path))
		if !g.Key().Closer(st.Parent.Key(), id.Key()) {
			t.Errorf("%s hangs below %s, which is farther from the key: no route leads there", id, st.Parent)
		}
		if !st.Member && len(st.Children) == 0 {
			t.Errorf("%s is on no member's route", id)
		}
	}
	if depth < 2 {
		t.Fatalf("depth %d: the routes are too short to show anything", depth)
	}
}

// §4.2: "Membership management is decentralized and requires less than log n
// messages on average, where n is the number of nodes in the overlay."
func TestPaper42JoinCostsLessThanLogN(t *testing.T) {
	const nodes = 1000
	w, g := world(nodes, 3, tree.Config{Children: nodes, AllChildren: nodes})
	members := w.IDs()[:nodes/2]
	for _, id := range members {
		w.Join(g, id)
		w.RunFor(20 * time.Millisecond)
	}
	w.RunFor(2 * time.Second)
	joins := uint64(0)
	for _, tr := range w.Messages() {
		if tr.Type == tree.Join {
			joins = tr.Messages
		}
	}
	per := float64(joins) / float64(len(members))
	t.Logf("%.2f JOIN messages per member, log2 n = %.2f", per, math.Log2(nodes))
	if per >= math.Log2(nodes) || joins < uint64(len(members)) {
		t.Fatalf("%.2f JOIN messages per member", per)
	}
}

// §4.2: "When there are a large number of groups in the system [...] the load
// is naturally balanced among the participating nodes."
func TestPaper42ManyGroupsBalance(t *testing.T) {
	const nodes, groups = 100, 300
	w, _ := world(nodes, 4, tree.Config{})
	load := map[overlay.ID]int{}
	for i := range groups {
		g := w.GroupNamed(fmt.Sprint("feed ", i))
		for j := range 5 {
			w.Join(g, w.IDs()[(i*7+j*13)%nodes])
		}
	}
	w.RunFor(15 * time.Second)
	for i := range groups {
		g := w.GroupNamed(fmt.Sprint("feed ", i))
		for _, id := range w.Live() {
			if st, ok := w.Node(id).Status(g); ok {
				load[id] += len(st.Children)
			}
		}
	}
	most := 0
	for _, n := range load {
		most = max(most, n)
	}
	mean := float64(groups*5) / nodes
	t.Logf("children per node: mean about %.1f, most %d", mean, most)
	if float64(most) > 6*mean {
		t.Errorf("one node has %d children, the mean is %.1f", most, mean)
	}
}

// §4.2: "Scribe uses a periodic heartbeat mechanism to detect broken edges in
// the tree" …
func TestPaper42KeepAliveFindsBrokenEdges(t *testing.T) {
	for seed := uint64(5); seed < 10; seed++ {
		findsBrokenEdges(t, seed)
	}
}

func findsBrokenEdges(t *testing.T, seed uint64) {
	w := sim.NewTrees(sim.TreesConfig{Nodes: 60, Net: oversim.Config[*tree.Message]{Seed: seed, Detect: time.Hour}})
	g := w.GroupNamed("feed")
	w.RunFor(2 * time.Second)
	w.Join(g, w.IDs()...)
	w.RunFor(30 * time.Second)
	var victim overlay.ID
	for _, id := range w.Live() {
		if st, _ := w.Node(id).Status(g); !st.Root && len(st.Children) > 1 {
			victim = id
		}
	}
	if victim == "" {
		t.Fatal("no interior node")
	}
	w.Crash(victim)             // and the transport says nothing for an hour
	w.RunFor(120 * time.Second) // a node with 15 children, 16 lazy links and a parent asks each every 81 seconds, give or take a quarter
	for _, id := range w.Live() {
		if st, _ := w.Node(id).Status(g); st.Parent == victim || slices.Contains(st.Children, victim) {
			t.Errorf("seed %d: %s still has an edge to the dead node", seed, id)
		}
	}
}

// … "this mechanism is lightweight and is only invoked when there are no
// messages being published to a group."
func TestPaper42NoKeepAliveWhileEventsFlow(t *testing.T) {
	var w *sim.Trees
	var g multicast.Group
	onEdges := 0
	w = sim.NewTrees(sim.TreesConfig{Nodes: 20, Net: oversim.Config[*tree.Message]{Seed: 6,
		Latency: oversim.Uniform(20*time.Millisecond, 80*time.Millisecond)},
		Sent: func(_ time.Duration, from, to overlay.ID, m *tree.Message) {
			st, _ := w.Node(from).Status(g)
			if m.Type == tree.Ping && (st.Parent == to || slices.Contains(st.Children, to)) {
				onEdges++
			}
		}})
	g = w.GroupNamed("feed")
	w.RunFor(2 * time.Second)
	w.Join(g, w.IDs()...)
	w.RunFor(30 * time.Second)
	pings := func() int { return onEdges }
	w.Publish(g, "n0", 0)
	w.RunFor(time.Second)
	before := pings()
	for range 60 {
		w.Publish(g, "n0", 0)
		w.RunFor(time.Second)
	}
	flowing := pings() - before
	before = pings()
	w.RunFor(time.Minute)
	idle := pings() - before
	t.Logf("pings in a minute: %d while events flow, %d idle", flowing, idle)
	if flowing > 0 || idle == 0 {
		t.Errorf("%d pings while events flow, %d idle", flowing, idle)
	}
}

// §4.3: items carry "a timestamp and a sequence number, to aid clients in the
// detection of omitted or delayed events"; §4.5.2: "the client will detect a
// gap in the sequence numbers" and "may query its parent to recover the
// missing items".
func TestPaper452GapIsFoundAndAskedFromTheParent(t *testing.T) {
	s := alone(t, tree.Config{}, &chart{hop: "parent", closest: []overlay.ID{"replica"}})
	s.below("root", "parent")
	s.link("lazy")
	s.push("parent", event(1))
	s.push("parent", event(4))
	s.pass(200 * time.Millisecond)
	pull := s.one("parent", tree.Pull)
	if pull.Span.From != 2 || pull.Span.To != 3 {
		t.Fatalf("asked for %d to %d, want 2 to 3", pull.Span.From, pull.Span.To)
	}
	if len(s.sent("lazy", tree.Pull)) > 0 {
		t.Fatal("another node was asked before the parent answered")
	}
}

// §4.3: "The user can be notified immediately of the new entries."
func TestPaper43DeliveredInTheStepThatReceives(t *testing.T) {
	s := alone(t, tree.Config{}, &chart{hop: "parent"})
	s.below("parent")
	s.push("parent", event(1))
	if len(s.out.Deliveries) != 1 || s.out.Deliveries[0].Cursor != 1 {
		t.Fatalf("deliveries %+v", s.out.Deliveries)
	}
	s.push("parent", event(5)) // behind a gap
	if len(s.out.Deliveries) != 1 || s.out.Deliveries[0].Event.Stamp.Seq != 5 || s.out.Deliveries[0].Cursor != 1 {
		t.Fatalf("an item behind a gap: %+v", s.out.Deliveries)
	}
	s.push("parent", event(5))
	if len(s.out.Deliveries) != 0 {
		t.Fatal("delivered twice")
	}
}

// §4.3: the document "is multicast in the overlay to those peers who have
// subscribed to a Scribe group": to them all, and to nobody else's user.
func TestPaper43OnlySubscribersAreTold(t *testing.T) {
	w := sim.NewTrees(sim.TreesConfig{Nodes: 200, Net: oversim.Config[*tree.Message]{Seed: 8, Tables: oversim.Tables{Bucket: 3}}})
	g := w.GroupNamed("feed")
	w.RunFor(2 * time.Second)
	w.Join(g, w.IDs()[:20]...)
	w.RunFor(20 * time.Second)
	w.Publish(g, "n5", 0)
	w.RunFor(2 * time.Second)
	whole(t, w, g)
	forwarders := 0
	for _, id := range w.Live() {
		st, ok := w.Node(id).Status(g)
		if ok && !st.Member {
			forwarders++
		}
		if r := w.Record(g, id); r != nil && !r.Member && len(r.Deliveries) > 0 {
			t.Errorf("%s is no member and was told", id)
		}
	}
	if forwarders == 0 {
		t.Fatal("no forwarders: nothing shown")
	}
}

// §4.3: "If the publisher observes that no new FeedTree events were generated
// during this interval [the time-to-live], the publisher must generate a
// heartbeat event."
func TestPaper43HeartbeatIsDueAfterSilence(t *testing.T) {
	s := alone(t, tree.Config{}, &chart{hop: "parent"})
	s.below("parent")
	publish := func(seq uint64) {
		ev := *event(seq)
		ev.TTL = time.Minute
		s.step(tree.Input{Kind: tree.Publish, Event: ev})
	}
	publish(1)
	s.pass(50 * time.Second)
	if len(s.noticed(tree.BeatDue)) != 0 {
		t.Fatal("a heartbeat before its time")
	}
	publish(2)
	s.pass(50 * time.Second)
	if len(s.noticed(tree.BeatDue)) != 0 {
		t.Fatal("a heartbeat although something was published")
	}
	s.pass(10 * time.Second)
	if len(s.noticed(tree.BeatDue)) != 1 {
		t.Fatal("no heartbeat within the time-to-live")
	}
}

// §4.3: "These heartbeats allow subscribers to know conclusively that no
// published items were lost during the time-to-live period": one that names a
// head this node does not have is a gap, though no further item comes.
func TestPaper43HeartbeatProvesALoss(t *testing.T) {
	s := alone(t, tree.Config{}, &chart{hop: "parent"})
	s.below("parent")
	s.push("parent", event(1))
	s.push("parent", beat(2, 1000))
	s.pass(200 * time.Millisecond)
	if pull := s.one("parent", tree.Pull); pull.Span.From != 2 || pull.Span.To != 2 {
		t.Fatalf("asked for %d to %d, want 2", pull.Span.From, pull.Span.To)
	}
	s.receive("parent", tree.Message{Type: tree.Data, Group: group, Via: multicast.ViaParent, Event: event(2)})
	s.push("parent", beat(2, 2000))
	s.pass(5 * time.Second)
	if n := len(s.sent("parent", tree.Pull)); n != 0 {
		t.Fatalf("%d pulls though nothing is missing", n)
	}
}

// §4.5.2: the client detects "an overdue heartbeat".
func TestPaper452OverdueHeartbeat(t *testing.T) {
	s := alone(t, tree.Config{}, &chart{hop: "parent"})
	s.below("parent")
	ev := *event(1)
	ev.TTL = time.Minute
	s.push("parent", &ev)
	hear := func(d time.Duration) { // the link is alive, the source is silent
		for range int(d / (5 * time.Second)) {
			s.receive("parent", tree.Message{Type: tree.Pong})
			s.pass(5 * time.Second)
			if len(s.noticed(tree.Overdue)) > 0 {
				return
			}
		}
	}
	hear(115 * time.Second)
	if len(s.noticed(tree.Overdue)) != 0 {
		t.Fatal("overdue before two intervals are over")
	}
	hear(10 * time.Second)
	if len(s.noticed(tree.Overdue)) != 1 {
		t.Fatal("nobody was told that the heartbeat is overdue")
	}
}

// §4.5.2: "each member of the system will keep a small fixed buffer with the
// last n items in the feed", and serves from it.
func TestPaper452BufferOfTheLastN(t *testing.T) {
	s := alone(t, tree.Config{Buffer: 8}, &chart{hop: "parent"})
	s.below("parent")
	for seq := range uint64(20) {
		s.push("parent", event(seq+1))
	}
	s.receive("child", tree.Message{Type: tree.Pull, Group: group, Span: &tree.Span{Stamp: event(1).Stamp, From: 11, To: 20}})
	var got []uint64
	for _, m := range s.sent("child", tree.Data) {
		got = append(got, m.Event.Stamp.Seq)
	}
	if want := []uint64{13, 14, 15, 16, 17, 18, 19, 20}; !slices.Equal(got, want) {
		t.Fatalf("served %v, want the last 8", got)
	}
	s.one("child", tree.Lack)
	if st, _ := s.n.Status(group); st.Buffered != 8 {
		t.Fatalf("%d events buffered, want 8", st.Buffered)
	}
}

// §4.5.2: "As a fallback, missing items may be recovered by retrieving the
// conventional RSS feed by HTTP", which is the application's to do once no
// node has them.
func TestPaper452NobodyHasIt(t *testing.T) {
	s := alone(t, tree.Config{}, &chart{hop: "parent", closest: []overlay.ID{"replica"}})
	s.below("root", "parent")
	s.link("lazy")
	s.push("parent", event(1))
	s.push("parent", event(3))
	asked := map[overlay.ID]bool{}
	for range 200 {
		s.pass(100 * time.Millisecond)
		sends, notices := s.out.Sends, s.noticed(tree.Missing)
		for len(sends) > 0 {
			to, m := sends[0].To, sends[0].Msg
			sends = sends[1:]
			if m.Type == tree.Pull {
				asked[to] = true
				s.receive(to, tree.Message{Type: tree.Lack, Group: group, Span: m.Span})
				sends = append(sends, s.out.Sends...)
				notices = append(notices, s.noticed(tree.Missing)...)
			}
		}
		if len(notices) == 0 {
			continue
		}
		if n := notices[0]; n.From != 2 || n.To != 2 {
			t.Fatalf("missing %d to %d, want 2", n.From, n.To)
		}
		for _, id := range []overlay.ID{"parent", "lazy", "root", "replica"} {
			if !asked[id] {
				t.Errorf("%s was never asked", id)
			}
		}
		return
	}
	t.Fatal("the application was never told")
}

// §4.5.2: "Clients coming online should 'catch up'".
func TestPaper452CatchUpAfterAbsence(t *testing.T) {
	w, g := world(40, 9, tree.Config{})
	w.Join(g, w.IDs()...)
	w.RunFor(20 * time.Second)
	w.Publish(g, "n0", 0)
	w.RunFor(2 * time.Second)
	w.Crash("n7")
	for range 20 {
		w.Publish(g, "n0", 0)
		w.RunFor(time.Second)
	}
	w.Restart("n7")
	w.RunFor(10 * time.Second)
	whole(t, w, g)
	if n := w.Notices(tree.Missing); n != 0 {
		t.Errorf("%d times the application was sent to HTTP; the parent's buffer had it all", n)
	}
	caught := 0
	for _, d := range w.Record(g, "n7").Deliveries {
		if d.Via == multicast.ViaCatchUp {
			caught++
		}
	}
	if caught == 0 {
		t.Error("nothing came with the join")
	}
}

// §4.5.2: suppression "can be addressed by distributing the responsibility of
// the Scribe root among several nodes": what only the root held, the next root
// has.
func TestPaper452TheNextRootHasIt(t *testing.T) {
	w, g := world(60, 10, tree.Config{})
	root := w.Nearest(g, "n0")
	author, late := overlay.ID("n1"), overlay.ID("n2")
	if root == author || root == late {
		t.Fatal("another seed, please: the root must be neither author nor reader")
	}
	w.Join(g, author)
	w.RunFor(10 * time.Second)
	w.Publish(g, author, 0)
	w.RunFor(5 * time.Second)
	w.Crash(author)
	w.Crash(root)
	w.RunFor(40 * time.Second)
	w.Join(g, late)
	w.RunFor(20 * time.Second)
	if n := len(w.Record(g, late).Deliveries); n != 1 {
		t.Fatalf("%d deliveries: the event died with its author and its root", n)
	}
}

// §4.5.2: … "and by routing around non-root interior nodes that fail to
// forward events". A parent that keeps its link alive and forwards nothing is
// left, and only when another one has adopted this node.
func TestPaper452RouteAroundASilentParent(t *testing.T) {
	s := alone(t, tree.Config{}, &chart{hop: "parent"})
	s.below("root", "parent")
	s.link("lazy")
	var join *tree.Message
	for seq := uint64(1); seq <= 4 && join == nil; seq++ {
		s.receive("lazy", tree.Message{Type: tree.Heads, Entries: []tree.Entry{{Group: group, Heads: []multicast.Stamp{event(seq).Stamp}}}})
		s.pass(600 * time.Millisecond)
		s.one("lazy", tree.Pull)
		s.receive("lazy", tree.Message{Type: tree.Data, Group: group, Via: multicast.ViaLazy, Event: event(seq)})
		if js := s.sent("root", tree.Join); len(js) > 0 {
			join = js[0]
		}
		s.receive("parent", tree.Message{Type: tree.Pong})
	}
	if join == nil {
		t.Fatal("the parent forwarded nothing four times and is still trusted")
	}
	if st, _ := s.n.Status(group); st.Parent != "parent" {
		t.Fatalf("the old parent was left before there is a new one: %+v", st)
	}
	s.receive("root", tree.Message{Type: tree.Ack, Group: group, Edge: join.Edge, Ver: 1, Path: []overlay.ID{"root"}})
	s.one("parent", tree.Leave)
	if st, _ := s.n.Status(group); st.Parent != "root" {
		t.Fatalf("the new parent is %q", st.Parent)
	}
}
