package feedtree

import (
	"fmt"
	"slices"
	"testing"

	"github.com/feedtree/feedtree/overlay/kad"
)

// Who shares most feeds stands first, then with whom most was exchanged; the list ends
// somewhere.
func TestNeighbours(t *testing.T) {
	peer := func(id string, bytes uint64) kad.Neighbour {
		return kad.Neighbour{Conn: kad.Conn{Peer: id}, Traffic: kad.Traffic{Sent: bytes}}
	}
	feeds := []FeedStatus{
		{URL: "https://a.example/", Parent: "parent", Children: []string{"child"}},
		{URL: "https://b.example/", Children: []string{"child", "gone"}},
		{URL: "https://c.example/"},
	}
	got := neighbours([]kad.Neighbour{peer("quiet", 1), peer("busy", 9), peer("parent", 0), peer("child", 0)}, feeds)
	var names []string
	for _, n := range got {
		names = append(names, fmt.Sprint(n.Peer, " ", len(n.Feeds)))
		if n.Feeds == nil {
			t.Errorf("%s: no list, which is null in JSON", n.Peer)
		}
	}
	if want := []string{"child 2", "parent 1", "busy 0", "quiet 0"}; !slices.Equal(names, want) {
		t.Errorf("%v, want %v", names, want)
	}
	many := make([]kad.Neighbour, 1000)
	if n := len(neighbours(many, nil)); n != mostNeighbours {
		t.Errorf("%d of 1000 named", n)
	}
}
