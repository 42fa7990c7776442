package kad

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/routing"

	"github.com/feedtree/feedtree/overlay"
)

const (
	lookupPatience = time.Second     // without any answer
	lookupLimit    = 8 * time.Second // altogether
	lookupKeep     = 32              // of those named
	lookupEnough   = 4               // of the nearest that are known, who have all answered
)

// Why a lookup has no result.
var (
	ErrAlone    = errors.New("no other node known yet")
	ErrNoAnswer = errors.New("no node answered")
)

// Lookup asks the network who is nearest to the position of name, which is
// overlay.KeyOf(name), until the nearest four that anybody knows of have answered. It
// returns those who answered, nearest first, without Self: the node itself is the root
// if it is closer than the first. A peer that does not answer delays it by about a
// second and is checked on. Where nobody was nearer than this node, the answer is given
// again for up to a quarter of an hour, unless somebody new is known or one of the
// nearest is gone.
func (n *Node) Lookup(ctx context.Context, name []byte) ([]overlay.ID, error) {
	if len(n.table.entries()) == 0 {
		return nil, ErrAlone
	}
	if !n.enter() {
		return nil, ErrClosed
	}
	defer n.leave()
	if ids, ok := n.stillOwned(string(name)); ok {
		n.count.inc(lookupsSpared)
		return ids, nil
	}
	n.count.inc(lookups)
	era := n.table.owned.now()
	q := query{to: overlay.KeyOf(name), self: n.host.ID(), asked: make(map[peer.ID]bool), answered: make(map[peer.ID]bool)}
	q.run(ctx, n, string(name))
	for p := range q.asked {
		if !q.enough {
			n.doubt(p, 0)
		}
	}
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case len(q.answered) == 0:
		n.count.inc(lookupsUnanswered)
		return nil, ErrNoAnswer
	}
	if q.cut {
		n.count.inc(lookupsCut)
	}
	all := make([]entry, 0, len(q.answered))
	for p := range q.answered {
		all = append(all, entry{p, overlay.ID(p).Key()})
	}
	found := nearest(overlay.KeyOf(name), all, n.set.BucketSize)
	if q.to.Closer(n.table.self, found[0].Key()) && !q.cut && !q.failedNearer(n.table.self) {
		n.table.owned.note(string(name), finding{time.Now(), found}, era)
	}
	return found, nil
}

// A query follows one lookup of the DHT through its events, because its result
// does not say who answered, and its own patience is ten seconds.
type query struct {
	to       overlay.Key
	near     []entry          // the nearest that were asked or named, nearest first
	asked    map[peer.ID]bool // and have neither answered nor failed
	answered map[peer.ID]bool
	failed   []peer.ID
	self     peer.ID
	cut      bool // given up with somebody still asked
	enough   bool // ended because the nearest have answered
}

func (q *query) run(outer context.Context, n *Node, name string) {
	ctx, cancel := context.WithTimeout(outer, lookupLimit)
	defer cancel()
	stop := context.AfterFunc(n.ctx, cancel)
	defer stop()
	ctx, events := routing.RegisterForQueryEvents(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = n.dht.GetClosestPeers(ctx, name)
	}()
	quiet := time.NewTimer(lookupPatience)
	defer quiet.Stop()
	for {
		select {
		case e, ok := <-events:
			if !ok {
				events = nil
			} else if q.note(e) {
				quiet.Reset(lookupPatience)
			}
			if q.satisfied() {
				q.enough = true
				cancel()
			}
			continue
		case <-quiet.C:
			q.cut = !q.enough
			cancel()
			continue
		case <-done:
		}
		cancel()
		for events != nil {
			if e, ok := <-events; ok {
				q.note(e)
			} else {
				events = nil
			}
		}
		return
	}
}

// note reports whether the event is an answer. After the cut, failures are of
// our making and say nothing.
func (q *query) note(e *routing.QueryEvent) bool {
	switch e.Type {
	case routing.DialingPeer, routing.SendingQuery:
		q.asked[e.ID] = true
		q.meet(e.ID) // nobody else may know it yet
	case routing.QueryError:
		if !q.cut && !q.enough {
			delete(q.asked, e.ID)
			q.near = slices.DeleteFunc(q.near, func(k entry) bool { return k.peer == e.ID })
			q.failed = append(q.failed, e.ID)
		}
	case routing.PeerResponse:
		delete(q.asked, e.ID)
		q.answered[e.ID] = true
		q.meet(e.ID)
		for _, named := range e.Responses {
			q.meet(named.ID)
		}
		return true
	}
	return false
}

// failedNearer reports whether somebody nearer than self was asked in vain: it may be
// back before anybody notices.
func (q *query) failedNearer(self overlay.Key) bool {
	return slices.ContainsFunc(q.failed, func(p peer.ID) bool { return q.to.Closer(overlay.ID(p).Key(), self) })
}

// meet takes note of a peer that was asked, or that somebody named, if it is among the
// nearest.
func (q *query) meet(p peer.ID) {
	if !allowed(p) || p == q.self || slices.Contains(q.failed, p) || slices.ContainsFunc(q.near, func(k entry) bool { return k.peer == p }) {
		return
	}
	q.near = append(q.near, entry{p, overlay.ID(p).Key()})
	slices.SortFunc(q.near, func(a, b entry) int {
		da, db := q.to.Distance(a.key), q.to.Distance(b.key)
		return bytes.Compare(da[:], db[:])
	})
	q.near = q.near[:min(len(q.near), lookupKeep)]
}

// satisfied reports whether the nearest peers that anybody knows of have all answered:
// who is nearest is known then. The DHT goes on to ask all twenty, which is most of
// what a lookup costs.
func (q *query) satisfied() bool {
	if len(q.near) < lookupEnough {
		return false
	}
	return !slices.ContainsFunc(q.near[:lookupEnough], func(k entry) bool { return !q.answered[k.peer] })
}
