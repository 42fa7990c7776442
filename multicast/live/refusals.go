package live

import (
	"maps"
	"strings"
	"sync"
)

// reason says why something that came from the network was dropped, or could
// not be sent; empty means that nothing is wrong. Each is a line on a status
// page, so it names what was wrong in words.
type reason string

// The reasons. Those of the judge follow "judge: ", those of signing "event: " or
// "fork proof: ".
const (
	frameTooLarge  reason = "frame: too large"
	frameMalformed reason = "frame: malformed"
	frameTooMany   reason = "frame: too many of a field"
	frameBounds    reason = "frame: a field out of bounds"
	frameType      reason = "frame: unknown type"
	frameSender    reason = "frame: join for another node"

	eventGroup reason = "event: of another group"
	forkGroup  reason = "fork proof: of another group"

	heldFull    reason = "held: no room"
	heldExpired reason = "held: the key never became known"
	heldAgain   reason = "held: already"

	rateJoin reason = "rate: joins"
	rateAsk  reason = "rate: requests"
	rateBad  reason = "rate: too many forged events"

	sendRefused reason = "send: refused by the overlay"
	sendTooMany reason = "send: message out of bounds"
	lookupFail  reason = "lookup: failed"
	recentBad   reason = "recent: an event held here does not verify"
)

// maxReasons bounds the map: what follows "judge: " comes from outside this
// package.
const maxReasons = 128

// refusals counts by reason. It is safe for concurrent use.
type refusals struct {
	mu sync.Mutex
	n  map[string]uint64
}

// count adds one to a reason; none is not counted.
func (r *refusals) count(why reason) {
	if why == "" {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	key := string(why)
	if _, known := r.n[key]; !known && len(r.n) >= maxReasons {
		key, _, _ = strings.Cut(key, ":")
		key += ": other"
	}
	if r.n == nil {
		r.n = make(map[string]uint64)
	}
	r.n[key]++
}

func (r *refusals) all() map[string]uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.n)
}
