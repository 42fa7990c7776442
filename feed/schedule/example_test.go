package schedule_test

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/feedtree/feedtree/feed/schedule"
)

// Two nodes follow a feed. They take turns, until one of them dies.
func Example() {
	const half = 30 * time.Minute
	rng := rand.New(rand.NewPCG(1, 2))
	a, b := schedule.Source{1}, schedule.Source{2}
	first := schedule.New(0, schedule.Config{Interval: half, Self: a}, rng)
	second := schedule.New(0, schedule.Config{Interval: half, Self: b}, rng)

	first.Polled(0, true)
	second.Heard(0, 0, a)
	claim := second.Deadline()
	fmt.Println("it joins:", second.Due(claim) == schedule.Claim)
	second.Claimed(claim)
	first.Asking(claim, 0, b)
	fmt.Println("and polls:", second.Deadline() >= half, second.Due(second.Deadline()) == schedule.Poll)

	second.Polled(half, true)
	first.Heard(half, 0, b)
	fmt.Println("the first one's turn:", first.Due(2*half+time.Minute) == schedule.Poll)
	fmt.Println("nothing came from it:", second.Due(2*half+3*time.Minute) == schedule.Claim)
	// Output:
	// it joins: true
	// and polls: true true
	// the first one's turn: true
	// nothing came from it: true
}
