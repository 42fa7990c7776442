package tree_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/feedtree/feedtree/multicast"
	"github.com/feedtree/feedtree/multicast/tree"
	"github.com/feedtree/feedtree/overlay"
)

// named finds a node's name that is closer to the group's key than self, or
// farther.
func named(closer bool, not ...overlay.ID) overlay.ID {
	for i := 0; ; i++ {
		id := overlay.ID(fmt.Sprint("node ", i))
		if group.Key().Closer(id.Key(), self.Key()) == closer && !slices.Contains(not, id) {
			return id
		}
	}
}

// A node is root only after a lookup confirmed that nobody reachable is closer.
func TestRootOnlyAfterALookup(t *testing.T) {
	near := named(true)
	s := alone(t, tree.Config{}, &chart{closest: []overlay.ID{near}})
	s.step(tree.Input{Kind: tree.JoinGroup, Group: group})
	if st, _ := s.n.Status(group); st.Root || len(s.out.Lookups) != 1 {
		t.Fatalf("root without a lookup: %+v", st)
	}
	s.step(tree.Input{Kind: tree.Looked, Group: group, OK: true, Nearest: []overlay.ID{near}})
	s.one(near, tree.Join)
	if st, _ := s.n.Status(group); st.Root {
		t.Fatal("root although somebody is closer")
	}
	s.step(tree.Input{Kind: tree.Gone, From: near})
	if st, _ := s.n.Status(group); !st.Root {
		t.Fatal("nobody closer can be reached, and still no root")
	}
}

// A root that learns of somebody closer joins it: trees merge.
func TestRootJoinsACloserOne(t *testing.T) {
	near := named(true)
	c := &chart{}
	s := alone(t, tree.Config{}, c)
	s.step(tree.Input{Kind: tree.JoinGroup, Group: group})
	s.step(tree.Input{Kind: tree.Looked, Group: group, OK: true})
	s.receive("child", tree.Message{Type: tree.Join, Group: group, Edge: 5, Flags: tree.Detached})
	c.hop = near
	s.step(tree.Input{Kind: tree.Routes})
	s.pass(time.Second)
	join := s.one(near, tree.Join)
	s.receive(near, tree.Message{Type: tree.Ack, Group: group, Edge: join.Edge, Ver: 1, Path: []overlay.ID{near}})
	st, _ := s.n.Status(group)
	if st.Root || st.Parent != near {
		t.Fatalf("%+v", st)
	}
	if p := s.one("child", tree.Path); !slices.Equal(p.Path, []overlay.ID{near, self}) {
		t.Fatalf("the child was told %v", p.Path)
	}
}

// No parent whose way to the top leads through oneself, and no child that is
// on the own way to the top.
func TestNoLoops(t *testing.T) {
	s := alone(t, tree.Config{}, &chart{hop: "parent"})
	s.step(tree.Input{Kind: tree.JoinGroup, Group: group})
	join := s.one("parent", tree.Join)
	s.receive("parent", tree.Message{Type: tree.Ack, Group: group, Edge: join.Edge, Ver: 1, Path: []overlay.ID{"top", self, "parent"}})
	s.one("parent", tree.Leave)
	if st, _ := s.n.Status(group); st.Parent != "" {
		t.Fatal("below its own descendant")
	}

	s = alone(t, tree.Config{}, &chart{hop: "parent"})
	s.below("top", "parent")
	s.receive("top", tree.Message{Type: tree.Join, Group: group, Edge: 9})
	if r := s.one("top", tree.Refuse); r.Reason != tree.Loop {
		t.Fatalf("refused because %v", r.Reason)
	}
	s.receive("parent", tree.Message{Type: tree.Path, Group: group, Edge: edgeOf(s), Ver: 2, Path: []overlay.ID{"x", self, "parent"}})
	if st, _ := s.n.Status(group); st.Parent != "" {
		t.Fatal("a loop that closed above was not left")
	}
}

