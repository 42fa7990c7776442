package feedtree

import (
	"time"

	"github.com/feedtree/feedtree/feed"
	"github.com/feedtree/feedtree/feed/fetch/polite"
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
	pollNone   = "none" // ft:poll's word to volunteers: please do not
	whyPrivate = "its origin marks it as private (Cache-Control)"
)

// least is how long to leave the origin alone between polls, whoever polls: no
// shorter than the user, the document and the answer's freshness say.
func (n *Node) least(s polite.State) time.Duration {
	return max(min(n.http.Rules().Interval(s), longestPoll), n.config.Polling.Min)
}

// whyLocal says why a feed is nobody's business but this node's, or "".
func (n *Node) whyLocal(url string, f *feed.Feed, private bool) string {
	ok, why := n.config.Public(url)
	switch {
	case !ok:
		return why
	case private:
		return whyPrivate
	case f.Poll != nil && f.Poll.Allow == pollNone && f.Tree == nil:
		return "it asks not to be polled for others (ft:poll)"
	}
	return ""
}
