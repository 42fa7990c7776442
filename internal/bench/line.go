package bench

import (
	"math/rand/v2"
	"time"

	"github.com/feedtree/feedtree/multicast"
	"github.com/feedtree/feedtree/signing"
)

// line writes the events: for every backend the same, but for times.
type line struct {
	id   *signing.Identity
	at   signing.Line
	rand *rand.Rand
}

// sealed is an event ready to be sent.
type sealed struct {
	stamp multicast.Stamp
	wire  []byte
}

func newLine() line {
	id, err := signing.FromSeed(make([]byte, 32)) // a key for measurements
	if err != nil {
		panic("bench: a key of zeros: " + err.Error())
	}
	return line{id: id, at: signing.Line{Epoch: 1}, rand: rand.New(rand.NewPCG(1, 2))}
}

func (l *line) next(size int) sealed {
	h := signing.Header{Role: signing.Publisher, Media: signing.RSS, Group: group, TTL: time.Hour, Time: time.Now()}
	l.at.Event(&h)
	payload := make([]byte, size)
	for i := range payload {
		payload[i] = byte(l.rand.Uint32())
	}
	wire, err := l.id.Seal(h, payload)
	if err != nil {
		panic("bench: sealing: " + err.Error())
	}
	env, err := signing.Open(wire)
	if err != nil {
		panic("bench: opening: " + err.Error())
	}
	if l.at, err = l.at.Advance(env); err != nil {
		panic("bench: the line: " + err.Error())
	}
	return sealed{multicast.Stamp{Source: multicast.Source(env.Key), Epoch: env.Epoch, Seq: env.Seq}, wire}
}
