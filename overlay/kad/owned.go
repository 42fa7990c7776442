package kad

import (
	"slices"
	"sync"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/feedtree/feedtree/overlay"
)

// The root of a tree asks again and again whether somebody is nearer to the name than
// itself. In a quiet network the answer never changes, and each costs some ten
// kilobytes. Whoever comes to be nearer looks for its own neighbours first: it calls
// this node and enters its table. So as long as nobody entered, and the nearest who
// answered are connected, the last answer stands for a while.
const (
	ownedFor   = 15 * time.Minute
	ownedNames = 1024 // remembered; beyond it all are forgotten
)

// owned are the names that this node was found to be nearest to.
type owned struct {
	mu    sync.Mutex
	names map[string]finding
	era   uint64 // what was found in an earlier one does not count
}

// finding is what a lookup found that found nobody nearer than this node.
type finding struct {
	at  time.Time
	ids []overlay.ID // who answered, nearest first
}

// forget says that nothing found so far, nor by the lookups under way, is certain.
func (o *owned) forget() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.names = nil
	o.era++
}

// now names the era that a lookup begins in.
func (o *owned) now() uint64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.era
}

func (o *owned) note(name string, f finding, era uint64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if era != o.era {
		return
	}
	if o.names == nil || len(o.names) >= ownedNames {
		o.names = make(map[string]finding)
	}
	o.names[name] = f
}

func (o *owned) find(name string) (finding, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	f, ok := o.names[name]
	return f, ok
}

// stillOwned returns the last answer to a lookup of a name that this node is nearest
// to, if it still stands.
func (n *Node) stillOwned(name string) ([]overlay.ID, bool) {
	f, ok := n.table.owned.find(name)
	if !ok || time.Since(f.at) >= ownedFor {
		return nil, false
	}
	for _, id := range f.ids[:min(len(f.ids), lookupEnough)] {
		if !n.usable(peer.ID(id)) {
			return nil, false
		}
	}
	return slices.Clone(f.ids), true
}
