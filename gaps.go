package feedtree

import (
	"fmt"
	"slices"
	"time"

	"github.com/feedtree/feedtree/multicast"
	"github.com/feedtree/feedtree/signing"
)

const (
	maxGaps  = 16                 // of a feed that are shown, the latest
	gapLasts = 7 * 24 * time.Hour // and so long
)

// Gap is a part of a publisher's line that was at no other node, so that its origin was
// asked instead (FeedTree §4.5.2). The origin's document holds items and does not say
// where the line is: it closes a gap by items, and never by proof.
type Gap struct {
	Source   string     `json:"source"` // fingerprint of the key
	Epoch    uint64     `json:"epoch"`
	From     uint64     `json:"from"` // seq, the first that is missing
	To       uint64     `json:"to"`   // and the last
	Since    time.Time  `json:"since"`
	Asked    *time.Time `json:"asked"`    // when the origin answered after that; null: not yet
	Sentence string     `json:"sentence"` // what is known of what was in it
}

// gaps are those of one feed. The desk owns it.
type gaps struct{ open []gap }

type gap struct {
	source          signing.PublicKey
	epoch, from, to uint64
	since           time.Time
}

// missed notes that no node has a part of the publisher's line.
func (g *gaps) missed(n multicast.Notice, now time.Time) {
	if n.From == 0 || n.To < n.From {
		return // nobody knows how much of it
	}
	next := gap{signing.PublicKey(n.Stamp.Source), n.Stamp.Epoch, n.From, n.To, now}
	g.open = slices.DeleteFunc(g.open, func(o gap) bool {
		inside := o.source == next.source && o.epoch == next.epoch && o.from >= next.from && o.to <= next.to
		if inside && o.since.Before(next.since) {
			next.since = o.since
		}
		return inside || now.Sub(o.since) > gapLasts
	})
	g.open = append(g.open, next)
	g.open = g.open[max(0, len(g.open)-maxGaps):]
}

// came takes an event that came after all out of the gaps.
func (g *gaps) came(env *signing.Envelope) {
	if env.Kind != signing.Event {
		return
	}
	var left []gap
	for _, o := range g.open {
		if o.source != env.Key || o.epoch != env.Epoch || env.Seq < o.from || env.Seq > o.to {
			left = append(left, o)
			continue
		}
		before, after := o, o
		before.to, after.from = env.Seq-1, env.Seq+1
		for _, part := range []gap{before, after} {
			if part.from <= part.to {
				left = append(left, part)
			}
		}
	}
	g.open = left[max(0, len(left)-maxGaps):]
}

// report describes the gaps. answered is when the origin answered last.
func (g *gaps) report(answered, now time.Time) []Gap {
	list := []Gap{}
	for _, o := range g.open {
		if now.Sub(o.since) > gapLasts {
			continue
		}
		r := Gap{Source: o.source.Fingerprint().String(), Epoch: o.epoch, From: o.from, To: o.to, Since: o.since}
		what := fmt.Sprintf("Event %d of the publisher is", o.from)
		if o.to > o.from {
			what = fmt.Sprintf("Events %d to %d of the publisher are", o.from, o.to)
		}
		if answered.After(o.since) {
			r.Asked = &answered
			r.Sentence = what + " at no other node. The site was asked, and what it shows is here; whether that is all, its document cannot prove."
		} else {
			r.Sentence = what + " at no other node. The site is asked; until it answers, items may be missing."
		}
		list = append(list, r)
	}
	return list
}