// edgeOf asks a node for the number of its edge to the parent, by a Sync.
func edgeOf(s *solo) uint64 {
	s.t.Helper()
	s.receive("parent", tree.Message{Type: tree.Ping, Digest: 1})
	for _, e := range s.one("parent", tree.Sync).Entries {
		if e.Flags&tree.AsParent == 0 && e.Edge != 0 {
			return e.Edge
		}
	}
	s.t.Fatal("no edge to the parent")
	return 0
}

// A full node names children to ask instead, and adopts nobody.
func TestFullNodePushesDown(t *testing.T) {
	s := alone(t, tree.Config{Children: 2}, &chart{hop: "parent"})
	s.below("parent")
	for i, id := range []overlay.ID{"a", "b", "c"} {
		s.receive(id, tree.Message{Type: tree.Join, Group: group, Edge: uint64(i + 1), Flags: tree.Detached})
	}
	r := s.one("c", tree.Refuse)
	if r.Reason != tree.Full || !slices.Contains(r.Peers, "a") || !slices.Contains(r.Peers, "b") {
		t.Fatalf("%v, try %v", r.Reason, r.Peers)
	}
	if st, _ := s.n.Status(group); len(st.Children) != 2 {
		t.Fatalf("children %v", st.Children)
	}
}

// The cap over all groups holds as well.
func TestCapOverAllGroups(t *testing.T) {
	s := alone(t, tree.Config{AllChildren: 5}, &chart{hop: "parent"})
	adopted := 0
	for i := range 10 {
		g := multicast.GroupOf(fmt.Sprint("https://example.org/", i))
		s.receive("child", tree.Message{Type: tree.Join, Group: g, Edge: 1, Flags: tree.Detached})
		adopted += len(s.sent("child", tree.Ack))
	}
	if adopted != 5 {
		t.Fatalf("adopted %d, want 5", adopted)
	}
}

// Two nodes that ask each other at once do not hang below each other: the one
// nearer to the root becomes the parent.
func TestBothAsk(t *testing.T) {
	for _, closer := range []bool{true, false} {
		other := named(closer)
		s := alone(t, tree.Config{}, &chart{hop: other})
		s.step(tree.Input{Kind: tree.JoinGroup, Group: group})
		s.one(other, tree.Join)
		s.receive(other, tree.Message{Type: tree.Join, Group: group, Edge: 3, Flags: tree.Detached})
		if closer {
			if r := s.one(other, tree.Refuse); r.Reason != tree.Busy {
				t.Fatalf("refused because %v", r.Reason)
			}
		} else {
			s.one(other, tree.Ack)
		}
	}
}

// Hearsay moves nothing but a question to who told it.
func TestHearsayOnlyAsks(t *testing.T) {
	s := alone(t, tree.Config{}, &chart{hop: "parent"})
	s.below("parent")
	s.link("lazy")
	s.push("parent", event(1))
	lie := multicast.Stamp{Source: event(1).Stamp.Source, Epoch: 1, Seq: 1 << 50}
	s.receive("lazy", tree.Message{Type: tree.Heads, Entries: []tree.Entry{{Group: group, Heads: []multicast.Stamp{lie}}}})
	s.pass(10 * time.Second)
	for _, send := range s.out.Sends {
		if send.Msg.Type == tree.Pull && send.To != "lazy" {
			t.Fatalf("%s was asked because of what lazy told", send.To)
		}
	}
	if len(s.sent("lazy", tree.Pull)) == 0 {
		t.Fatal("lazy was not asked")
	}
	if len(s.noticed(tree.Missing)) > 0 {
		t.Fatal("a lie sent the application to HTTP")
	}
	s.push("parent", event(2))
	if len(s.out.Deliveries) != 1 {
		t.Fatal("the next event was not taken")
	}
}

