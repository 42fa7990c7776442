package tree_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/feedtree/feedtree/multicast/tree"
	"github.com/feedtree/feedtree/overlay"
)

// probed is somebody asked, and when.
type probed struct {
	id overlay.ID
	at time.Duration
}

// asking lists whom a node asks whose only link names so many members that seem better
// parents, and that have no room.
func asking(s *solo, d time.Duration, members int) (list []probed) {
	vague := at(2) // nobody is remembered as near
	vague.Err = 900
	var ids []overlay.ID
	var posts []tree.Standing
	for i := range members {
		ids = append(ids, overlay.ID(fmt.Sprint("member ", i)))
		posts = append(posts, tree.Standing{Delay: 20 * time.Millisecond, Weight: 2, At: vague})
	}
	for end := s.now + d; s.now < end; {
		s.pass(100 * time.Millisecond)
		for sends := s.out.Sends; len(sends) > 0; {
			to, m := sends[0].To, sends[0].Msg
			sends = sends[1:]
			switch m.Type {
			case tree.Ping:
				s.pong(to, m)
			case tree.Probe:
				list = append(list, probed{to, s.now})
				o := stands(ids, posts...)
				o.Self.At = vague
				o.Posts[0].Weight = 40 // of a small tree: any may ask any
				s.receive(to, *o)
				sends = append(sends, s.out.Sends...)
			}
		}
	}
	return list
}

// Who said that it has no room is asked again once sixteen others were, or after half a
// minute without a search: it may have some by then. Nobody is left out.
func TestWhoSaidNoIsPassedOver(t *testing.T) {
	const (
		most = 16
		rest = 30 * time.Second
	)
	for _, members := range []int{12, 24} {
		again, sooner := 0, 0
		for seed := range uint64(20) {
			s := searching(t, &chart{rtt: 20 * time.Millisecond}, seed, 0, 300*time.Millisecond)
			s.link("link")
			list := asking(s, 3*time.Hour, members)
			seen := map[overlay.ID]int{}
			for i, p := range list {
				if !strings.HasPrefix(string(p.id), "member") {
					continue
				}
				switch last, ok := seen[p.id]; {
				case !ok:
				case i-last > most && paused(list[last:i+1], rest):
				case i-last > most:
					again++
				case paused(list[last:i+1], rest):
					sooner++
				default:
					t.Fatalf("%d members, seed %d: %s was asked at %v and, %d later, at %v", members, seed, p.id, list[last].at, i-last, p.at)
				}
				seen[p.id] = i
			}
			if len(seen) < members {
				t.Errorf("seed %d: only %d of %d were asked", seed, len(seen), members)
			}
			if !slices.ContainsFunc(list, func(p probed) bool { return p.at > time.Hour && p.id != "link" }) {
				t.Errorf("%d members, seed %d: after an hour nobody was asked", members, seed)
			}
		}
		if again == 0 || sooner == 0 {
			t.Errorf("of %d members %d were asked again after sixteen others, %d after a pause", members, again, sooner)
		}
	}
}

// paused reports whether nobody was asked for so long.
func paused(list []probed, d time.Duration) bool {
	for i := range list[1:] {
		if list[i+1].at-list[i].at > d {
			return true
		}
	}
	return false
}
