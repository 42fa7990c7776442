package kad

import (
	"sync/atomic"
	"time"

	"github.com/libp2p/go-libp2p/core/network"
)

// A deadline of a stream costs a timer for each piece that is waited for, and there is one
// for every frame. So the node notes when a frame began and looks every two seconds whether one
// has been under way for too long: it has two seconds more, then.

// A transfer is a frame under way: since when, on the clock of links, or one of these.
type transfer struct{ since atomic.Int64 }

const (
	noTransfer = 0
	gaveUp     = -1
)

func (t *transfer) begin(clock int64) { t.since.Store(clock) }

// end reports whether the transfer was given up meanwhile.
func (t *transfer) end() bool { return t.since.Swap(noTransfer) == gaveUp }

// stalls gives the transfer up if it began before a time; or lets it begin then.
func (t *transfer) stalls(before, now int64, excused bool) bool {
	since := t.since.Load()
	switch {
	case since <= noTransfer:
	case excused:
		t.since.CompareAndSwap(since, now)
	case since < before:
		return t.since.CompareAndSwap(since, gaveUp)
	}
	return false
}

// clock is how long ago the links were made: it does not jump as the time of day may.
func (ls *links) clock(now time.Time) int64 { return max(int64(now.Sub(ls.began)), 1) }

// stalled gives up frames that have been under way for too long, and lists their streams. Where
// it is this node that is late, the rest of a frame may still be unread: all begin anew.
func (ls *links) stalled(now time.Time, late bool) (streams []network.Stream) {
	at := ls.clock(now)
	ls.mu.Lock()
	defer ls.mu.Unlock()
	for _, l := range ls.byPeer {
		if l.out != nil && l.writing.stalls(at-int64(writePatience), at, late) {
			streams = append(streams, l.out)
		}
		if l.in != nil && l.reading.stalls(at-int64(readPatience), at, late) {
			streams = append(streams, l.in)
		}
	}
	return streams
}
