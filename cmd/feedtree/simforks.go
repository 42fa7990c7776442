package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"

	"github.com/feedtree/feedtree/sim/forks"
)

// forksScenario is about many small trees: publishers that lie in them, and honest
// ones that crash.
const forksScenario = "equivocation"

func (c simCmd) runForks(ctx context.Context, t terminal) error {
	if err := c.prepare(); err != nil {
		return err
	}
	bar := newBar(t.Err)
	result, err := forks.Run(ctx, forks.Config{Seed: c.Seed, Trees: c.Trees, Crashes: c.Trees}, func(done, total int) {
		bar.show("trees", float64(done)/float64(total))
	})
	bar.clear()
	if err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	return c.done(t, forksFinding{forksScenario, err != nil, result}, err != nil)
}

// forksFinding shows the trees the way scenarios are shown.
type forksFinding struct {
	Scenario string `json:"scenario"`
	Partial  bool   `json:"partial,omitempty"`
	forks.Result
}

// WriteTable writes the result for people.
func (f forksFinding) WriteTable(w io.Writer) error {
	if f.Partial {
		if _, err := io.WriteString(w, "PARTIAL: the run was cut short; these are the figures so far\n"); err != nil {
			return err
		}
	}
	return f.Result.WriteTable(w)
}

// WriteJSON writes the result as one object.
func (f forksFinding) WriteJSON(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(f)
}
