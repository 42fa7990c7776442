package signing

import "time"

// Line is how far one source got in one group, the state it is obliged to keep.
// A source that is new, or may have lost its place, begins with [Line.Bump].
//
// To speak, a source fills in a header with [Line.Event] or [Line.Heartbeat],
// seals it, opens what it sealed, takes the next line from [Line.Advance],
// makes that durable, and only then sends. Two statements made from one Line
// fork it; so does going back to an older one.
//
// A follower of somebody else's line starts from [Envelope.Line] and uses
// Advance to tell what is next, missing, late or forked.
type Line struct {
	Epoch uint64   // 0: never begun
	Seq   uint64   // of the last event, 0: none in this epoch
	Head  [32]byte // hash of the last event's header, of an earlier epoch if Seq is 0; zero: none is known
	Beat  uint64   // Unix milliseconds of the latest statement
}

const line = "line"

// Bump returns a line in a new epoch with nothing said in it yet: for a source
// that is new, that was started again and may have been restored from a backup, or
// that hears from others words of its own that it does not remember. The epoch is
// the time in milliseconds or one more than the present epoch, whichever is
// greater, so that it grows even where the line was lost altogether. The head
// stays: the first statements of the new epoch name it as their Prev, and so the
// line is unbroken.
func (l Line) Bump(at time.Time) Line {
	return Line{Epoch: max(l.Epoch+1, uint64(max(at.UnixMilli(), 0))), Head: l.Head}
}

// Event fills in what the line determines for its next event: Kind, Epoch, Seq
// and Prev. A Time that is not later than the source's latest statement, as
// after a clock was set back, is moved to the millisecond after it.
func (l Line) Event(h *Header) {
	h.Kind, h.Epoch, h.Seq, h.Prev = Event, l.Epoch, l.Seq+1, l.Head
	l.later(h)
}

// Heartbeat makes the header a heartbeat: the line's head again, without media
// or coding, at a later Time.
func (l Line) Heartbeat(h *Header) {
	h.Kind, h.Epoch, h.Seq, h.Prev = Heartbeat, l.Epoch, l.Seq, l.Head
	h.Media, h.Coding = None, Plain
	l.later(h)
}

// later leaves a missing time missing, for Seal to complain about.
func (l Line) later(h *Header) {
	if !h.Time.IsZero() && h.millis() <= l.Beat {
		h.Time = time.UnixMilli(int64(min(l.Beat, maxMillis)) + 1).UTC()
	}
}

// Line returns the line as it stands after e, for following it from there.
func (e *Envelope) Line() Line {
	l := Line{Epoch: e.Epoch, Seq: e.Seq, Head: e.Prev, Beat: e.millis()}
	if e.Kind == Event {
		l.Head = e.Hash()
	}
	return l
}

// Advance returns the line after e, which must be of the same source and group
// and be its next word: the next event, a later heartbeat at its head, or the
// first word of a higher epoch. Otherwise it returns the line unchanged and an
// [*Error]: [ReasonStale], [ReasonGap] or [ReasonFork]. For a source that meets
// its own word, the latter two mean that it must [Line.Bump].
//
// News is not refused for its time; only heartbeats must be in order. Whether a
// new epoch begins where the line stands is not asked here: see [Line.Linked].
func (l Line) Advance(e *Envelope) (Line, error) {
	at := l
	if e.Epoch > l.Epoch {
		at = Line{Epoch: e.Epoch, Head: e.link()}
	}
	if err := at.follows(e); err != nil {
		return l, err
	}
	next := e.Line()
	next.Beat = max(next.Beat, at.Beat)
	return next, nil
}

// Linked reports whether nothing can be missing between the line and e, the first
// word of a higher epoch: it names the line's head. If it names none, its source
// knew none.
func (l Line) Linked(e *Envelope) bool {
	return e.Epoch > l.Epoch && e.first() && e.Prev == l.Head
}

// first reports whether nothing precedes the statement in its epoch.
func (h *Header) first() bool { return h.Seq == 0 || h.Kind == Event && h.Seq == 1 }

// link is the head of an earlier epoch that the first word of an epoch names.
func (h *Header) link() (head [32]byte) {
	if h.first() {
		head = h.Prev
	}
	return head
}

func (l Line) follows(e *Envelope) error {
	switch {
	case e.Epoch < l.Epoch:
		return refuse(line, ReasonStale, "%v of epoch %d, the line is in %d", e.Kind, e.Epoch, l.Epoch)
	case e.Seq < l.Seq:
		return refuse(line, ReasonStale, "%v %d, the line is at %d", e.Kind, e.Seq, l.Seq)
	case e.Kind == Event && e.Seq == l.Seq:
		if e.Hash() == l.Head {
			return refuse(line, ReasonStale, "event %d again", e.Seq)
		}
		return refuse(line, ReasonFork, "two different events %d in epoch %d of key %v", e.Seq, e.Epoch, e.Key)
	case e.Kind == Event && e.Seq > l.Seq+1, e.Kind == Heartbeat && e.Seq > l.Seq:
		return refuse(line, ReasonGap, "%v %d, the line is at %d", e.Kind, e.Seq, l.Seq)
	case e.Prev != l.Head:
		return refuse(line, ReasonFork, "%v %d in epoch %d of key %v follows an event other than the %dth known", e.Kind, e.Seq, e.Epoch, e.Key, l.Seq)
	case e.Kind == Heartbeat && e.millis() <= l.Beat:
		return refuse(line, ReasonStale, "heartbeat of time %d, the line is at %d", e.millis(), l.Beat)
	}
	return nil
}
