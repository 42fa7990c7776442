package witness_test

import (
	"fmt"
	"time"

	"github.com/feedtree/feedtree/feed/witness"
)

// Two volunteers list an item that a third one, who asks later, does not see.
func Example() {
	old, news := witness.Item{Key: [16]byte{1}}, witness.Item{Key: [16]byte{2}}
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	panel := witness.New(witness.Config{})
	panel.Hear(now, witness.Statement{Own: true, Taken: now, Items: []witness.Item{old}})
	for hour, who := range []string{"anna", "ben", "carla"} {
		s := witness.Statement{Network: "network of " + who, Items: []witness.Item{old, news}}
		copy(s.By[:], who)
		if who == "carla" {
			s.Items = s.Items[:1]
		}
		s.Taken = now.Add(time.Duration(hour+1) * time.Hour)
		panel.Hear(s.Taken, s)
		fmt.Println(who, panel.State(news))
	}
	// Output:
	// anna unconfirmed
	// ben corroborated
	// carla disputed
}
