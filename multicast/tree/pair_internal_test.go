package tree

import (
	"math/rand/v2"
	"testing"
	"time"
)

// A pair that is over is found no more, although it is the one that the step was about and
// waits to be used again; nor is it found as the pair of nobody.
func TestPairOver(t *testing.T) {
	n := &Node{cfg: Config{}.withDefaults(), rng: rand.New(rand.NewPCG(1, 2)), step: step{now: time.Second, out: &Outbox{}}}
	g := &group{role: role{member: true}}
	first := n.tie("a", g, 1, 0)
	if n.pair("a") != first {
		t.Fatal("a pair is not found")
	}
	n.settle()
	n.untie("a", g, 1, 0)
	if n.pair("a") != nil {
		t.Error("a pair that is over is found")
	}
	n.settle()
	if n.pair("") != nil || n.pair("a") != nil {
		t.Error("a pair that waits to be used again is found")
	}
	if again := n.tie("b", g, 1, 0); again != first || n.pair("b") != again || again.over || again.digest != 1 || len(again.ties()) != 1 {
		t.Errorf("the pair used again is %+v", again)
	}
}
