package sim_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/feedtree/feedtree/overlay"
	"github.com/feedtree/feedtree/overlay/sim"
)

// seer is a toy that notes for which messages it glanced.
type seer struct {
	*toy
	stage map[string]int // by message: glances so far
	ready int            // messages that came after all glances,
	blind int            // and others
	mixed int            // glances that did not come after the one before
	other int            // glances for what is no message,
	whole int            // and how often all were made
}

func (h *seer) Glance(stage int, from overlay.ID, m note) uint64 {
	if from == "" {
		h.other++
		if stage == sim.Glances-1 {
			h.whole++
		}
		return 0
	}
	k := fmt.Sprint(from, m)
	if stage > 0 && h.stage[k] != stage {
		h.mixed++
	}
	h.stage[k] = stage + 1
	return 1
}

func (h *seer) Receive(now time.Duration, from overlay.ID, m note) {
	k := fmt.Sprint(from, m)
	if h.stage[k] == sim.Glances {
		h.ready++
	} else {
		h.blind++
	}
	delete(h.stage, k)
	strangers := []overlay.ID{from, "", "nobody", "n99999", "n00005"}
	h.net.Ahead(len(strangers), func(k int) overlay.ID { return strangers[k] })
	h.toy.Receive(now, from, m)
}

// Where many events are due at one time, hosts have glanced at each message from who sends it,
// stage by stage, before it comes; and it changes nothing.
func TestHostsReadAhead(t *testing.T) {
	ids := names(200)
	play := func(count int, ahead bool) (hash uint64, ready, blind int) {
		net := sim.New(sim.Config[note]{
			Seed: 3, Latency: sim.Uniform(8*time.Millisecond, 90*time.Millisecond), Measure: func(m note) (uint8, int) { return uint8(m % 7), 8 },
			Number: func(id overlay.ID) (k int) {
				if _, err := fmt.Sscanf(string(id), "n%d", &k); err != nil {
					return -1
				}
				return k
			},
			Lanes: sim.Lanes{Count: count, Of: func(place uint64) int { return int(place % uint64(count)) }, Apart: 8 * time.Millisecond, Ahead: ahead},
		})
		hosts := make([]*seer, len(ids))
		for i, id := range ids {
			net.Add(id, func(ep *sim.Endpoint[note]) sim.Host[note] {
				hosts[i] = &seer{toy: newToy(ep), stage: map[string]int{}}
				return hosts[i]
			})
			net.CallAt(time.Second, id, func(time.Duration) { hosts[i].flood(note(i)) })
		}
		net.Run(2 * time.Second)
		for _, h := range hosts {
			ready, blind = ready+h.ready, blind+h.blind
			if h.mixed > 0 {
				t.Errorf("%d glances at one host did not come in their order", h.mixed)
			}
		}
		return net.Hash(), ready, blind
	}
	one, ready, blind := play(2, false)
	if ready > 0 || blind < 10_000 {
		t.Fatalf("nobody is to read ahead, and %d of %d messages were looked at before", ready, ready+blind)
	}
	two, ready, blind := play(2, true)
	if ready < 19*blind {
		t.Errorf("%d of %d messages were looked at before", ready, ready+blind)
	}
	if one != two {
		t.Errorf("the hashes are %x and %x", one, two)
	}
}

// Nobody reads ahead for a connection that is made, of which hosts do not hear, nor, once that can
// be known, for a tick whose deadline has moved on.
func TestHostsDoNotReadAheadInVain(t *testing.T) {
	ids := names(200)
	net := sim.New(sim.Config[note]{Seed: 3, Latency: sim.Constant(20 * time.Millisecond), Lanes: sim.Lanes{
		Count: 2, Of: func(place uint64) int { return int(place % 2) }, Apart: 20 * time.Millisecond, Ahead: true}})
	hosts := make([]*seer, len(ids))
	for i, id := range ids {
		net.Add(id, func(ep *sim.Endpoint[note]) sim.Host[note] {
			hosts[i] = &seer{toy: newToy(ep), stage: map[string]int{}}
			hosts[i].fan, hosts[i].every = 0, time.Hour
			return hosts[i]
		})
		net.CallAt(time.Second, id, func(time.Duration) { hosts[i].net.Send(ids[(i+100)%len(ids)], 1) })
		net.CallAt(3*time.Second, id, func(time.Duration) { hosts[i].next = 5 * time.Second })
		net.CallAt(4*time.Second, id, func(time.Duration) {
			if i%2 == 0 {
				hosts[i].next = time.Hour
			}
		})
	}
	sum := func() (other, whole, heard, ticks int) {
		for _, h := range hosts {
			other, whole, heard, ticks = other+h.other, whole+h.whole, heard+1+h.routes, ticks+h.ticks
		}
		return other, whole, heard, ticks
	}
	net.Run(2 * time.Second)
	if other, _, heard, _ := sum(); net.Counts().Dials < 50 || other > heard*sim.Glances {
		t.Errorf("%d glances for %d calls, and %d connections that were made", other, heard, net.Counts().Dials)
	}
	net.Run(4900 * time.Millisecond)
	_, before, _, _ := sum()
	net.Run(6 * time.Second)
	if _, whole, _, ticks := sum(); ticks != 100 || whole-before < 90 || whole-before > 100 {
		t.Errorf("%d ticks, and everything was read for %d: the other hundred hosts had put off theirs", ticks, whole-before)
	}
}
