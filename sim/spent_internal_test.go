package sim

import (
	"slices"
	"testing"

	"github.com/feedtree/feedtree/multicast/tree"
)

// One lane only receives, the other only sends: what the first has no use for serves the
// second, and no message is made twice over or handed to both.
func TestSpentMessagesGoWhereTheyAreWanted(t *testing.T) {
	var s spent
	var getting, sending []*tree.Message
	made := 0
	for range 20 * spentLot {
		s.even(&sending)
		m := new(tree.Message)
		if last := len(sending) - 1; last >= 0 {
			m, sending = sending[last], sending[:last]
		} else {
			made++
		}
		s.even(&getting)
		getting = append(getting, m)
	}
	if most := 4 * spentLot; made > most {
		t.Errorf("%d messages were made where %d are enough", made, most)
	}
	if most := 3*spentLot + 1; len(getting) > most {
		t.Errorf("a lane keeps %d spent messages, more than %d", len(getting), most)
	}
	seen := map[*tree.Message]bool{}
	for _, m := range slices.Concat(append(s.lots, getting, sending)...) {
		if seen[m] {
			t.Fatal("a message is kept twice")
		}
		seen[m] = true
	}
}
