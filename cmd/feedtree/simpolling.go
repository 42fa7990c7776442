package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"path/filepath"

	"github.com/feedtree/feedtree/sim/polling"
)

// pollingScenario is not about trees: it replays feeds against policies of when
// to poll them.
const pollingScenario = "polling"

func (c simCmd) runPolling(ctx context.Context, t terminal) error {
	if err := c.prepare(); err != nil {
		return err
	}
	bar := newBar(t.Err)
	result, err := polling.Run(ctx, polling.Config{FirstSeed: c.Seed, Feeds: c.Feeds, Trace: c.Trace}, func(done, total int) {
		bar.show("replays", float64(done)/float64(total))
	})
	bar.clear()
	if err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	return c.done(t, pollingFinding{pollingScenario, err != nil, result}, err != nil)
}

// pollingFinding shows the replays the way scenarios are shown.
type pollingFinding struct {
	Scenario string `json:"scenario"`
	Partial  bool   `json:"partial,omitempty"`
	polling.Result
}

// WriteTable writes the result for people.
func (f pollingFinding) WriteTable(w io.Writer) error {
	if f.Partial {
		if _, err := io.WriteString(w, "PARTIAL: the run was cut short; these are the figures so far\n"); err != nil {
			return err
		}
	}
	return f.Result.WriteTable(w)
}

// WriteJSON writes the result as one object.
func (f pollingFinding) WriteJSON(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(f)
}

// Plot writes plots into a directory and returns their names.
func (f pollingFinding) Plot(dir string) ([]string, error) {
	if err := f.Result.Plot(dir); err != nil {
		return nil, err
	}
	return filepath.Glob(filepath.Join(dir, "*-*.png"))
}
