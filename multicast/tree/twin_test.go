package tree_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/feedtree/feedtree/multicast"
	"github.com/feedtree/feedtree/multicast/tree"
	"github.com/feedtree/feedtree/overlay"
)

// Who is told the same at one time gets one message, which says how many others do. One that
// compares what two nodes know of each other is for its receiver alone.
func TestOneMessageTellsAll(t *testing.T) {
	s := alone(t, tree.Config{}, &chart{hop: "parent"})
	s.below("parent")
	most, compared := int32(0), map[overlay.ID]int{}
	for seq := uint64(1); seq <= 200; seq++ {
		if seq < 7 { // at different times, and so not all compare at one
			s.link(overlay.ID(fmt.Sprint("far ", seq)))
		}
		s.push("parent", event(seq))
		s.among(10 * time.Second)
		told := map[*tree.Message]int32{}
		for _, send := range s.out.Sends {
			if send.Msg.Type != tree.Heads {
				continue
			}
			if told[send.Msg]++; send.Msg.Digest != 0 {
				compared[send.To]++
			}
		}
		for m, n := range told {
			if m.Others != n-1 || m.Digest != 0 && n > 1 {
				t.Fatalf("item %d: a message of digest %x for %d, which says that %d others get it", seq, m.Digest, n, m.Others)
			}
			most = max(most, n)
		}
	}
	first := compared["far 1"]
	for k := 1; k <= 6; k++ {
		if n := compared[overlay.ID(fmt.Sprint("far ", k))]; n < first*3/4 || n == 0 {
			t.Errorf("far %d compared %d times, the first of them %d", k, n, first)
		}
	}
	if most < 6 {
		t.Errorf("at most %d were told by one message", most)
	}
}

// Who is told of another group at the same time is told of that one.
func TestHeadsOfTwoGroupsAreTwoMessages(t *testing.T) {
	s := alone(t, tree.Config{}, &chart{hop: "parent"})
	s.below("parent")
	other := multicast.GroupOf("https://example.org/other.xml")
	s.joins(other, "parent", adopted("parent"))
	s.link("far")
	s.receive("near", tree.Message{Type: tree.Link, Group: other, Path: []overlay.ID{"elsewhere", "far"}})
	for seq := uint64(1); seq <= 3; seq++ {
		of := event(seq)
		of.Group = other
		s.push("parent", event(seq))
		s.push("parent", of)
		s.among(10 * time.Second)
		for to, g := range map[overlay.ID]multicast.Group{"far": group, "near": other} {
			for _, m := range s.sent(to, tree.Heads) {
				if len(m.Entries) != 1 || m.Entries[0].Group != g {
					t.Errorf("item %d: %s is told %+v", seq, to, m.Entries)
				}
			}
			if len(s.sent(to, tree.Heads)) == 0 {
				t.Errorf("item %d: %s is told nothing", seq, to)
			}
		}
	}
}

// The lists of an offer that is spent are the next one's.
func TestInquiriesAreUsedAgain(t *testing.T) {
	s := alone(t, tree.Config{}, &chart{hop: "parent"})
	s.below("parent")
	ask := func(out *tree.Outbox) *tree.Message {
		s.n.Step(s.now, tree.Input{Kind: tree.Receive, From: "asker", Msg: &tree.Message{
			Type: tree.Probe, Group: group, Self: &tree.Standing{Weight: 1, At: tree.Coord{Err: 1}}}}, out)
		return out.Sends[len(out.Sends)-1].Msg
	}
	var out tree.Outbox
	first := ask(&out)
	if first.Type != tree.Offer || first.Self == nil || cap(first.Posts) == 0 {
		t.Fatalf("the answer was %+v", first)
	}
	own, posts := first.Self, &first.Posts[:1][0]
	out.Spend(first)
	if len(out.Inquiries) != 1 || first.Type != 0 || len(first.Posts) > 0 {
		t.Fatalf("%d are kept, and of the answer %+v", len(out.Inquiries), first)
	}
	if again := ask(&out); again != first || again.Self != own || &again.Posts[:1][0] != posts {
		t.Error("the next answer was made anew")
	}
}

// What is used again once a message is spent may be written over while its twin is still
// under way: the twin says what was said.
func TestTwin(t *testing.T) {
	for _, typ := range []tree.Type{tree.Probe, tree.Offer, tree.Ping, tree.Pong} {
		m := &tree.Message{Type: typ, Self: &tree.Standing{Weight: 7}, Others: 2}
		if typ == tree.Offer {
			m.Peers, m.Posts = []overlay.ID{"a"}, []tree.Standing{{Weight: 8}}
		}
		twin := m.Twin()
		*m.Self = tree.Standing{}
		for i := range m.Peers {
			m.Peers[i], m.Posts[i] = "b", tree.Standing{}
		}
		if twin.Type != typ || twin.Others != 0 || twin.Self.Weight != 7 || typ == tree.Offer && (twin.Peers[0] != "a" || twin.Posts[0].Weight != 8) {
			t.Errorf("%v: the twin became %+v, its sender %+v", typ, twin, twin.Self)
		}
	}
}
