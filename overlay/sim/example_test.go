package sim_test

import (
	"fmt"
	"time"

	"github.com/feedtree/feedtree/overlay"
	"github.com/feedtree/feedtree/overlay/sim"
)

// A pinger sends a ping a second to one peer and prints what it gets.
type pinger struct {
	net  *sim.Endpoint[string]
	peer overlay.ID
	next time.Duration
}

func (p *pinger) Receive(now time.Duration, from overlay.ID, m string) {
	fmt.Printf("%v: %s gets %s from %s\n", now, p.net.Self(), m, from)
	if m == "ping" {
		p.net.Send(from, "pong")
	}
}

func (p *pinger) Gone(now time.Duration, peer overlay.ID) {
	fmt.Printf("%v: %s lost %s\n", now, p.net.Self(), peer)
	p.next = sim.Never
}

func (p *pinger) Routes(time.Duration) {}

func (p *pinger) Tick(now time.Duration) {
	p.net.Send(p.peer, "ping")
	p.next = now + time.Second
}

func (p *pinger) Deadline() time.Duration { return p.next }

func Example() {
	net := sim.New(sim.Config[string]{Seed: 1, Latency: sim.Constant(20 * time.Millisecond)})
	net.Add("alice", func(ep *sim.Endpoint[string]) sim.Host[string] {
		return &pinger{net: ep, peer: "bob"}
	})
	net.Add("bob", func(ep *sim.Endpoint[string]) sim.Host[string] {
		return &pinger{net: ep, next: sim.Never}
	})
	net.At(1500*time.Millisecond, func() { net.Crash("bob") })
	net.Run(time.Minute)
	// Output:
	// 20ms: bob gets ping from alice
	// 40ms: alice gets pong from bob
	// 1.02s: bob gets ping from alice
	// 1.04s: alice gets pong from bob
	// 31.5s: alice lost bob
}
