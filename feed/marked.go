package feed

import "encoding/json"

// Marked returns the mark of trust that the item bore in its document, as
// Options.Mark put it there, or "". Anybody can put one there: it says something only
// in a document from one's own proxy.
func (it Item) Marked() string {
	r := it.source
	if r == nil {
		return ""
	}
	if r.dialect == jsonFeed {
		var bears struct {
			FeedTree struct {
				Trust string `json:"trust"`
			} `json:"_feedtree"`
		}
		_ = json.Unmarshal([]byte(r.text), &bears) // what is no mark is none
		return bears.FeedTree.Trust
	}
	kids, raws := r.children()
	for i, k := range kids {
		if k.space == Namespace && k.local == "trust" {
			return raws[i].inner()
		}
	}
	return ""
}
