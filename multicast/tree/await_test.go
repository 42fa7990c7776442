package tree_test

import (
	"slices"
	"testing"
	"time"

	"github.com/feedtree/feedtree/multicast/tree"
	"github.com/feedtree/feedtree/overlay"
)

// busy is a full node whose children measure for "first", and the children asked.
func busy(t *testing.T) (*solo, []overlay.ID) {
	s, _ := full(t, 1, 0)
	s.receive("first", better(30))
	return s, s.asked()
}

// asked lists the children that the last step asked where else they could be.
func (s *solo) asked() (ids []overlay.ID) {
	for _, send := range s.out.Sends {
		if m := send.Msg; m.Type == tree.Drop && m.Flags&tree.Confirm != 0 {
			ids = append(ids, send.To)
		}
	}
	return ids
}

// inVain answers for children that would lose more than whoever is to come gains.
func (s *solo) inVain(ids []overlay.ID) {
	for _, id := range ids {
		s.receive(id, answer(s, id, time.Minute))
	}
}

// refused lists whom the last step refused.
func (s *solo) refused() (ids []overlay.ID) {
	for _, send := range s.out.Sends {
		if send.Msg.Type == tree.Refuse {
			ids = append(ids, send.To)
		}
	}
	return ids
}

// Of those that come while a swap is under way the best three wait, and are weighed in
// their order once it is over. Nobody is asked twice at a time.
func TestTheBestOfThoseThatComeWait(t *testing.T) {
	s, ids := busy(t)
	if len(ids) == 0 {
		t.Fatal("nobody was asked for the first one")
	}
	for i, row := range []struct {
		id      overlay.ID
		weight  uint32
		refused []overlay.ID
	}{
		{"of 20", 20, nil},
		{"of 50", 50, nil},
		{"of 10", 10, nil},
		{"of 40", 40, []overlay.ID{"of 10"}},
		{"of 5", 5, []overlay.ID{"of 5"}},
	} {
		s.receive(row.id, better(row.weight))
		if got := s.refused(); !slices.Equal(got, row.refused) || len(s.asked()) > 0 {
			t.Fatalf("row %d: refused are %v, want %v; asked are %v", i, got, row.refused, s.asked())
		}
	}
	for _, next := range []overlay.ID{"of 50", "of 40", "of 20"} {
		s.inVain(ids)
		ids = s.asked()
		if len(ids) == 0 {
			t.Fatalf("nobody was asked for %s: %v", next, s.all())
		}
		if d := s.one(ids[0], tree.Drop); d.Peers[0] != next {
			t.Fatalf("weighed is %s, want %s", d.Peers[0], next)
		}
	}
	s.inVain(ids)
	if ids = s.asked(); len(ids) > 0 {
		t.Errorf("asked are %v once all were weighed", ids)
	}
}

// Who asks how this node stands hears that it would be taken while it may wait, and that it
// would not when three better ones do.
func TestAnOfferCountsThoseThatWait(t *testing.T) {
	s, _ := busy(t)
	offered := func(weight uint32) bool {
		m := better(weight)
		m.Type = tree.Probe
		s.receive("asks", m)
		return s.one("asks", tree.Offer).Flags&tree.Better != 0
	}
	if !offered(5) {
		t.Error("would not be taken although nobody waits")
	}
	for _, id := range []overlay.ID{"a", "b", "c"} {
		s.receive(id, better(20))
	}
	if offered(5) || !offered(50) {
		t.Errorf("taken while three wait that have 20 below them: with 5 %v, with 50 %v", offered(5), offered(50))
	}
}

// Who waits has asked others to be patient for it, and does not wait longer than a second;
// who asks again waits once; one without a parent is not kept waiting at all.
func TestNobodyWaitsForLong(t *testing.T) {
	s, ids := busy(t)
	s.receive("waits", better(20))
	again := better(20)
	again.Edge = 78
	s.receive("waits", again)
	alone := better(20)
	alone.Flags = tree.Detached
	s.receive("alone", alone)
	if r := s.one("alone", tree.Refuse); r.Reason != tree.Full {
		t.Errorf("one without a parent was refused because %v", r.Reason)
	}
	s.receive(ids[0], answer(s, ids[0], 20*time.Millisecond)) // the swap goes on, and takes its time
	for _, id := range ids[1:] {
		s.receive(id, answer(s, id, 20*time.Millisecond))
	}
	s.one("first", tree.Ack)
	s.pass(1100 * time.Millisecond)
	if r := s.one("waits", tree.Refuse); r.Reason != tree.Busy || r.Edge != 78 {
		t.Errorf("refused because %v on edge %d", r.Reason, r.Edge)
	}
}
