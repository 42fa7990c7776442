package tree

import "time"

// The last of all to hold an event set how late a feed is at worst (RMD of Scribe §5). They
// are few, and by the rule for everybody they search ever more seldom for what is little to
// them. So each node tells how far the last leaf below it is, and the top tells all: who is
// last then knows it.
//
// That is hearsay, as all that is told of places: who lies about it makes others search in
// vain, or nobody search as one of the last.

const (
	farUnit   = 100 * time.Microsecond // of Standing.Far
	farPart   = 128                    // a change of less than this part is not told to the parent,
	farLeast  = 5                      // nor one of less than half a millisecond
	longPart  = 64                     // the same of the longest way, which all are told,
	longEvery = 15 * time.Second       // by the top no more often than this
	lastPart  = 12                     // who is later than all but this part of the longest way is one of the last
	lastVery  = 24                     // and who is later than all but this part is, wherever its coordinate says that it lives
	lastFrom  = 1024                   // in a smaller tree everybody soon has asked everybody
	lastMost  = 16                     // with more nodes than this below it is another one, further down,
	lastBy    = 10 * time.Millisecond  // unless its own way is late by this beside half of what it need be
	lastOften = 4                      // and they may ask so many times as many
)

func far(units uint16) time.Duration { return time.Duration(units) * farUnit }

// farthest is the way down to the last leaf.
func (n *Node) farthest(g *group) uint16 {
	way := time.Duration(0)
	for i := range g.links.children {
		c := &g.links.children[i]
		way = max(way, n.down(c)+wait(c.turn))
	}
	return uint16(min(way/farUnit, 1<<16-1))
}

// down is how long an event takes from here to the last leaf below a child, once it is sent.
func (n *Node) down(c *child) time.Duration { return n.way(c.rtt, c.stand.At) + far(c.stand.Far) }

// longest is the longest way of all, as the top told; 0: nothing is known, or the tree is
// small.
func (g *group) longest() uint16 {
	switch {
	case g.size() < lastFrom:
	case g.place.top:
		return g.far
	case len(g.place.stands) > 0:
		return g.place.stands[0].Far
	}
	return 0
}

// lastMoved reports whether the longest way is another one than those below were told. The
// top says so now and then only, for all are told.
func (n *Node) lastMoved(g *group) bool {
	now, told := uint32(g.longest()), uint32(g.place.lasted)
	if diff(now, told) <= told/longPart+farLeast {
		return false
	}
	return !g.place.top || n.step.now-g.place.lastAt >= longEvery
}

// slowOfLast makes the last search every second and a half for as long as the budget lasts,
// while others search ever more rarely. Who has many below it would do so twice as often, and
// have spent its budget in half a minute.
func (g *group) slowOfLast() uint8 {
	if g.weight() >= searchMany {
		return 2
	}
	return 0
}

// last reports whether hardly anybody holds an event later than this node or one below it,
// although the way from the top is not as long. That a coordinate tells, which is off by a tenth
// at times: of 100,000 nodes the very last was one that took itself for farther away than it is,
// and looked around every forty seconds. So the very last, a handful, do not ask it. Where
// many are below it, one of them could mostly do better by itself; but not where this node's
// way is the detour that makes all of them late. Of a million nodes the last hundreds hung
// below a single one that had an event after 109 ms and was 56 ms from the top: none of them
// found a way around it, and it was too heavy to look for one.
func (n *Node) last(g *group) bool {
	worst, delay := far(g.longest()), n.delay(g)
	if worst == 0 || delay+far(g.far) < worst-worst/lastPart || g.weight() > lastMost && !n.late(g, lastBy) {
		return false
	}
	if delay+far(g.far) >= worst-worst/lastVery {
		return true
	}
	top := n.topAt(g)
	direct := top.RTT(n.at.Coord) / 2
	return top.Known() && n.at.Known() && delay > direct+max(direct/lastPart, gainLeast)
}
