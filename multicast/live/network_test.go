package live

import (
	"math/rand"
	"reflect"
	"strings"
	"testing"
	"testing/quick"
	"testing/synctest"
	"time"

	"github.com/feedtree/feedtree/multicast"
	"github.com/feedtree/feedtree/multicast/tree"
	"github.com/feedtree/feedtree/overlay"
	"github.com/feedtree/feedtree/signing"
)

// These tests run real trees over an overlay in memory, in a bubble of time.

func inNetwork(t *testing.T, n int, judge Judge, body func(t *testing.T, net *memory, nodes []*member)) {
	synctest.Test(t, func(t *testing.T) {
		net, nodes := network(t, n, judge)
		body(t, net, nodes)
		net.end()
	})
}

// FeedTree §4.2: what one member publishes reaches every other member once.
func TestEventsReachEveryMemberOnce(t *testing.T) {
	inNetwork(t, 6, nil, func(t *testing.T, _ *memory, nodes []*member) {
		id := identity(t, 1)
		for _, m := range nodes[1:] {
			m.join(t, nil)
		}
		pass(5 * time.Second)
		nodes[1].publish(t, news(t, id, groupA, 1), 3)
		nodes[1].publish(t, news(t, id, groupA, 2), 0)
		nodes[1].publish(t, beat(t, id, groupA, 2, noon), 0)
		pass(5 * time.Second)
		for _, m := range nodes[2:] {
			m.got(t, "news 1", "news 2", "beat 2")
		}
		nodes[0].got(t)
		nodes[1].got(t)
		edges := 0
		for _, m := range nodes {
			for _, s := range m.loop.Status() {
				edges += len(s.Children)
			}
		}
		if edges < len(nodes)-2 {
			t.Errorf("%d edges among %d members", edges, len(nodes)-1)
		}
		if len(nodes[5].learnt) == 0 {
			t.Error("no addresses of nodes further up were learnt")
		}
	})
}

// A receipt says which nodes hold an event durably.
func TestReceipts(t *testing.T) {
	inNetwork(t, 4, nil, func(t *testing.T, _ *memory, nodes []*member) {
		id := identity(t, 1)
		for _, m := range nodes {
			m.join(t, nil)
		}
		pass(5 * time.Second)
		nodes[0].publish(t, news(t, id, groupA, 1), 3)
		pass(time.Second)
		stamp := multicast.Stamp{Source: multicast.Source(id.Public()), Epoch: 1, Seq: 1}
		for _, m := range nodes[1:] {
			if err := m.loop.Stored(groupA, stamp); err != nil {
				t.Fatal(err)
			}
		}
		pass(time.Second)
		holders := map[overlay.ID]bool{}
		for _, n := range nodes[0].notices {
			if n.Kind == tree.Receipt && n.Stamp == stamp {
				for _, id := range n.Peers {
					holders[id] = true
				}
			}
		}
		if len(holders) != 3 {
			t.Errorf("held by %v, want three nodes", holders)
		}
	})
}

// FeedTree §4.5.2: who was away gets what it missed, and what it had not again.
func TestALateMemberCatchesUp(t *testing.T) {
	inNetwork(t, 4, nil, func(t *testing.T, net *memory, nodes []*member) {
		id := identity(t, 1)
		for _, m := range nodes[:3] {
			m.join(t, nil)
		}
		pass(5 * time.Second)
		for seq := range uint64(4) {
			nodes[0].publish(t, news(t, id, groupA, seq+1), 0)
		}
		pass(time.Second)
		held := multicast.Stamp{Source: multicast.Source(id.Public()), Epoch: 1, Seq: 2}
		nodes[3].join(t, []multicast.Stamp{held}, news(t, id, groupA, 1), news(t, id, groupA, 2))
		pass(5 * time.Second)
		nodes[3].got(t, "news 3", "news 4")
	})
}

// Any node may die without a word: the others get what comes after.
func TestADeadNodeIsReplaced(t *testing.T) {
	for dead := range 5 {
		inNetwork(t, 6, nil, func(t *testing.T, net *memory, nodes []*member) {
			id := identity(t, 1)
			for _, m := range nodes {
				m.join(t, nil)
			}
			pass(5 * time.Second)
			publisher := nodes[5]
			publisher.publish(t, news(t, id, groupA, 1), 0)
			pass(time.Second)
			net.kill(nodes[dead])
			publisher.publish(t, news(t, id, groupA, 2), 0)
			pass(30 * time.Second)
			publisher.publish(t, news(t, id, groupA, 3), 0)
			pass(10 * time.Second)
			for i, m := range nodes[:5] {
				if i != dead {
					m.got(t, "news 1", "news 2", "news 3")
				}
			}
		})
	}
}

// An event altered on its way reaches nobody and goes no further; the copy
// that another neighbour has is had from there.
func TestAlteredOnTheWay(t *testing.T) {
	inNetwork(t, 6, nil, func(t *testing.T, net *memory, nodes []*member) {
		id := identity(t, 1)
		for _, m := range nodes {
			m.join(t, nil)
		}
		pass(5 * time.Second)
		net.mu.Lock()
		net.tamper = func(_, _ overlay.ID, frame []byte) []byte { return forge(frame) }
		net.mu.Unlock()
		nodes[0].publish(t, news(t, id, groupA, 1), 0)
		pass(time.Second)
		refused := uint64(0)
		for _, m := range nodes[1:] {
			m.got(t)
			_, reasons := m.loop.Counters()
			refused += reasons["event: payload"]
		}
		if refused == 0 {
			t.Error("nothing was refused")
		}
		net.mu.Lock()
		net.tamper = nil
		net.mu.Unlock()
		pass(time.Minute)
		for _, m := range nodes[1:] {
			m.got(t, "news 1")
		}
	})
}

