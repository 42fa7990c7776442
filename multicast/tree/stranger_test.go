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
	c.hop = "parent"
	s := &solo{t: t, n: tree.New(tree.Config{}, c, rand.New(rand.NewPCG(seed, 2)))}
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

func silent(overlay.ID) *tree.Message { return nil }

// stands is an offer of nothing better, by somebody at the end of a way.
func stands(peers []overlay.ID, posts ...tree.Standing) *tree.Message {
	own := tree.Standing{Delay: 400 * time.Millisecond, Weight: 2, At: at(1)}
	return &tree.Message{Type: tree.Offer, Group: group, Self: &own, Path: []overlay.ID{"above 0"},
		Posts: append([]tree.Standing{{Weight: 1 << 16, At: at(0)}}, posts...), Peers: peers}
}

func TestWhoIsAskedNamesAMemberToAskNext(t *testing.T) {
	s := searching(t, &chart{}, 1, 0, 10*time.Millisecond)
	s.link("member")
	own := tree.Standing{Delay: time.Second, Weight: 1, At: at(5)}
	s.receive("asker", tree.Message{Type: tree.Probe, Group: group, Self: &own})
	o := s.one("asker", tree.Offer)
	if !slices.Equal(o.Peers, []overlay.ID{"member"}) || len(o.Posts) != len(o.Path)+1 || o.Posts[len(o.Path)].Weight != 0 {
		t.Errorf("named %v, of whom it tells %v", o.Peers, o.Posts)
	}
	s.receive("member", tree.Message{Type: tree.Probe, Group: group, Self: &own})
	if o := s.one("member", tree.Offer); len(o.Peers) != 0 {
		t.Errorf("who asks is named %v", o.Peers)
	}
}

// Of its lazy links it names the one that is nearest to who asks.
func TestTheMemberNamedIsNear(t *testing.T) {
	s := searching(t, &chart{}, 1, 0, 10*time.Millisecond)
	for i := range int32(5) {
		id := overlay.ID(fmt.Sprint("member ", i))
		s.link(id)
		s.receive(id, tree.Message{Type: tree.Ping, Self: &tree.Standing{At: at(100 * i)}})
	}
	for i := range int32(5) {
		own := tree.Standing{Delay: time.Second, Weight: 1, At: at(100*i + 20)}
		s.receive("asker", tree.Message{Type: tree.Probe, Group: group, Self: &own})
		if o := s.one("asker", tree.Offer); !slices.Equal(o.Peers, []overlay.ID{overlay.ID(fmt.Sprint("member ", i))}) {
			t.Errorf("to who is at %d it names %v", 100*i+20, o.Peers)
		}
	}
}

// The lazy links of a member are the same for hours. What they do not know a search finds
// by asking, one after the other, members that they name.
func TestASearchGoesOnFromMemberToMember(t *testing.T) {
	s := searching(t, &chart{}, 1, 0, 10*time.Millisecond, 20*time.Millisecond)
	s.link("member 0")
	s.link("member 1")
	next := map[overlay.ID]overlay.ID{"member 0": "stranger 0", "member 1": "stranger 0", "stranger 0": "stranger 1", "stranger 1": "stranger 2"}
	ids := s.probes(time.Hour, func(id overlay.ID) *tree.Message {
		if to, ok := next[id]; ok {
			return stands([]overlay.ID{to}, tree.Standing{})
		}
		return nil
	})
	for _, want := range []overlay.ID{"stranger 0", "stranger 1", "stranger 2"} {
		if !slices.Contains(ids, want) {
			t.Errorf("%s was not asked; asked: %v", want, ids)
		}
	}
	if first := slices.Index(ids, "stranger 0"); first < 2 {
		t.Errorf("a stranger was asked before the lazy links: %v", ids)
	}
}

// A leaf whose last edge is longer than the whole way before it looks around every few
// seconds until it has spent what it saved, where one at a good place does so ever less.
func TestWhoHangsFarOffGoesOnLooking(t *testing.T) {
	looks := func(rtt time.Duration) int {
		s := searching(t, &chart{rtt: rtt}, 1, 0, 5*time.Millisecond, 10*time.Millisecond, 15*time.Millisecond)
		s.link("member")
		s.probes(time.Minute, silent)
		n := len(s.probes(2*time.Minute, silent))
		s.probes(5*time.Minute, silent)
		if late := len(s.probes(4*time.Minute, silent)); late > 4 {
			t.Errorf("%d probes in the last four of twelve minutes", late)
		}
		return n
	}
	near, far := looks(4*time.Millisecond), looks(300*time.Millisecond)
	if far < 3*near || far < 12 {
		t.Errorf("in the second and third minute %d probes of a leaf far off, %d of one near by", far, near)
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
		post := tree.Standing{Delay: 50 * time.Millisecond, Weight: 300, At: at(3)}
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
