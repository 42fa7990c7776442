package fetch

import (
	"bytes"

	"github.com/feedtree/feedtree/feed"
)

// deltaItems is how many items of the version held a merged document keeps.
const deltaItems = 500

// Merge makes a whole document of a delta (226) and the version held before: the
// items of the delta, then those held that it does not replace. What is not in a
// delta is not gone (RFC 3229). The result is in the delta's format.
func Merge(held, delta *feed.Feed) ([]byte, error) {
	items := delta.Items
	replaced := make(map[string]bool, len(items))
	for _, it := range items {
		replaced[it.Key()] = true
	}
	items = items[:len(items):len(items)]
	for _, it := range held.Items {
		if len(items) >= deltaItems+len(delta.Items) {
			break
		}
		if !replaced[it.Key()] {
			items = append(items, it)
		}
	}
	var doc bytes.Buffer
	if err := feed.Render(&doc, feed.Assemble(delta, items), delta.Format, feed.Options{}); err != nil {
		return nil, err
	}
	return doc.Bytes(), nil
}