// An old event sent again is verified, but stops at its stamp.
func TestReplaysAreDeliveredOnce(t *testing.T) {
	inNetwork(t, 3, nil, func(t *testing.T, _ *memory, nodes []*member) {
		id := identity(t, 1)
		for _, m := range nodes {
			m.join(t, nil)
		}
		pass(5 * time.Second)
		wire := news(t, id, groupA, 1)
		nodes[0].publish(t, wire, 0)
		pass(time.Second)
		for range 10 {
			if err := nodes[1].arrive("n2", dataOf(t, groupA, wire)); err != nil {
				t.Fatal(err)
			}
		}
		pass(time.Second)
		nodes[1].got(t, "news 1")
		if c, _ := nodes[1].loop.Counters(); c.Duplicates < 10 {
			t.Errorf("%d duplicates counted, want 10 or more", c.Duplicates)
		}
	})
}

// A stranger that speaks into the tree reaches no reader, and the feed's own
// events still do.
func TestAStrangerReachesNobody(t *testing.T) {
	feed, stranger := identity(t, 1), identity(t, 2)
	judge := func(e *signing.Envelope) (Verdict, string) {
		if e.Key == feed.Public() {
			return Accept, ""
		}
		return Refuse, "not the feed's key"
	}
	inNetwork(t, 5, judge, func(t *testing.T, _ *memory, nodes []*member) {
		for _, m := range nodes {
			m.join(t, nil)
		}
		pass(5 * time.Second)
		for seq := range uint64(40) {
			nodes[4].publish(t, news(t, stranger, groupA, seq+1), 0)
		}
		nodes[0].publish(t, news(t, feed, groupA, 1), 0)
		pass(5 * time.Second)
		refused := uint64(0)
		for _, m := range nodes[1:] {
			m.got(t, "news 1")
			_, reasons := m.loop.Counters()
			refused += reasons["judge: not the feed's key"]
		}
		if refused == 0 {
			t.Error("nothing was refused")
		}
	})
}

// The node near the root keeps events for others, and serves them after a
// restart.
func TestLeasedEventsAreServed(t *testing.T) {
	inNetwork(t, 2, nil, func(t *testing.T, net *memory, nodes []*member) {
		id := identity(t, 1)
		wire := news(t, id, groupA, 1)
		for _, m := range nodes {
			if err := m.loop.Lease(t.Context(), groupA, [][]byte{wire}); err != nil {
				t.Fatal(err)
			}
		}
		pass(time.Second)
		late := net.add(t, "late", nil)
		late.join(t, nil)
		pass(10 * time.Second)
		late.got(t, "news 1")
	})
}

// Whatever a peer sends, the loop goes on: messages of every type and any
// content, from neighbours and strangers.
func TestNoMessageStopsALoop(t *testing.T) {
	inNetwork(t, 4, nil, func(t *testing.T, net *memory, nodes []*member) {
		id := identity(t, 1)
		for _, m := range nodes {
			m.join(t, nil)
		}
		pass(5 * time.Second)
		rng := rand.New(rand.NewSource(7))
		ids := []overlay.ID{"n0", "n1", "n2", "n3", "stranger", "n9"}
		victim := nodes[2].loop
		for i := range 5000 {
			random, _ := quick.Value(reflect.TypeFor[tree.Message](), rng)
			m := within(random.Interface().(tree.Message))
			if rng.Intn(4) > 0 {
				m.Group = groupA
			}
			for j := range m.Path {
				m.Path[j] = ids[rng.Intn(len(ids))]
			}
			m.Peers = cut(m.Peers, rng.Intn(3))
			for j := range m.Peers {
				m.Peers[j] = ids[rng.Intn(len(ids))]
			}
			if rng.Intn(2) == 0 { // small numbers hit what is there
				m.Edge, m.Ver, m.Hops = m.Edge%4, m.Ver%4, m.Hops%8
				if s := m.Span; s != nil {
					s.Stamp.Epoch, s.From, s.To = s.Stamp.Epoch%3, s.From%90, s.To%90
				}
			}
			if m.Event != nil {
				m.Group, m.Event.Body = groupA, news(t, id, groupA, rng.Uint64()%300+1)
			}
			victim.Frame(ids[rng.Intn(len(ids))], frameOf(t, &m))
			if i%50 == 0 {
				pass(time.Duration(rng.Intn(3000)) * time.Millisecond)
			}
		}
		pass(time.Minute)
		if _, ok := victim.Group(groupA); !ok {
			t.Error("the group is lost")
		}
		_, refused := victim.Counters()
		for why := range refused {
			if strings.HasPrefix(why, "frame:") && why != string(frameSender) || why == string(sendTooMany) {
				t.Errorf("%q counted", why)
			}
		}
	})
}
