package feedtree

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/feedtree/feedtree/feed"
	"github.com/feedtree/feedtree/feed/store"
	"github.com/feedtree/feedtree/multicast"
)

// Way is one way in which an item came to this node.
type Way struct {
	How   How       `json:"how"`
	From  string    `json:"from"` // the neighbour's peer ID, or the address that was asked
	At    time.Time `json:"at"`
	Asked int       `json:"asked"` // nodes that were asked for it: all but the last in vain
	Why   string    `json:"why"`   // the origin was asked
}

// How says what kind of way it was.
type How string

// The ways, from the usual to the last resort.
const (
	Said        How = "said here"    // this node publishes the item, or polled it for others
	Pushed      How = "pushed"       // along an edge of the tree
	CaughtUp    How = "caught up"    // sent by the parent after this node joined
	FromParent  How = "parent"       // pulled from the parent after a gap
	FromLazy    How = "lazy link"    // pulled from a lazy link or a child after a gap
	FromReplica How = "root replica" // pulled from a node near the root after a gap
	FromOrigin  How = "origin"       // over HTTP
)

var howByVia = map[multicast.Via]How{
	multicast.ViaTree: Pushed, multicast.ViaCatchUp: CaughtUp, multicast.ViaParent: FromParent,
	multicast.ViaLazy: FromLazy, multicast.ViaReplica: FromReplica,
}

// Why the origin was asked.
const (
	whyFirst   = "the first time"
	whyTurn    = "by the schedule"
	whyHint    = "because of a hint"
	whyMissing = "what is missing was at no other node"
	whyUnknown = "about an unknown key"
)

const (
	maxWays    = 8   // kept of an item: the first, and the latest of the others
	maxTracked = 512 // items of a feed of which ways are kept, the latest
)

// ways is how items came, by feed. It is kept in memory and saved now and then: what
// a killed program loses of it says nothing of the items.
type ways struct {
	mu     sync.Mutex
	byFeed map[string]*trail
}

// trail is how one feed's items came.
type trail struct {
	order   []version // oldest first
	came    map[version][]Way
	changed bool
}

type version struct {
	key  string
	hash [32]byte
}

// add notes a way of a version of an item.
func (w *ways) add(url, key string, hash [32]byte, way Way) {
	way.At = store.Kept(way.At)
	w.mu.Lock()
	defer w.mu.Unlock()
	t := w.trail(url)
	v := version{key, hash}
	came, known := t.came[v]
	if !known {
		t.order = append(t.order, v)
	}
	if len(came) >= maxWays {
		came = append(came[:1:1], came[2:]...)
	}
	t.came[v] = append(came[:len(came):len(came)], way)
	t.changed = true
	for len(t.order) > maxTracked {
		delete(t.came, t.order[0])
		t.order = t.order[1:]
	}
}

func (w *ways) trail(url string) *trail {
	if w.byFeed == nil {
		w.byFeed = map[string]*trail{}
	}
	t := w.byFeed[url]
	if t == nil {
		t = &trail{came: map[version][]Way{}}
		w.byFeed[url] = t
	}
	return t
}

// of returns how a version of an item came, nil if that is not known.
func (w *ways) of(url, key string, hash [32]byte) []Way {
	w.mu.Lock()
	defer w.mu.Unlock()
	t := w.byFeed[url]
	if t == nil {
		return nil
	}
	return t.came[version{key, hash}] // replaced, never changed
}

// Ways returns in which ways an item of a feed came, oldest first: at most eight of
// each of the latest 512 items, and nil where nothing is known.
func (n *Node) Ways(url string, it feed.Item) []Way { return n.ways.of(url, it.Key(), it.Hash()) }

// Came returns in which ways an item came that is stored, as Ways does.
func (n *Node) Came(it store.Item) []Way { return n.ways.of(it.Feed, it.Key, it.Hash) }

// outOfTurn is why the origin is asked out of turn.
func outOfTurn(nudge bool) string {
	if nudge {
		return whyUnknown
	}
	return whyMissing
}

// cameFrom notes that items came from their origin.
func (n *Node) cameFrom(url string, items []feed.Item, why string) {
	for _, it := range items {
		n.ways.add(url, it.Key(), it.Hash(), Way{How: FromOrigin, From: url, At: time.Now(), Why: why})
	}
}

// came notes how stored items came.
func (n *Node) came(items []store.Item, way Way) {
	for _, it := range items {
		n.ways.add(it.Feed, it.Key, it.Hash, way)
	}
}

// keptWays is how one item came, as it is saved.
type keptWays struct {
	Key  string `json:"key"`
	Hash []byte `json:"hash"`
	Ways []Way  `json:"ways"`
}

func waysOf(url string) string { return "ways " + url }

// saveWays saves what changed since it did so last.
func (n *Node) saveWays(ctx context.Context) {
	for url, all := range n.ways.take() {
		value, err := json.Marshal(all)
		if err == nil {
			err = n.config.Store.PutSetting(ctx, waysOf(url), value)
		}
		if err != nil {
			n.complain(ctx, "cannot keep how a feed's items came", url, err)
		}
	}
}

// take returns what is to be saved.
func (w *ways) take() map[string][]keptWays {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := map[string][]keptWays{}
	for url, t := range w.byFeed {
		if !t.changed {
			continue
		}
		t.changed = false
		kept := make([]keptWays, 0, len(t.order))
		for _, v := range t.order {
			kept = append(kept, keptWays{v.key, v.hash[:], t.came[v]})
		}
		all[url] = kept
	}
	return all
}

// recallWays takes up what is saved of a feed.
func (n *Node) recallWays(ctx context.Context, url string) error {
	value, ok, err := n.config.Store.Setting(ctx, waysOf(url))
	if err != nil || !ok {
		return err
	}
	var kept []keptWays
	if err := json.Unmarshal(value, &kept); err != nil {
		return fmt.Errorf("how items came: %w", err)
	}
	for _, k := range kept {
		if len(k.Hash) != 32 || n.ways.of(url, k.Key, [32]byte(k.Hash)) != nil {
			continue
		}
		for _, way := range k.Ways {
			n.ways.add(url, k.Key, [32]byte(k.Hash), way)
		}
	}
	return nil
}
