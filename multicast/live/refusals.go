package live

import "github.com/feedtree/feedtree/internal/tally"

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

// refusals counts what was refused or dropped, by reason.
type refusals struct{ tally.Tally }

func (r *refusals) count(why reason) { r.Count(string(why)) }
