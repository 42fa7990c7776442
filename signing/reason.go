package signing

import (
	"errors"
	"fmt"
)

// Reason says in one word why foreign bytes were refused. It is the label under
// which a refusal is counted.
type Reason string

// The reasons of [Open], from the first thing checked to the last.
const (
	ReasonTruncated   Reason = "truncated"   // shorter than its own lengths say
	ReasonTrailing    Reason = "trailing"    // bytes after the end
	ReasonTooLarge    Reason = "too-large"   // over a size limit
	ReasonUnsupported Reason = "unsupported" // unknown version, algorithm or kind, or a reserved bit set
	ReasonMalformed   Reason = "malformed"   // a field out of range, or fields that contradict each other
	ReasonWeakKey     Reason = "weak-key"    // a public key for which anyone can sign
	ReasonSignature   Reason = "signature"   // not signed by the key it names
	ReasonPayload     Reason = "payload"     // the payload is not the one that was signed
)

// The reasons of [Line.Advance].
const (
	ReasonStale Reason = "stale" // already known or overtaken: a replay or a late copy
	ReasonGap   Reason = "gap"   // something in between is missing
	ReasonFork  Reason = "fork"  // the source said two different things at one place
)

// ReasonConsistent is of [ProveFork] and [OpenFork]: the statements do not
// contradict each other.
const ReasonConsistent Reason = "consistent"

// The reasons of key states and certificates.
const (
	ReasonOtherFeed  Reason = "other-feed"  // it is for another URL
	ReasonOtherKey   Reason = "other-key"   // it does not name the key
	ReasonOtherRoots Reason = "other-roots" // its root keys are not those that are believed
	ReasonThreshold  Reason = "threshold"   // too few root keys signed it, its own or those before
	ReasonReplaced   Reason = "replaced"    // root keys signed it that were replaced
	ReasonJump       Reason = "jump"        // its version leaves out too many
	ReasonRevoked    Reason = "revoked"     // the key was revoked before it said this
	ReasonExpired    Reason = "expired"     // the key's time is over
)

// Error is a refusal: what was refused, why in one word, and what exactly.
type Error struct {
	What   string // "envelope", "line", "fork proof", "key state", "certificate" or "draft"
	Reason Reason
	Detail string
}

func (e *Error) Error() string {
	if e.Detail == "" {
		return e.What + " refused: " + string(e.Reason)
	}
	return e.What + " refused: " + string(e.Reason) + ": " + e.Detail
}

// ReasonOf returns the reason of the [*Error] in err's chain, or "".
func ReasonOf(err error) Reason {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Reason
	}
	return ""
}

func refuse(what string, r Reason, format string, args ...any) *Error {
	return &Error{What: what, Reason: r, Detail: fmt.Sprintf(format, args...)}
}
