package feedtree

import (
	"log/slog"
	"time"

	"github.com/feedtree/feedtree/feed"
	"github.com/feedtree/feedtree/feed/fetch"
	"github.com/feedtree/feedtree/feed/store"
	"github.com/feedtree/feedtree/overlay/kad"
)

// Config says what a node keeps, how it finds others and how it behaves toward
// the origins of feeds. The zero value is a node of the main network that keeps
// nothing.
type Config struct {
	// Dir holds the node's key, in the file node.key, which is made if it is
	// not there. Empty: a fresh key each time.
	Dir string

	// Store keeps feeds, items, cursors and lines. Whoever opened it closes it,
	// after the node. Nil: a store in memory.
	Store store.Store

	// Overlay is the node's network. Its Key, Remembered and Log are the node's
	// to fill in.
	Overlay kad.Config

	// Multicast is how events travel: MulticastTree, the default, or
	// MulticastGossip. All nodes of a network use the same, or do not hear each
	// other. Package multicast/gossip says what gossip cannot do.
	Multicast string

	// Fetch is how the node asks origins over HTTP.
	Fetch fetch.Config

	// Polling is how often it asks, and whether it does so for others.
	Polling Polling

	// Witnesses is how many volunteers have to say the same of an item, with
	// different keys, from different networks and under different parents, for it
	// to count as corroborated. 0: two.
	Witnesses int

	// NetworkOf names the network that a peer, given by its ID, is in; "" if that
	// is not known. Nil: the /16 (IPv4) or /32 (IPv6) of the address at the other end of
	// a direct connection with it, the last one of two weeks; volunteers
	// whose word may decide something are visited for that.
	NetworkOf func(peerID string) string

	// Public says whether the feed of a canonical URL may be spoken of to
	// strangers, and if not, why not. Nil: feed.Public.
	Public func(canonicalURL string) (ok bool, why string)

	// Log gets what a person running the node wants to know. Nil: nothing.
	Log *slog.Logger
}

// The ways events travel.
const (
	MulticastTree   = "tree"
	MulticastGossip = "gossip"
)

// Polling governs requests to origins.
type Polling struct {
	// Min is the shortest time between two polls of one feed, here or by all
	// who poll for one another. What the feed itself asks for can only make it
	// longer. 0: an hour, which is what those who run feeds ask for.
	Min time.Duration

	// Max is the longest time between two polls of a feed that posts little; a
	// shorter one than Min is Min. Between the two it is learned how often a feed
	// is worth it. What the feed itself asks for can be longer. 0: six hours.
	Max time.Duration

	// Overload is the factor N of FeedTree §5: this node polls a feed whose
	// volunteers are heard fewer than N times in an interval: with N = 3 it is
	// refreshed three times as often as one alone would poll it, if what its
	// origin allows one client is as much, and Min. 0: as many as make the items
	// of the feeds followed here wait least for the load that their origins would
	// have from all subscribers, each for himself, by how many are in each tree.
	Overload int

	// Off keeps the node from polling for others. It still asks the origin
	// once for a new feed, and when the tree brings nothing.
	Off bool

	// Requests and Bytes are the most that this node spends in an hour on polls
	// whose outcome it tells others. 0: no limit. At the limit others take over.
	Requests int
	Bytes    int64
}

const (
	defaultPollMin = time.Hour
	defaultPollMax = 6 * time.Hour
	longestPoll    = 24 * time.Hour
)

// withDefaults returns the configuration with zero fields filled in.
func (c Config) withDefaults() Config {
	if c.Store == nil {
		c.Store = store.NewMemory()
	}
	if c.Multicast == "" {
		c.Multicast = MulticastTree
	}
	if c.Public == nil {
		c.Public = feed.Public
	}
	if c.Polling.Min <= 0 {
		c.Polling.Min = defaultPollMin
	}
	if c.Polling.Max <= 0 {
		c.Polling.Max = defaultPollMax
	}
	c.Polling.Max = max(c.Polling.Max, c.Polling.Min)
	c.Polling.Overload = max(c.Polling.Overload, 0)
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return c
}
