package tree

import (
	"testing"
	"time"
)

// A search that finds a place earns another one, so that a node in a few groups goes on for
// as long as that pays. In thousands of groups there is always something to be found, and the
// budget is the node's, not the group's: what an hour's searches cost may not hang on it.
func TestInManyGroupsPlacesFoundDoNotPayForSearches(t *testing.T) {
	searches := func(groups int) (n int) {
		var b budget
		for at := time.Duration(0); at < 2*time.Hour; at += time.Second {
			for n := 0; n < 2*budgetMost && at == 0; n++ { // the first ones are free
				b.take(at)
			}
			if b.take(at) {
				b.earn(true, groups)
				if at > time.Hour {
					n++
				}
			}
		}
		return n
	}
	if n := searches(1); n < 1000 {
		t.Errorf("%d searches an hour in one group, each of which found a place", n)
	}
	if n, most := searches(5000), int(time.Hour/budgetEvery)+1; n == 0 || n > most {
		t.Errorf("%d searches an hour in 5,000 groups, want %d at most", n, most)
	}
}
