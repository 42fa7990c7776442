package sim_test

import (
	"testing"
	"time"

	"github.com/feedtree/feedtree/overlay"
	"github.com/feedtree/feedtree/overlay/sim"
)

// Nobody is in more tables of those who joined later than is allowed, but for those who
// joined at the same time as the last; without a bound the first nodes are in many more.
// Routes still end at the nearest node, and lanes change nothing.
func TestHolders(t *testing.T) {
	const batches, each, most = 20, 100, 250
	ids := names(batches * each)
	fullest := func(holders, lanes int) (first, wrong int, hash uint64) {
		w := newWorld(sim.Config[note]{
			Tables: sim.Tables{Joined: true, Holders: holders},
			Lanes:  sim.Lanes{Count: lanes, Of: func(place uint64) int { return int(place % uint64(lanes)) }, Apart: 8 * time.Millisecond, Do: atOnceAll},
		}, plain)
		for b := range batches {
			for _, id := range ids[b*each : (b+1)*each] {
				w.Add(id, func(ep *sim.Endpoint[note]) sim.Host[note] {
					w.toys[id] = newToy(ep)
					return w.toys[id]
				})
			}
			w.Run(time.Duration(b+1) * time.Second)
		}
		number := map[overlay.ID]int{}
		for i, id := range ids {
			number[id] = i
		}
		later := make([]int, len(ids)) // holders of a later batch
		for i, id := range ids {
			for _, p := range w.toys[id].net.Closest(id.Key(), len(ids)) {
				if number[p]/each < i/each {
					later[number[p]]++
				}
			}
		}
		for _, n := range later {
			first = max(first, n)
		}
		for i := range 100 {
			at := ids[len(ids)-1-i]
			for next, ok := w.toys[at].net.NextHop(key(i)); ok; next, ok = w.toys[at].net.NextHop(key(i)) {
				at = next
			}
			if at != rootOf(key(i), ids) {
				wrong++
			}
		}
		w.send(ids[0], ids[5], 1, 2, 3) // whom it reaches when hangs on the tables
		w.Run(time.Minute)
		return first, wrong, w.Hash()
	}
	n, wrong, hash := fullest(most, 1)
	if n > most+len(ids)/32 || wrong > 0 {
		t.Errorf("a node is in %d tables of later nodes where %d are allowed; %d of 100 routes end at the wrong node", n, most, wrong)
	}
	if _, _, other := fullest(most, 3); other != hash {
		t.Errorf("in three lanes the hash is %x, in one %x", other, hash)
	}
	if _, wrong, _ := fullest(most/2, 1); wrong > 0 { // who comes is told of nodes that are full, mostly
		t.Errorf("with a bound of %d, %d of 100 routes end at the wrong node", most/2, wrong)
	}
	if n, _, _ := fullest(0, 1); n < most*3/2 {
		t.Errorf("without a bound the fullest node is in %d tables: this test proves nothing", n)
	}
}
