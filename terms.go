package feedtree

import (
	"time"

	"github.com/feedtree/feedtree/feed"
	"github.com/feedtree/feedtree/feed/fetch"
	"github.com/feedtree/feedtree/feed/fetch/polite"
	"github.com/feedtree/feedtree/feed/store"
)

// What a poll costs, and that an item waits an hour, in items lost. Between them is
// how often a feed is polled that loses nothing: every √(2·pollPrice/(waitPrice·rate))
// hours, 3 hours at one item a day, 1 hour at ten. Replayed (sim/polling,
// TestANodesDefaults), that is 30 to 39 % of the polls of once an hour, for a wait of
// 0.66 to 0.97 h instead of 0.5.
const (
	pollPrice = 0.001
	waitPrice = 0.005
)

const (
	whyPrivate   = "its origin marks it as private (Cache-Control)"
	whyNoArchive = "its origin wants no copies kept for others (X-Robots-Tag)"
)

// least is how long to leave the origin alone between polls, whoever polls: no
// shorter than the user, the document and the answer's freshness say.
func (n *Node) least(s polite.State) time.Duration {
	return max(min(n.http.Rules().Interval(s), longestPoll), n.config.Polling.Min)
}

// whyLocal says why a feed is nobody's business but this node's, or "". The publisher
// that announces a tree of its own (ft:tree) wants its feed passed on, whatever its
// server says to robots or it says itself to volunteers.
func (n *Node) whyLocal(url string, f *feed.Feed, a *fetch.Result) string {
	ok, why := n.config.Public(url)
	switch {
	case !ok:
		return why
	case a.Private:
		return whyPrivate
	case f.Tree != nil:
		return ""
	case a.NoArchive:
		return whyNoArchive
	case !f.Poll.Cooperative():
		return "it asks not to be polled for others (ft:poll)"
	}
	return ""
}

// whyLocalNow is whyLocal for an answer without a new document. A feed whose key is
// known announces a tree.
func whyLocalNow(rec store.Feed, a *fetch.Result) string {
	switch {
	case rec.Local != "":
		return rec.Local
	case a.Private:
		return whyPrivate
	case a.NoArchive && rec.Pin.How == "":
		return whyNoArchive
	}
	return ""
}
