package live

import (
	"time"

	"github.com/feedtree/feedtree/multicast"
	"github.com/feedtree/feedtree/multicast/internal/limbo"
	"github.com/feedtree/feedtree/multicast/tree"
	"github.com/feedtree/feedtree/overlay"
	"github.com/feedtree/feedtree/signing"
)

// Verdict is the application's answer to whether a source may speak on a feed.
type Verdict uint8

// The verdicts.
const (
	Accept  Verdict = iota + 1 // deliver and forward
	Refuse                     // drop, and count under the reason given
	Unknown                    // hold for a while: the feed's key is not known yet
)

// Judge decides about an envelope whose signature is right: is its key one
// that may speak in its group, is its time credible. It is called from many
// goroutines at once, again for each copy of an event that comes, and should
// answer from memory. The reason of a refusal is a few fixed words, since
// refusals are counted by it.
type Judge func(*signing.Envelope) (verdict Verdict, reason string)

// item is one thing for the loop to step, and the envelope of its event.
type item struct {
	input tree.Input
	env   *signing.Envelope
	done  func() // gives back the room the item took; nil if it took none
}

// gate lets verified messages in. It is safe for concurrent use.
type gate struct {
	judge   Judge
	opened  opened
	held    limbo.Limbo[item]
	rates   rates
	refused refusals
}

// admit decides about a frame. It returns false for what is not to be stepped
// now: dropped and counted, or held.
func (g *gate) admit(now time.Time, from overlay.ID, frame []byte) (item, []contact, bool) {
	m, contacts, why := decode(frame)
	if why == "" {
		why = g.cheap(now, from, m)
	}
	if why != "" {
		g.refused.count(why)
		return item{}, nil, false
	}
	it := item{input: tree.Input{Kind: tree.Receive, From: from, Msg: m}}
	switch {
	case m.Type == tree.Fork && !g.proved(now, from, m), m.Type == tree.Data && !g.verified(now, &it):
		return item{}, nil, false
	}
	return it, contacts, true
}

// cheap is what can be said against a message without cryptography.
func (g *gate) cheap(now time.Time, from overlay.ID, m *tree.Message) reason {
	if m.Type == tree.Join && len(m.Peers) > named(m) {
		return frameSender
	}
	return g.rates.allow(now, from, m.Type)
}

// named is how many nodes a join may name: the parent that one who moves leaves, and
// whom it hangs below now. Who is to be adopted is never among them.
func named(m *tree.Message) int {
	if m.Flags&tree.Better != 0 {
		return 2
	}
	return 0
}

// verified checks the event of a message, fills in what its source signed,
// and has it judged.
func (g *gate) verified(now time.Time, it *item) bool {
	m := it.input.Msg
	env, err := g.opened.open(m.Event.Body)
	why := reason("event: " + signing.ReasonOf(err))
	switch {
	case err == nil && env.Group == m.Group:
		*m.Event = EventOf(env)
		it.env = env
		return g.judged(now.Add(limbo.MostTime), *it)
	case err == nil:
		why = eventGroup
	}
	g.refused.count(why)
	if signing.ReasonOf(err) != signing.ReasonUnsupported { // that may come from a later version
		g.rates.charge(now, it.input.From)
	}
	return false
}

// judged asks the judge. What it does not know is held for as long as until;
// if a recheck came between, it may be known by now.
func (g *gate) judged(until time.Time, it item) bool {
	for {
		generation := g.held.Now()
		verdict, why := Accept, ""
		if g.judge != nil {
			verdict, why = g.judge(it.env)
		}
		switch verdict {
		case Accept:
			return true
		case Unknown:
			switch g.held.Put(generation, it.env, it, until) {
			case limbo.Judge:
				continue
			case limbo.Already:
				g.refused.count(heldAgain)
			case limbo.Full:
				g.refused.count(heldFull)
			}
		default:
			g.refused.count("judge: " + reason(why))
		}
		return false
	}
}

// recheck judges again what is held in a group and returns what is accepted.
func (g *gate) recheck(now time.Time, group multicast.Group) []item {
	var accepted []item
	for _, h := range g.held.Recheck(group) {
		if !now.Before(h.Until) {
			g.refused.count(heldExpired)
		} else if g.judged(h.Until, h.Of) {
			accepted = append(accepted, h.Of)
		}
	}
	return accepted
}

func (g *gate) expire(now time.Time) {
	for range g.held.Expire(now) {
		g.refused.count(heldExpired)
	}
}

// EventOf is the event that an envelope makes: what its source signed, and
// all its bytes. Only a publisher promises to speak again: a volunteer's TTL says that
// it asks the origin next.
func EventOf(env *signing.Envelope) multicast.Event {
	e := multicast.Event{
		Group: env.Group,
		Stamp: multicast.Stamp{Source: multicast.Source(env.Key), Epoch: env.Epoch, Seq: env.Seq},
		Prev:  multicast.TagOf(env.Prev),
		Body:  env.Wire(),
	}
	if env.Role == signing.Publisher {
		e.TTL = env.TTL
	}
	if env.Kind == signing.Heartbeat {
		e.Stamp.Beat = uint64(env.Time.UnixMilli())
	} else {
		e.Tag = multicast.TagOf(env.Hash())
	}
	return e
}