// Receipts reach the source, as many as it wants, from nodes that hold the
// event durably.
func TestReceipts(t *testing.T) {
	s := alone(t, tree.Config{}, &chart{hop: "parent"})
	s.below("parent")
	s.receive("parent", tree.Message{Type: tree.Data, Group: group, Event: event(1), Want: 2})
	if len(s.sent("parent", tree.Held)) != 0 {
		t.Fatal("a receipt before the event is stored")
	}
	s.step(tree.Input{Kind: tree.Stored, Group: group, Stamp: event(1).Stamp})
	if h := s.one("parent", tree.Held); !slices.Equal(h.Peers, []overlay.ID{self}) {
		t.Fatalf("held by %v", h.Peers)
	}
	passed := 0
	for _, id := range []overlay.ID{"a", "b", "c"} {
		s.receive(id, tree.Message{Type: tree.Held, Group: group, Span: &tree.Span{Stamp: event(1).Stamp}, Peers: []overlay.ID{id}})
		passed += len(s.sent("parent", tree.Held))
	}
	if passed != 2 {
		t.Fatalf("%d receipts handed on, want 2", passed)
	}
	s.step(tree.Input{Kind: tree.Publish, Event: multicast.Event{Group: group, Body: []byte("own"),
		Stamp: multicast.Stamp{Source: multicast.Source{9}, Epoch: 1, Seq: 1}}, Want: 3})
	if d := s.one("parent", tree.Data); d.Want != 3 {
		t.Fatalf("wants %d receipts", d.Want)
	}
	s.receive("parent", tree.Message{Type: tree.Held, Group: group, Peers: []overlay.ID{"z"},
		Span: &tree.Span{Stamp: multicast.Stamp{Source: multicast.Source{9}, Epoch: 1, Seq: 1}}})
	if n := s.noticed(tree.Receipt); len(n) != 1 || !slices.Equal(n[0].Peers, []overlay.ID{"z"}) {
		t.Fatalf("notices %+v", s.out.Notices)
	}
}

// A source that comes back, or came before it had a place, asks for receipts of
// an event that went around without: the question is handed on to neighbours.
func TestReceiptsAskedForAgain(t *testing.T) {
	for _, how := range []string{"pushed", "restored"} {
		s := alone(t, tree.Config{}, &chart{hop: "parent"})
		s.below("parent")
		ev := event(1)
		if how == "pushed" {
			s.push("parent", ev)
			s.step(tree.Input{Kind: tree.Stored, Group: group, Stamp: ev.Stamp})
		} else {
			s.step(tree.Input{Kind: tree.Lease, Group: group, Recent: []multicast.Event{*ev}})
		}
		s.receive("source", tree.Message{Type: tree.Join, Group: group, Edge: 7})
		s.receive("source", tree.Message{Type: tree.Data, Group: group, Event: ev, Edge: 7, Want: 3})
		if h := s.one("source", tree.Held); !slices.Equal(h.Peers, []overlay.ID{self}) {
			t.Fatalf("%s: held by %v", how, h.Peers)
		}
		if d := s.one("parent", tree.Data); d.Want != 3 {
			t.Fatalf("%s: the parent is asked for %d receipts, want 3", how, d.Want)
		}
		s.receive("parent", tree.Message{Type: tree.Held, Group: group, Span: &tree.Span{Stamp: ev.Stamp}, Peers: []overlay.ID{"parent"}})
		s.one("source", tree.Held)
		s.receive("source", tree.Message{Type: tree.Data, Group: group, Event: ev, Edge: 7, Want: 3, Hops: 9})
		if len(s.sent("parent", tree.Data)) != 0 {
			t.Fatalf("%s: handed on too far", how)
		}
	}
}

// What came while a node served others is delivered to it when it joins, also what it
// holds for them durably by then; what it held from before is not.
func TestWhatCameForOthersIsDelivered(t *testing.T) {
	s := alone(t, tree.Config{}, &chart{hop: "parent"})
	s.step(tree.Input{Kind: tree.Lease, Group: group, Recent: []multicast.Event{*event(1)}})
	s.receive("root", tree.Message{Type: tree.Data, Flags: tree.Replica, Group: group, Event: event(2)})
	s.step(tree.Input{Kind: tree.Stored, Group: group, Stamp: event(2).Stamp})
	s.step(tree.Input{Kind: tree.JoinGroup, Group: group, Cursor: []multicast.Stamp{event(1).Stamp}})
	if d := s.out.Deliveries; len(d) != 1 || d[0].Event.Stamp != event(2).Stamp {
		t.Errorf("delivered %+v, want the event that came", d)
	}
}

