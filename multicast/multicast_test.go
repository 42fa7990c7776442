package multicast_test

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"

	"github.com/feedtree/feedtree/multicast"
)

func ExampleGroupOf() {
	g := multicast.GroupOf("https://example.org/feed.xml")
	again, err := multicast.ParseGroup(g.String())
	fmt.Println(len(g.String()), again == g, err)
	// Output: 52 true <nil>
}

// DESIGN: a group is SHA-256("feedtree/group/1" ‖ canonical feed URL).
func TestGroupOf(t *testing.T) {
	const url = "https://example.org/feed.xml"
	if want := multicast.Group(sha256.Sum256([]byte("feedtree/group/1" + url))); multicast.GroupOf(url) != want {
		t.Fatal("the group is not the hash of domain and URL")
	}
	if multicast.GroupOf(url) == multicast.GroupOf(url+"/") {
		t.Fatal("two feeds, one group")
	}
}

func TestParseGroup(t *testing.T) {
	good := multicast.GroupOf("https://example.org/").String()
	if g, err := multicast.ParseGroup(strings.ToUpper(good)); err != nil || g.String() != good {
		t.Errorf("upper case: %v, %v", g, err)
	}
	for _, bad := range []string{"", good[:51], good + "a", strings.Repeat("1", 52), good[:51] + "="} {
		if _, err := multicast.ParseGroup(bad); err == nil {
			t.Errorf("%q was read as a group", bad)
		}
	}
}

func TestStampOrder(t *testing.T) {
	s := func(e, q, b uint64) multicast.Stamp { return multicast.Stamp{Epoch: e, Seq: q, Beat: b} }
	ordered := []multicast.Stamp{s(1, 1, 0), s(1, 2, 0), s(1, 2, 5), s(1, 2, 6), s(1, 3, 0), s(2, 1, 0)}
	for i := range ordered {
		for j := range ordered {
			if got := ordered[i].Compare(ordered[j]); (got < 0) != (i < j) || (got == 0) != (i == j) {
				t.Errorf("%v against %v: %d", ordered[i], ordered[j], got)
			}
		}
	}
}
