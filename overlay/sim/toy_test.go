package sim_test

import (
	"fmt"
	"time"

	"github.com/feedtree/feedtree/overlay"
	"github.com/feedtree/feedtree/overlay/sim"
)

// A note is the toys' message: the number of an item.
type note int

// A toy floods: it hands each new note to a few neighbours. With every set it
// also starts a note of its own at each interval.
type toy struct {
	net   *sim.Endpoint[note]
	every time.Duration
	next  time.Duration
	fan   int

	got    []note
	at     []time.Duration
	from   []overlay.ID
	seen   map[note]bool
	gone   []overlay.ID
	goneAt []time.Duration
	routes int
	ticks  int
}

func newToy(ep *sim.Endpoint[note]) *toy {
	return &toy{net: ep, next: sim.Never, fan: 4, seen: map[note]bool{}}
}

func (h *toy) Receive(now time.Duration, from overlay.ID, m note) {
	h.got, h.at, h.from = append(h.got, m), append(h.at, now), append(h.from, from)
	h.flood(m)
}

func (h *toy) flood(m note) {
	if h.fan == 0 || h.seen[m] {
		return
	}
	h.seen[m] = true
	for _, p := range h.net.Closest(overlay.KeyOf(fmt.Append(nil, h.net.Rand().Uint64())), h.fan) {
		h.net.Send(p, m)
	}
}

func (h *toy) Gone(now time.Duration, peer overlay.ID) {
	h.gone, h.goneAt = append(h.gone, peer), append(h.goneAt, now)
}

func (h *toy) Routes(time.Duration) { h.routes++ }

func (h *toy) Tick(now time.Duration) {
	h.ticks++
	h.next = now + h.every
	h.flood(note(h.net.Rand().Uint64() >> 1))
}

func (h *toy) Deadline() time.Duration { return h.next }

// A world is a net of toys.
type world struct {
	*sim.Net[note]
	toys map[overlay.ID]*toy
}

func newWorld(cfg sim.Config[note], prepare func(*toy), ids ...overlay.ID) *world {
	if cfg.Measure == nil {
		cfg.Measure = func(m note) (uint8, int) { return uint8(m % 7), 8 }
	}
	w := &world{Net: sim.New(cfg), toys: map[overlay.ID]*toy{}}
	for _, id := range ids {
		w.Add(id, func(ep *sim.Endpoint[note]) sim.Host[note] {
			h := newToy(ep)
			if prepare != nil {
				prepare(h)
			}
			w.toys[id] = h
			return h
		})
	}
	return w
}

// send lets a node send notes from outside.
func (w *world) send(from, to overlay.ID, notes ...note) {
	w.Call(from, func(time.Duration) {
		for _, m := range notes {
			w.toys[from].net.Send(to, m)
		}
	})
}

func names(n int) []overlay.ID {
	ids := make([]overlay.ID, n)
	for i := range ids {
		ids[i] = overlay.ID(fmt.Sprintf("n%05d", i))
	}
	return ids
}

func plain(h *toy) { h.fan = 0 }

func talking(h *toy) {
	h.every = 2 * time.Second
	h.next = time.Duration(h.net.Rand().Int64N(int64(h.every)))
}
