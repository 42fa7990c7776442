package proxy

import (
	"github.com/feedtree/feedtree"
	"github.com/feedtree/feedtree/feed"
	"github.com/feedtree/feedtree/feed/store"
	"github.com/feedtree/feedtree/feed/witness"
)

// lines are what readers see at the end of an item.
var lines = map[store.Trust]string{
	store.Signed:       "FeedTree: signed by the publisher.",
	store.Fetched:      "FeedTree: fetched from the site by this machine.",
	store.Corroborated: "FeedTree: corroborated, several independent nodes saw the same.",
	store.Unconfirmed:  "FeedTree: unconfirmed, one other node says so.",
}

// doubts are what readers see instead where others do not say the same.
var doubts = map[witness.State]string{
	witness.Disputed:     "FeedTree: unconfirmed and disputed, another node looked later and did not see this.",
	witness.Contradicted: "FeedTree: contradicted, this was not in the document that it is said to come from.",
}

// labeller says in a line why an item of a document is believed.
func labeller(state feedtree.DocState) func(feed.Item) string {
	return func(it feed.Item) string {
		key := it.Key()
		trust, known := state.Trust[key]
		switch line, doubted := doubts[state.Doubt[key]]; {
		case doubted:
			return line
		case known:
			return lines[trust]
		}
		return ""
	}
}
