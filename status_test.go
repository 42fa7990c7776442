package feedtree_test

import (
	"encoding/json"
	"testing"
)

// The status of a node to which nothing happened yet is whole: programs find
// every map and list, empty.
func TestStatusOfANewNode(t *testing.T) {
	n := startNode(t, newOrigin(t), nil)
	b, err := json.Marshal(n.Status())
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(b, &got); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"peer_id", "addrs", "peers", "feeds", "refused", "counts", "reach"} {
		if got[name] == nil {
			t.Errorf("%s is missing or null in %s", name, b)
		}
	}
}
