package schedule_test

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/feedtree/feedtree/feed/schedule"
)

// Two nodes follow a feed. One polls, the other hears it and stays silent until
// the first one dies.
func Example() {
	rng := rand.New(rand.NewPCG(1, 2))
	config := schedule.Config{Interval: 30 * time.Minute}
	first, second := schedule.New(0, config, rng), schedule.New(0, config, rng)

	first.Polled(0, true)
	second.Heard(0, 0, schedule.Source{1})
	fmt.Println("first within T:", first.Deadline() <= 30*time.Minute)
	fmt.Println("second only after T:", second.Deadline() > 30*time.Minute)

	takeover := second.Deadline()
	fmt.Println("nothing came:", second.Due(takeover) == schedule.Poll)
	// Output:
	// first within T: true
	// second only after T: true
	// nothing came: true
}
