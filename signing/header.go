package signing

import (
	"fmt"
	"math"
	"time"
)

// Kind says what an envelope is.
type Kind uint8

// The kinds. 3 to 5 are reserved for key states, attestations and
// contradictions; [Open] refuses them as unsupported.
const (
	Event     Kind = 1 // news: the next place of the line, and a payload
	Heartbeat Kind = 2 // no news: the head of the line again, at a later time; a volunteer's may testify
)

func (k Kind) String() string { return name("kind", uint8(k), "", "event", "heartbeat") }

// Role says in which capacity the source speaks. It is a claim: whether the key
// is the feed's own is for the subscriber to know.
type Role uint8

// The roles.
const (
	Publisher Role = 1 // for the feed, with the feed's own key
	Volunteer Role = 2 // as a subscriber that polled the feed
)

func (r Role) String() string { return name("role", uint8(r), "", "publisher", "volunteer") }

// Media is the format of a payload. Values unknown to this version can occur in
// an opened envelope.
type Media uint8

// The media, named by their media types.
const (
	None Media = 0 // no payload
	RSS  Media = 1 // application/rss+xml
	Atom Media = 2 // application/atom+xml
	JSON Media = 3 // application/feed+json

	Witness Media = 4 // of a volunteer's heartbeat: a Testimony
	Keys    Media = 5 // the feed's certificate, PEM
)

// String returns the media type.
func (m Media) String() string {
	return name("media", uint8(m), "none", "application/rss+xml", "application/atom+xml", "application/feed+json", "testimony", "certificate")
}

// Coding is how the payload is compressed. Values unknown to this version can
// occur in an opened envelope.
type Coding uint8

// The codings, named as in HTTP's Content-Encoding.
const (
	Plain Coding = 0 // identity
	Gzip  Coding = 1
	Zstd  Coding = 2
)

// String returns the content coding.
func (c Coding) String() string { return name("coding", uint8(c), "identity", "gzip", "zstd") }

func name(what string, v uint8, names ...string) string {
	if int(v) < len(names) && names[v] != "" {
		return names[v]
	}
	return fmt.Sprintf("%s(%d)", what, v)
}

// Limits of what Seal makes and Open accepts.
const (
	MaxPayload = 1 << 20             // bytes of payload
	MaxTTL     = 31 * 24 * time.Hour // the longest promise
	MaxNumber  = 1<<53 - 1           // of epoch and seq: exact in every language's JSON

	maxMillis = 253402300799999 // the last millisecond of the year 9999
)

// Header is what a source states and signs.
type Header struct {
	Kind     Kind
	Role     Role
	Media    Media
	Coding   Coding
	KeyState uint32        // version of the feed's key state the source goes by, 0: none
	TTL      time.Duration // whole seconds; the source's next word comes within it; 0: no promise
	Epoch    uint64        // from Line
	Seq      uint64        // from Line
	Time     time.Time     // when it was said, to the millisecond
	Group    [32]byte      // the group it was said to
	Key      PublicKey     // who says it; Seal fills it in
	Prev     [32]byte      // hash of the header before it in the line, also over epochs; from Line
}

// check is the one list of rules for a header, whether it is about to be signed
// or came from afar. Only version, algorithm and reserved bytes are not its
// business: they have no field.
func (h *Header) check(payload int) *Error {
	millis := h.Time.UnixMilli()
	switch {
	case h.Kind != Event && h.Kind != Heartbeat:
		return refuse(envelope, ReasonUnsupported, "%v", h.Kind)
	case payload > MaxPayload:
		return refuse(envelope, ReasonTooLarge, "payload of %d bytes, the most is %d", payload, MaxPayload)
	case h.Role != Publisher && h.Role != Volunteer:
		return refuse(envelope, ReasonMalformed, "%v is neither publisher nor volunteer", h.Role)
	case h.TTL < 0 || h.TTL > MaxTTL || h.TTL%time.Second != 0:
		return refuse(envelope, ReasonMalformed, "TTL %v, want whole seconds up to %v", h.TTL, MaxTTL)
	case millis <= 0 || millis > maxMillis:
		return refuse(envelope, ReasonMalformed, "time %d ms, want one after 1970 and before the year 10000", millis)
	case h.Epoch == 0 || h.Epoch > MaxNumber || h.Seq > MaxNumber:
		return refuse(envelope, ReasonMalformed, "epoch %d, seq %d, want an epoch from 1 and both at most %d; a new line begins with Bump", h.Epoch, h.Seq, uint64(MaxNumber))
	}
	return h.checkKind(payload)
}

func (h *Header) checkKind(payload int) *Error {
	before := h.Seq // how many events of the line the header rests on
	if h.Kind == Event {
		if h.Seq == 0 {
			return refuse(envelope, ReasonMalformed, "event with seq 0, the first is 1")
		}
		if payload == 0 || h.Media == None {
			return refuse(envelope, ReasonMalformed, "event without payload or media")
		}
		if h.Media == Witness {
			return refuse(envelope, ReasonMalformed, "event of media %v, which is for heartbeats", h.Media)
		}
		before--
	} else if err := h.checkBeat(payload); err != nil {
		return err
	}
	if before > 0 && h.Prev == [32]byte{} {
		return refuse(envelope, ReasonMalformed, "%v %d: prev is all zero, and something precedes it in the epoch", h.Kind, h.Seq)
	}
	return nil
}

// checkBeat: a heartbeat has no payload, or it is a volunteer's and has a testimony.
func (h *Header) checkBeat(payload int) *Error {
	testifies := h.Media == Witness && h.Role == Volunteer && payload >= testimonyHead
	switch {
	case h.Coding != Plain || !testifies && (payload != 0 || h.Media != None):
		return refuse(envelope, ReasonMalformed, "heartbeat with payload, media or coding")
	case payload > maxTestimony:
		return refuse(envelope, ReasonTooLarge, "testimony of %d bytes, the most is %d", payload, maxTestimony)
	}
	return nil
}

// millis returns the time as the wire has it; check has bounded it.
func (h *Header) millis() uint64 { return uint64(max(h.Time.UnixMilli(), 0)) }

// seconds returns the TTL as the wire has it; check has bounded it.
func (h *Header) seconds() uint32 { return uint32(min(h.TTL/time.Second, math.MaxUint32)) }
