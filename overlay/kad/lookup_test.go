package kad

import (
	"testing"

	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/routing"

	"github.com/feedtree/feedtree/overlay"
)

// Whom only the node itself knows is waited for like those that others name: a newcomer
// that is slow to answer would be passed over, and this node be taken for the root.
func TestALookupWaitsForWhomNobodyNames(t *testing.T) {
	var some []entry
	for i := range lookupEnough + 2 {
		id := idOf(t, i)
		some = append(some, entry{id, overlay.ID(id).Key()})
	}
	to := overlay.KeyOf([]byte("a name"))
	var all []peer.ID // nearest first
	for _, id := range nearest(to, some, len(some)) {
		all = append(all, peer.ID(id))
	}
	newcomer, self, others := all[0], all[1], all[2:]
	run := func(last routing.QueryEventType) *query {
		q := &query{to: to, self: self, asked: map[peer.ID]bool{}, answered: map[peer.ID]bool{}}
		q.note(&routing.QueryEvent{Type: routing.SendingQuery, ID: newcomer})
		for _, p := range others {
			q.note(&routing.QueryEvent{Type: routing.SendingQuery, ID: p})
			q.note(&routing.QueryEvent{Type: routing.PeerResponse, ID: p})
		}
		if q.satisfied() {
			t.Error("it does not wait for the nearest, which nobody named")
		}
		q.note(&routing.QueryEvent{Type: last, ID: newcomer})
		if !q.satisfied() {
			t.Error("it goes on although the nearest have answered or failed")
		}
		return q
	}
	if q := run(routing.PeerResponse); q.failedNearer(overlay.ID(self).Key()) {
		t.Error("who answered counts as failed")
	}
	if q := run(routing.QueryError); !q.failedNearer(overlay.ID(self).Key()) {
		t.Error("that the nearest did not answer leaves no doubt who is nearest")
	}
}
