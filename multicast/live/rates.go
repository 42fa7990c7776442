package live

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/feedtree/feedtree/multicast/tree"
	"github.com/feedtree/feedtree/overlay"
	"golang.org/x/time/rate"
)

// What one peer may cost. The bursts are what an honest neighbour may need at
// once: after a restart a node joins all its feeds through one hop, and after
// a gap it asks for what is missing in all of them.
const (
	joinRate, joinBurst = 8, 512
	askRate, askBurst   = 32, 1024
	badRate, badBurst   = 1, 16

	maxRated = 4096 // peers remembered; one at rest needs no memory
)

// rates is the token buckets of the peers. It is safe for concurrent use.
type rates struct {
	mu      sync.Mutex
	peers   map[overlay.ID]*allowance
	charged atomic.Bool // somebody ever was: who brings events is looked up only then
}

// allowance is what a peer may still cost: joins, messages that ask for work
// or for data, and events that no honest forwarder sends.
type allowance struct {
	joins, asks, bad *rate.Limiter
}

// allow decides about a message before anything expensive is done for it.
func (r *rates) allow(now time.Time, from overlay.ID, t tree.Type) reason {
	switch t {
	case tree.Join:
		return r.take(now, from, rateJoin)
	case tree.Pull, tree.Walk, tree.Link, tree.Fork:
		return r.take(now, from, rateAsk)
	case tree.Data:
		if r.charged.Load() && r.forges(now, from) {
			return rateBad
		}
	}
	return ""
}

// take takes from what the peer may cost, or returns why not.
func (r *rates) take(now time.Time, from overlay.ID, why reason) reason {
	r.mu.Lock()
	defer r.mu.Unlock()
	l := r.of(now, from).asks
	if why == rateJoin {
		l = r.of(now, from).joins
	}
	if !l.AllowN(now, 1) {
		return why
	}
	return ""
}

// forges reports whether the peer was charged too often of late.
func (r *rates) forges(now time.Time, from overlay.ID) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	a := r.peers[from]
	return a != nil && a.bad.TokensAt(now) < 1
}

// charge notes an event that the peer must have known to be bad.
func (r *rates) charge(now time.Time, from overlay.ID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.of(now, from).bad.AllowN(now, 1)
	r.charged.Store(true)
}

func (r *rates) of(now time.Time, id overlay.ID) *allowance {
	a := r.peers[id]
	if a == nil {
		if len(r.peers) >= maxRated {
			r.prune(now)
		}
		if r.peers == nil {
			r.peers = make(map[overlay.ID]*allowance)
		}
		a = &allowance{
			joins: rate.NewLimiter(joinRate, joinBurst),
			asks:  rate.NewLimiter(askRate, askBurst),
			bad:   rate.NewLimiter(badRate, badBurst),
		}
		r.peers[id] = a
	}
	return a
}

// prune forgets who is at rest; if too few are, whoever comes first as well:
// with so many peers active at once, some starting afresh changes little. It
// makes room for many, so that it is seldom needed.
func (r *rates) prune(now time.Time) {
	for id, a := range r.peers {
		if a.rested(now) {
			delete(r.peers, id)
		}
	}
	for id := range r.peers {
		if len(r.peers) <= maxRated*3/4 {
			return
		}
		delete(r.peers, id)
	}
}

func (a *allowance) rested(now time.Time) bool {
	return a.joins.TokensAt(now) >= joinBurst && a.asks.TokensAt(now) >= askBurst && a.bad.TokensAt(now) >= badBurst
}
