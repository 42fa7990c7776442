package tree_test

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/feedtree/feedtree/multicast"
	"github.com/feedtree/feedtree/multicast/tree"
	"github.com/feedtree/feedtree/overlay"
)

// nowhere is the router of a node that knows nobody.
type nowhere struct{}

func (nowhere) Self() overlay.ID                          { return "a" }
func (nowhere) NextHop(overlay.Key) (overlay.ID, bool)    { return "", false }
func (nowhere) Closest(overlay.Key, int) []overlay.ID     { return nil }
func (nowhere) RTT(overlay.ID) (d time.Duration, ok bool) { return }

// A node without peers looks up the group, finds nobody closer and is the root
// of its tree. A neighbour that asks is adopted and told what was published.
func ExampleNode_Step() {
	var out tree.Outbox
	n := tree.New(tree.Config{}, nowhere{}, rand.New(rand.NewPCG(1, 2)))
	step := func(now time.Duration, in tree.Input) {
		n.Step(now, in, &out)
		for _, g := range out.Lookups {
			fmt.Println("look up", g.String()[:8])
		}
		for _, s := range out.Sends {
			if s.Msg.Type != tree.Walk { // it looks for lazy links as well
				fmt.Println("send", s.Msg.Type, "to", s.To)
			}
		}
		out.Reset()
	}
	g := multicast.GroupOf("https://example.org/feed.xml")
	step(0, tree.Input{Kind: tree.JoinGroup, Group: g})
	step(time.Second, tree.Input{Kind: tree.Looked, Group: g, OK: true})
	st, _ := n.Status(g)
	fmt.Println("root:", st.Root)
	step(2*time.Second, tree.Input{Kind: tree.Receive, From: "b", Msg: &tree.Message{Type: tree.Join, Group: g, Edge: 7, Flags: tree.Detached}})
	step(3*time.Second, tree.Input{Kind: tree.Publish, Event: multicast.Event{
		Group: g, Stamp: multicast.Stamp{Source: multicast.Source{1}, Epoch: 1, Seq: 1}, Body: []byte("signed bytes")}})
	// Output:
	// look up 47ezffz4
	// root: true
	// send ack to b
	// send data to b
}
