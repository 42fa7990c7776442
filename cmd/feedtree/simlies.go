package main

import (
	"context"
	"errors"
	"slices"

	"github.com/feedtree/feedtree/sim/lies"
)

// liesScenario is about volunteers who say what no origin answered.
const liesScenario = "witness"

// oneWitness is the part of it that can be switched off: then one is enough.
const oneWitness = "witnesses"

func (c simCmd) runLies(ctx context.Context, t terminal) error {
	if err := c.prepare(); err != nil {
		return err
	}
	bar := newBar(t.Err)
	result, err := lies.Run(ctx, lies.Config{Seed: c.Seed, Weak: slices.Contains(c.Broken, oneWitness)}, func(done, total int) {
		bar.show("lies", float64(done)/float64(total))
	})
	bar.clear()
	if err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	return c.done(t, result, result.Partial)
}
