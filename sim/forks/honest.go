package forks

import (
	"math/rand/v2"
	"time"

	"github.com/feedtree/feedtree/multicast"
	"github.com/feedtree/feedtree/multicast/tree"
	"github.com/feedtree/feedtree/overlay"
	oversim "github.com/feedtree/feedtree/overlay/sim"
	"github.com/feedtree/feedtree/signing"
	"github.com/feedtree/feedtree/sim"
)

const (
	lives    = 20 // crashes in one world
	restores = 2  // and of these, restarts from an older copy
	machines = 3  // on which the publisher is started, by turns
)

// honest is a publisher and what is on its disk.
type honest struct {
	*sim.Trees
	rng      *rand.Rand
	reckless bool // it goes on where its state says
	author   author
	disk     signing.Line
	copies   []signing.Line
	at       overlay.ID // the machine it runs on
	proofs   int        // against it
}

// playHonest plays one world and returns how many proofs there were.
func playHonest(seed uint64, crashes, backups int, reckless bool) int {
	rng := rand.New(rand.NewPCG(seed, 2))
	w := &honest{rng: rng, reckless: reckless}
	cfg := sim.TreesConfig{Nodes: 12 + rng.IntN(20), Prove: w.prove, Body: 100}
	cfg.Net = oversim.Config[*tree.Message]{Seed: seed, Latency: oversim.Uniform(10*time.Millisecond, 120*time.Millisecond)}
	w.Trees = sim.NewTrees(cfg)
	w.author = author{id: newIdentity(rng), group: w.GroupNamed("feed")}
	w.RunFor(2 * time.Second)
	w.Join(w.author.group, w.IDs()...)
	w.RunFor(15 * time.Second)
	w.SetFaults(oversim.Faults{Loss: 0.02, Duplicate: 0.02, Reorder: 0.1, By: 300 * time.Millisecond})
	w.at = w.IDs()[0]
	restore := map[int]bool{}
	for len(restore) < min(backups, crashes) {
		restore[rng.IntN(crashes)] = true
	}
	for life := range crashes {
		w.live(restore[life])
	}
	w.ClearFaults()
	w.RunFor(30 * time.Second)
	return w.proofs
}

func (w *honest) prove(_ overlay.ID, events []multicast.Event) (multicast.Event, bool) {
	proof, ok := prove(events)
	if ok {
		w.proofs++
	}
	return proof, ok
}

// live is one life of the publisher, from its start to its crash.
func (w *honest) live(restored bool) {
	w.author.line = w.disk
	if restored && len(w.copies) > 0 {
		w.author.line = w.copies[w.rng.IntN(len(w.copies))]
		w.at = w.IDs()[w.rng.IntN(machines)] // as a rule, on another machine
	}
	if !w.reckless || w.author.line.Epoch == 0 {
		w.author.line = w.author.line.Bump(epochZero.Add(w.Now()))
	}
	for range 1 + w.rng.IntN(4) {
		word := "news"
		if w.rng.IntN(3) == 0 {
			word = ""
		}
		e := w.author.say(w.Now(), word)
		w.disk = w.author.line // before it is sent
		w.copies = append(w.copies, w.disk)
		if w.rng.IntN(4) == 0 {
			break // it dies in between
		}
		w.Say(w.at, e)
		w.RunFor(time.Duration(w.rng.IntN(400)) * time.Millisecond)
	}
	w.Crash(w.at)
	w.RunFor(time.Duration(w.rng.IntN(8000)) * time.Millisecond)
	w.Restart(w.at)
	w.RunFor(time.Duration(w.rng.IntN(1000)) * time.Millisecond)
}
