package forks

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/feedtree/feedtree/multicast"
	"github.com/feedtree/feedtree/multicast/live"
	"github.com/feedtree/feedtree/signing"
)

// author writes one line. Its key is drawn from the world's seed.
type author struct {
	id    *signing.Identity
	group multicast.Group
	line  signing.Line
	ttl   time.Duration // a promise of heartbeats, which makes its node the top
	said  int
}

// epochZero is the wall time at which every world begins.
var epochZero = time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)

func newIdentity(rng *rand.Rand) *signing.Identity {
	var seed [32]byte
	for i := range seed {
		seed[i] = byte(rng.Uint32())
	}
	id, err := signing.FromSeed(seed[:])
	if err != nil {
		panic("forks: 32 bytes are a seed: " + err.Error())
	}
	return id
}

// say makes the next statement: an event that names what it is about, or without a
// word a heartbeat.
func (a *author) say(now time.Duration, word string) multicast.Event {
	h := signing.Header{Role: signing.Publisher, Media: signing.RSS, Group: a.group, Time: epochZero.Add(now), TTL: a.ttl}
	if word == "" {
		a.line.Heartbeat(&h)
	} else {
		a.line.Event(&h)
		a.said++
		word = fmt.Sprintf("%s %d", word, a.said)
	}
	wire, err := a.id.Seal(h, []byte(word))
	if err != nil {
		panic("forks: a statement that cannot be signed: " + err.Error())
	}
	env, err := signing.Open(wire)
	if err != nil {
		panic("forks: a statement that does not verify: " + err.Error())
	}
	if a.line, err = a.line.Advance(env); err != nil {
		panic("forks: an author that does not follow its own line: " + err.Error())
	}
	return live.EventOf(env)
}

// prove makes a proof of two events, as a node does.
func prove(events []multicast.Event) (multicast.Event, bool) {
	a, err := signing.Open(events[0].Body)
	if err != nil {
		return multicast.Event{}, false
	}
	b, err := signing.Open(events[1].Body)
	if err != nil {
		return multicast.Event{}, false
	}
	p, err := signing.ProveFork(a, b)
	if err != nil {
		return multicast.Event{}, false
	}
	if p, err = signing.OpenFork(p.Marshal()); err != nil {
		panic("forks: a proof that does not verify: " + err.Error())
	}
	return live.EventOfFork(p), true
}
