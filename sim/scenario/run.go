package scenario

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"
)

// A run is one scenario being played.
type run struct {
	ctx      context.Context
	cfg      Config
	latency  latency
	progress Progress
	heap     garbage
	began    time.Time
	result   Result

	part, parts int // the world being played, of how many
	worlds      []*world
}

// set records a measure. What could not be measured is left out.
func (r *run) set(name string, figure float64) {
	if !slices.ContainsFunc(measures, func(m measure) bool { return m.name == name }) {
		panic("scenario: the measure " + name + " is not among those that tables show")
	}
	if !math.IsNaN(figure) && !math.IsInf(figure, 0) {
		r.result.Measures[name] = figure
	}
}

func (r *run) plot(f Figure) {
	if !f.empty() {
		r.result.Figures = append(r.result.Figures, f)
	}
}

// tell reports progress: done is of the world being played.
func (r *run) tell(stage string, done float64) {
	if r.parts > 1 {
		stage = fmt.Sprintf("%d of %d: %s", r.part+1, r.parts, stage)
	}
	r.progress(stage, (float64(r.part)+min(done, 1))/float64(max(r.parts, 1)))
}

// close ends the world being played: its hash joins that of the run.
func (r *run) close(w *world) {
	r.part++
	w.hash, w.Trees = w.Hash(), nil
}

func (r *run) finish() {
	var all uint64
	for _, w := range r.worlds {
		if w.Trees != nil {
			w.hash = w.Hash()
		}
		all = all*0x9e3779b97f4a7c15 + w.hash
	}
	r.result.TraceHash = fmt.Sprintf("%016x", all)
	r.result.WallS = math.Round(10*time.Since(r.began).Seconds()) / 10
	if b, ok := peak(); ok {
		r.result.PeakRSS = math.Round(float64(b) / (1 << 20))
	}
}