// Who hangs below the root, and who published, is no replica, and takes no
// replica's place.
func TestReplicasAreOthersThanNeighbours(t *testing.T) {
	s := alone(t, tree.Config{}, &chart{closest: []overlay.ID{"source", "child", "a", "b", "c", "d"}})
	s.step(tree.Input{Kind: tree.JoinGroup, Group: group})
	s.pass(time.Minute)
	s.step(tree.Input{Kind: tree.Looked, Group: group, OK: true, Nearest: []overlay.ID{"far"}})
	if st, _ := s.n.Status(group); !st.Root {
		t.Fatalf("no root: %+v", st)
	}
	s.receive("source", tree.Message{Type: tree.Join, Group: group, Edge: 7})
	s.receive("child", tree.Message{Type: tree.Join, Group: group, Edge: 8})
	s.receive("source", tree.Message{Type: tree.Data, Group: group, Event: event(1), Edge: 7, Want: 3})
	var replicas []overlay.ID
	for _, send := range s.out.Sends {
		if send.Msg.Type == tree.Data && send.Msg.Flags&tree.Replica != 0 {
			replicas = append(replicas, send.To)
		}
	}
	if !slices.Equal(replicas, []overlay.ID{"a", "b", "c"}) {
		t.Fatalf("replicas at %v, want a, b and c", replicas)
	}
}

// The cursor opens the gap that it says there is; nothing it covers comes again.
func TestCursor(t *testing.T) {
	s := alone(t, tree.Config{}, &chart{hop: "parent"})
	s.step(tree.Input{Kind: tree.JoinGroup, Group: group, Cursor: []multicast.Stamp{event(5).Stamp}})
	join := s.one("parent", tree.Join)
	if len(join.Heads) != 1 || join.Heads[0].Seq != 5 {
		t.Fatalf("the join says %v", join.Heads)
	}
	s.receive("parent", tree.Message{Type: tree.Ack, Group: group, Edge: join.Edge, Ver: 1, Path: []overlay.ID{"parent"}})
	s.push("parent", event(5))
	if len(s.out.Deliveries) != 0 {
		t.Fatal("delivered again")
	}
	s.push("parent", event(8))
	s.pass(200 * time.Millisecond)
	if pull := s.one("parent", tree.Pull); pull.Span.From != 6 || pull.Span.To != 7 {
		t.Fatalf("asked for %d to %d, want 6 to 7", pull.Span.From, pull.Span.To)
	}
}

// Replayed heartbeats prove nothing: only a later beat counts.
func TestHeartbeatsOnlyForward(t *testing.T) {
	s := alone(t, tree.Config{}, &chart{hop: "parent"})
	s.below("parent")
	s.push("parent", event(1))
	for i, tc := range []struct {
		ev   *multicast.Event
		want int
	}{{beat(1, 10), 1}, {beat(1, 10), 0}, {beat(1, 9), 0}, {beat(1, 11), 1}, {event(2), 1}, {beat(1, 12), 0}, {beat(2, 13), 1}} {
		s.push("parent", tc.ev)
		if len(s.out.Deliveries) != tc.want {
			t.Errorf("step %d, %v: %d deliveries, want %d", i, tc.ev.Stamp, len(s.out.Deliveries), tc.want)
		}
	}
}

// A restarted parent knows nothing of the edge; its answer to the keep-alive
// makes the child join again at once.
func TestRestartedParentIsFound(t *testing.T) {
	s := alone(t, tree.Config{}, &chart{hop: "parent"})
	s.below("parent")
	s.pass(5 * time.Second)
	s.receive("parent", tree.Message{Type: tree.Pong}) // with no edges
	s.one("parent", tree.Sync)
	s.receive("parent", tree.Message{Type: tree.Drop, Group: group, Edge: edgeOf(s), Reason: tree.Unknown})
	s.one("parent", tree.Join)
}
