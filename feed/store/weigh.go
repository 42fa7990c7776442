package store

import "cmp"

// Verdict says what becomes of an arriving item.
type Verdict struct {
	Insert  bool // the version is new: keep it
	Renew   bool // the version is held: take its document, trust and stamp from the arriving one
	Current bool // it becomes the item's current version
	Added   bool // it is news to a reader
}

// Weigh decides about an arriving item, given the item's current version and
// the stored version with the same content, each nil if there is none. It is
// the rule all stores share.
//
// A new version is news and becomes current, unless the publisher signed the
// current one and not this, or the same source already said something later.
// A version seen before is never news. It becomes current again only on better
// evidence than that it once existed: the origin itself shows it now, it has a
// higher trust than the current one, or its source repeats it later in its
// line. Anything else is an old copy. What another key of the publisher's signs as
// well is noted as that one's: it is in force, and the one before may be revoked.
func Weigh(current, same *Item, in Item) Verdict {
	if current == nil {
		return Verdict{Insert: true, Current: true, Added: true}
	}
	shown := displaces(current, same, in)
	if same == nil {
		if current.Trust == Signed && in.Trust < Signed {
			// Not kept either: should the publisher sign this version later,
			// it is news then.
			return Verdict{}
		}
		return Verdict{Insert: true, Current: shown, Added: shown}
	}
	stronger := in.Trust > same.Trust || in.Trust == same.Trust && sameSource(*same, in) && compareStamps(in, *same) > 0 ||
		in.Trust == Signed && same.Trust == Signed && in.Source != same.Source
	return Verdict{Renew: stronger, Current: shown && same.Hash != current.Hash}
}

func displaces(current, same *Item, in Item) bool {
	switch {
	case current.Trust == Signed && in.Trust < Signed:
		return false
	case sameSource(*current, in):
		return compareStamps(in, *current) >= 0 && (same == nil || compareStamps(in, *same) > 0)
	case same == nil:
		return true
	default:
		return in.Trust == Fetched || in.Trust > current.Trust
	}
}

func sameSource(a, b Item) bool { return a.Source == b.Source && a.Source != [32]byte{} }

func compareStamps(a, b Item) int {
	return cmp.Or(cmp.Compare(a.Epoch, b.Epoch), cmp.Compare(a.Seq, b.Seq))
}

// Allows reports whether next may be written over l: it repeats it, or it is
// further. A line at the same place with another head is a fork.
func (l Line) Allows(next Line) bool {
	at := cmp.Or(cmp.Compare(next.Epoch, l.Epoch), cmp.Compare(next.Seq, l.Seq))
	if at != 0 {
		return at > 0
	}
	return next.Head == l.Head && next.Beat >= l.Beat
}

// Before reports whether c is behind other in the same line.
func (c Cursor) Before(other Cursor) bool {
	return cmp.Or(cmp.Compare(c.Epoch, other.Epoch), cmp.Compare(c.Seq, other.Seq)) < 0
}

// Compare orders envelopes of one source by epoch, seq and beat.
func (e Envelope) Compare(other Envelope) int {
	return cmp.Or(cmp.Compare(e.Epoch, other.Epoch), cmp.Compare(e.Seq, other.Seq), cmp.Compare(e.Beat, other.Beat))
}
