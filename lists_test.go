package feedtree_test

import (
	"testing"
	"time"

	"github.com/feedtree/feedtree"
	"github.com/feedtree/feedtree/multicast"
	"github.com/feedtree/feedtree/signing"
)

// brief leaves the items of a testimony out.
func brief(s *signing.Testimony) *signing.Testimony {
	short := *s
	short.List, short.Items = signing.ListHash(s.Items), nil
	return &short
}

// listener is a node that follows a feed and does not poll it, to which whoever speaks is in
// a network of his own.
func listener(t *testing.T, o *origin, url string) (*feedtree.Node, *feedtree.Subscription) {
	t.Helper()
	n := startNode(t, o, func(c *feedtree.Config) {
		c.Polling = feedtree.Polling{Off: true, Min: time.Hour}
		c.NetworkOf = func(peer string) string { return peer }
	})
	s := subscribe(t, n, url)
	eventually(t, "joined", func() bool { return n.InTree(url) })
	return n, s
}

// A volunteer that leaves out what another listed counts like one that lists it; one
// to a list that nobody has here says nothing, is counted, and convicts nobody.
func TestTestimoniesThatLeaveTheItemsOut(t *testing.T) {
	t.Parallel()
	o := newOrigin(t)
	o.publish("/feed.xml", "a")
	url := o.url("/feed.xml")
	n, s := listener(t, o, url)
	got := collect(t, s)
	one, two, three, four := newTeller(t), newTeller(t), newTeller(t), newTeller(t)
	body := document("", "b", "a")
	n.Deliver(one.word(t, url, one.testimony(t, url, body), "b"), multicast.ViaTree)
	eventually(t, "b", func() bool { return got.got()["b"] == 1 })
	n.Deliver(two.word(t, url, brief(two.testimony(t, url, document("", "x", "b", "a")))), multicast.ViaTree)
	eventually(t, "the list is missed", func() bool { return s.Status().Refused["testimony to a list of items that is not held"] == 1 })
	if w := s.Status().Witnesses; w.Heard != 1 || w.Liars != 0 || trustOf(t, s, "guid:b") != "unconfirmed" {
		t.Errorf("%+v, and b is %s", w, trustOf(t, s, "guid:b"))
	}
	// What nobody here can look up changed what the group was told last: one lists it again.
	n.Deliver(three.word(t, url, three.testimony(t, url, body)), multicast.ViaTree)
	eventually(t, "two list b", func() bool { return trustOf(t, s, "guid:b") == "corroborated" })
	n.Deliver(four.word(t, url, brief(four.testimony(t, url, body))), multicast.ViaTree)
	eventually(t, "four is heard without a list", func() bool { return s.Status().Witnesses.Heard == 3 })
}

// What this node fetched itself stands for its list, too.
func TestAListThatOnlyTheOriginShowed(t *testing.T) {
	t.Parallel()
	o := newOrigin(t)
	o.publish("/feed.xml", "b", "a")
	url := o.url("/feed.xml")
	n, s := listener(t, o, url)
	doc, _, err := s.Document(t.Context())
	if err != nil || len(doc.Items) != 2 {
		t.Fatal(doc, err)
	}
	w := newTeller(t)
	n.Deliver(w.word(t, url, brief(w.testimony(t, url, document("", "b", "a")))), multicast.ViaTree)
	eventually(t, "it is heard", func() bool { return s.Status().Witnesses.Heard == 1 })
}

// What this node holds of the feed is not what a volunteer meant by a list that is missed
// here: not the second time either. It would be one that contradicts who lists the same, and
// be convicted.
func TestAListThatIsMissedStaysMissed(t *testing.T) {
	t.Parallel()
	o := newOrigin(t)
	o.publish("/feed.xml", "a")
	url := o.url("/feed.xml")
	n, s := listener(t, o, url)
	if doc, _, err := s.Document(t.Context()); err != nil || len(doc.Items) != 1 {
		t.Fatal(doc, err)
	}
	one, two, three, four := newTeller(t), newTeller(t), newTeller(t), newTeller(t)
	body := document("", "b", "a") // the origin's next, which this node has not seen
	for i, w := range []*teller{one, two, one} {
		n.Deliver(w.word(t, url, brief(w.testimony(t, url, body))), multicast.ViaTree)
		eventually(t, "the list is missed", func() bool {
			return s.Status().Refused["testimony to a list of items that is not held"] == uint64(i+1)
		})
	}
	for i, w := range []*teller{three, four} {
		n.Deliver(w.word(t, url, w.testimony(t, url, body)), multicast.ViaTree)
		eventually(t, "who lists it is heard", func() bool { return s.Status().Witnesses.Heard == i+1 })
	}
	n.Deliver(one.word(t, url, brief(one.testimony(t, url, body))), multicast.ViaTree)
	eventually(t, "who left it out is heard", func() bool { return s.Status().Witnesses.Heard == 3 })
	if liars := n.Status().Liars; liars != 0 {
		t.Errorf("%d liars, and all said the same", liars)
	}
}

// Volunteers that see the same again say so in a few bytes, and now and then in full.
func TestTheSameAgainIsToldBriefly(t *testing.T) {
	t.Parallel()
	o := newOrigin(t)
	o.publish("/feed.xml", "c", "b", "a")
	url := o.url("/feed.xml")
	nodes := startNodes(t, o, 2)
	for _, n := range nodes {
		subscribe(t, n, url)
	}
	seen := map[bool]bool{}
	eventually(t, "brief ones and full ones", func() bool {
		for _, n := range nodes {
			held, err := n.Store().Envelopes(t.Context(), multicast.GroupOf(url), -1)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range held {
				env, err := signing.Open(e.Wire)
				if err != nil || env.Kind != signing.Heartbeat {
					continue
				}
				if s, err := env.Testimony(); err != nil {
					t.Fatal(err)
				} else if s != nil {
					seen[s.List != [32]byte{}] = true
				}
			}
		}
		return seen[true] && seen[false]
	})
}
