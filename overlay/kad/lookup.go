package kad

import (
	"context"
	"errors"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/routing"

	"github.com/feedtree/feedtree/overlay"
)

const (
	lookupPatience = time.Second     // without any answer
	lookupLimit    = 8 * time.Second // altogether
)

// Why a lookup has no result.
var (
	ErrAlone    = errors.New("no other node known yet")
	ErrNoAnswer = errors.New("no node answered")
)

// Lookup asks the network who is nearest to the position of name, which is
// overlay.KeyOf(name). It returns those who answered, nearest first, without
// Self: the node itself is the root if it is closer than the first. A peer that
// does not answer delays it by about a second and is checked on.
func (n *Node) Lookup(ctx context.Context, name []byte) ([]overlay.ID, error) {
	if len(n.table.entries()) == 0 {
		return nil, ErrAlone
	}
	if !n.enter() {
		return nil, ErrClosed
	}
	defer n.leave()
	n.count.inc(lookups)
	q := query{asked: make(map[peer.ID]bool), answered: make(map[peer.ID]bool)}
	q.run(ctx, n, string(name))
	for p := range q.asked {
		n.doubt(p, 0)
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
	return nearest(overlay.KeyOf(name), all, n.set.BucketSize), nil
}

// A query follows one lookup of the DHT through its events, because its result
// does not say who answered, and its own patience is ten seconds.
type query struct {
	asked    map[peer.ID]bool // and have neither answered nor failed
	answered map[peer.ID]bool
	cut      bool // given up with somebody still asked
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
			continue
		case <-quiet.C:
			q.cut = true
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
	case routing.QueryError:
		if !q.cut {
			delete(q.asked, e.ID)
		}
	case routing.PeerResponse:
		delete(q.asked, e.ID)
		q.answered[e.ID] = true
		return true
	}
	return false
}
