package tree

import (
	"time"

	"github.com/feedtree/feedtree/multicast"
)

// window is how far below the head of its line a missing event is still
// accepted when it comes.
const window = 1024

// line is what a node knows of one source's dense line in one group.
//
// Invariants: a seq at or below base is never accepted; a bit is set for every
// accepted seq in (high-window, high]; every seq below need is accepted, given
// up or was never asked for; need ≤ high+1.
//
// What is looked at whenever anything happens in the group stands first.
type line struct {
	beatAt   time.Duration // own: when a heartbeat is due; 0: none was promised
	overdue  time.Duration // when silence becomes worth a notice; 0: it does not
	stream   stream
	recovery recovery
	source   multicast.Source
	epoch    uint64
	high     uint64
	beat     *multicast.Event // the latest heartbeat, nil if there was none
	tag      multicast.Tag    // of the event at high
	base     uint64
	need     uint64
	moved    uint32 // which of the group's moves its head was part of last
	own      bool   // this node publishes it
	old      bool   // it was there before this node joined: what came before is not missed
	ttl      time.Duration
	heard    time.Duration
	bits     [window / 64]uint64
	past     []past // epochs before this one, oldest first
	whole    whole
}

// whole is up to where the application's copy is, if that is of an earlier epoch; else zero.
type whole struct{ epoch, seq uint64 }

func (l *line) bit(seq uint64) bool    { return l.bits[seq%window/64]&(1<<(seq%64)) != 0 }
func (l *line) setBit(seq uint64)      { l.bits[seq%window/64] |= 1 << (seq % 64) }
func (l *line) clearBit(seq uint64)    { l.bits[seq%window/64] &^= 1 << (seq % 64) }
func (l *line) inWindow(s uint64) bool { return s+window > l.high }

// start places a line that begins with what a cursor says is held.
func (l *line) startAt(cursor multicast.Stamp) {
	l.epoch, l.base, l.high, l.need = cursor.Epoch, cursor.Seq, cursor.Seq, cursor.Seq+1
	l.clear()
}

// startFresh places a line of which nothing is known but that seq exists: what
// is older is welcome but not missed.
func (l *line) startFresh(epoch, seq uint64) {
	l.epoch, l.high, l.need = epoch, seq, seq
	l.base = seq - min(seq, window)
	l.clear()
}

// startEpoch places a line whose source opened a new epoch: its first events
// are wanted, as far back as neighbours may still hold them.
func (l *line) startEpoch(epoch, seq uint64, back uint64) {
	l.epoch, l.high, l.base = epoch, seq, 0
	l.need = 1
	if seq > back {
		l.need = seq - back + 1
		l.base = seq - min(seq, window)
	}
	l.clear()
}

// clear forgets what belongs to an earlier epoch.
func (l *line) clear() {
	l.tag, l.bits = multicast.Tag{}, [window / 64]uint64{}
	l.recovery.upto, l.recovery.told = 0, 0
}

// has reports whether seq was accepted or is too old to be.
func (l *line) has(seq uint64) bool {
	switch {
	case seq <= l.base:
		return true
	case seq > l.high:
		return false
	case !l.inWindow(seq):
		return true
	}
	return l.bit(seq)
}

// raise moves the head of the line up; what lies between becomes missing. It
// returns the range that fell out of the window unseen, which nobody will get
// any more: from 0 if there is none.
func (l *line) raise(seq uint64) (from, to uint64) {
	if seq <= l.high {
		return 0, 0
	}
	if seq-l.high >= window {
		l.bits = [window / 64]uint64{}
	} else {
		for s := l.high + 1; s <= seq; s++ {
			l.clearBit(s)
		}
	}
	l.high, l.tag = seq, multicast.Tag{}
	if low := l.high - min(l.high, window) + 1; l.need < low {
		from, to = l.need, low-1
		l.need = low
		l.settle()
	}
	return from, to
}

// accept marks a seq that has not been seen as seen.
func (l *line) accept(seq uint64) {
	l.setBit(seq)
	l.settle()
}

// settle moves need over what is there.
func (l *line) settle() {
	for l.need <= l.high && (l.bit(l.need) || l.need <= l.base) {
		l.need++
	}
}

// gap returns the first run of wanted seqs that are not there, at most max
// long. ok is false if the line is whole.
func (l *line) gap(max uint64) (from, to uint64, ok bool) {
	return l.lack(l.need, min(l.high, l.need+max-1))
}

// lack returns the first run of seqs from first to last that are not there.
func (l *line) lack(first, last uint64) (from, to uint64, ok bool) {
	for first <= last && l.has(first) {
		first++
	}
	for to = first; to < last && !l.has(to+1); {
		to++
	}
	return first, to, first <= last
}

// giveUp stops wanting seqs up to and including to. They are still accepted.
func (l *line) giveUp(to uint64) {
	if to >= l.need {
		l.need = min(to, l.high) + 1
		l.settle()
	}
}

// cursor is the last seq of the unbroken part.
func (l *line) cursor() uint64 { return l.need - 1 }

func (l *line) head() multicast.Stamp {
	return multicast.Stamp{Source: l.source, Epoch: l.epoch, Seq: l.high, Beat: l.lastBeat(), Tag: l.tag}
}

func (l *line) lastBeat() uint64 {
	if l.beat == nil {
		return 0
	}
	return l.beat.Stamp.Beat
}
