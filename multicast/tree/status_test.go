package tree_test

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/feedtree/feedtree/multicast/tree"
	"github.com/feedtree/feedtree/overlay"
)

// Who asks many nodes in turn is told of each what it would be told otherwise, nothing of the
// one before, and leaves no garbage.
func TestStatusInto(t *testing.T) {
	starWith := func(members int, news uint64) *tree.Node {
		s := alone(t, tree.Config{}, &chart{})
		s.step(tree.Input{Kind: tree.JoinGroup, Group: group})
		s.step(tree.Input{Kind: tree.Looked, Group: group, OK: true})
		for i := range members {
			s.receive(overlay.ID(fmt.Sprint("member ", i)), joinOf(uint64(i+1), 0))
		}
		if news > 0 {
			s.step(tree.Input{Kind: tree.Publish, Group: group, Event: *event(news)})
			s.receive("friend", tree.Message{Type: tree.Link, Group: group, Path: []overlay.ID{"elsewhere"}})
		}
		return s.n
	}
	large, small, other := starWith(12, 1), starWith(2, 0), alone(t, tree.Config{}, &chart{}).n

	var st tree.GroupStatus
	for _, n := range []*tree.Node{large, small, other, large} {
		want, wantOK := n.Status(group)
		if ok := n.StatusInto(&st, group); ok != wantOK || !alike(st, want) {
			t.Errorf("%v, %+v: want %v, %+v", ok, st, wantOK, want)
		}
	}
	if len(st.Children) != 12 || len(st.Lazy) != 1 || len(st.Heads) != 1 {
		t.Fatalf("%d children, %d lazy links, %d heads: want 12, 1, 1", len(st.Children), len(st.Lazy), len(st.Heads))
	}
	if allocs := testing.AllocsPerRun(10, func() {
		small.StatusInto(&st, group)
		large.StatusInto(&st, group)
	}); allocs != 0 {
		t.Errorf("%v allocations where the lists are there", allocs)
	}
}

// alike is equality for which a list without elements is one, whether it is nil or not.
func alike(a, b tree.GroupStatus) bool {
	for _, st := range []*tree.GroupStatus{&a, &b} {
		v := reflect.ValueOf(st).Elem()
		for i := range v.NumField() {
			if f := v.Field(i); f.Kind() == reflect.Slice && f.Len() == 0 {
				f.SetZero()
			}
		}
	}
	return reflect.DeepEqual(a, b)
}
