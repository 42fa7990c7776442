package live

import (
	"context"
	"fmt"
	"time"

	"github.com/feedtree/feedtree/multicast"
	"github.com/feedtree/feedtree/multicast/tree"
	"github.com/feedtree/feedtree/overlay"
	"github.com/feedtree/feedtree/signing"
)

// convict makes a proof of two events that the tree found to contradict each other,
// and hands it back to be told. The tree compares halves of hashes, the proof whole
// ones.
func (l *Loop) convict(events []multicast.Event) {
	a, err := l.gate.opened.open(events[0].Body)
	if err != nil {
		return
	}
	b, err := l.gate.opened.open(events[1].Body)
	if err != nil {
		return
	}
	if p, err := signing.ProveFork(a, b); err == nil {
		l.box.put(item{input: tree.Input{Kind: tree.Convict, Event: EventOfFork(p)}})
	}
}

// Convict tells a group of a proof that a source in it forked its line, as this
// node held it from before a restart or found it elsewhere.
func (l *Loop) Convict(ctx context.Context, proof []byte) error {
	p, err := signing.OpenFork(proof)
	if err != nil {
		return fmt.Errorf("tell of a fork: %w", err)
	}
	return l.call(ctx, len(proof), item{input: tree.Input{Kind: tree.Convict, Event: EventOfFork(p)}})
}

// proved checks the proof in a message and fills in what it is about.
func (g *gate) proved(now time.Time, from overlay.ID, m *tree.Message) bool {
	p, err := signing.OpenFork(m.Event.Body)
	if err == nil && p.First.Group == m.Group {
		*m.Event = EventOfFork(p)
		return true
	}
	why := forkGroup
	if err != nil {
		why = reason("fork proof: " + signing.ReasonOf(err))
	}
	g.refused.count(why)
	if signing.ReasonOf(err) != signing.ReasonUnsupported {
		g.rates.charge(now, from)
	}
	return false
}

// EventOfFork is a proof as the tree carries it.
func EventOfFork(p *signing.ForkProof) multicast.Event {
	return multicast.Event{
		Group: p.First.Group,
		Stamp: multicast.Stamp{Source: multicast.Source(p.First.Key), Epoch: p.First.Epoch, Seq: p.Place},
		Body:  p.Marshal(),
	}
}

// proofIn is the proof in a notice.
func proofIn(n tree.Notice) []byte {
	if n.Kind != tree.Forked {
		return nil
	}
	return n.Events[0].Body
}
