package main

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/feedtree/feedtree/internal/bench"
)

type benchArchiveCmd struct {
	Items int    `help:"How many items." default:"1000000" env:"-"`
	Feeds int    `help:"Of how many feeds." default:"1000" env:"-"`
	Batch int    `help:"Items in one transaction." default:"1000" env:"-"`
	Text  string `help:"Directory of feeds whose words to use. Default: made-up words, as often as a language's." placeholder:"DIR" type:"existingdir" env:"-"`
	Dir   string `help:"Where the file is made, and removed afterwards." placeholder:"DIR" type:"existingdir" env:"-"`
	Seed  uint64 `help:"Of what is made up." default:"5" env:"-"`
	JSON  bool   `name:"json" help:"Print one JSON object." env:"-"`
}

// Help teaches the command.
func (benchArchiveCmd) Help() string {
	return `Fills an archive with items, each searchable when its transaction ends, then reads the newest 50 items of random feeds and searches for two words. Each transaction is synced to the disk.

Examples:

    feedtree bench archive
    feedtree bench archive --items 100000 --text feeds --json`
}

// Run measures.
func (c benchArchiveCmd) Run(ctx context.Context, t terminal) error {
	bar := newBar(t.Err)
	r, err := bench.Archive(ctx, bench.ArchiveConfig{
		Dir: c.Dir, Items: c.Items, Feeds: c.Feeds, Batch: c.Batch, Text: c.Text, Seed: c.Seed, Progress: bar.show,
	})
	bar.clear()
	if err != nil {
		return err
	}
	if c.JSON {
		return json.NewEncoder(t.Out).Encode(r)
	}
	_, err = fmt.Fprintf(t.Out, `%d items, %.0f MB of documents, seed %d
inserted with search index   %8.0f /s, %.0f µs of CPU each (99 %% of the transactions within %.0f ms)
newest 50 of a feed          %8.2f ms at the median, %.2f at P99, of CPU %.2f
search for two words         %8.2f ms at the median, %.2f at P99, of CPU %.2f; %.1f hits of at most 20
file                         %8.2f bytes for each byte of the items (%.0f MB)
`, r.Items, float64(r.ItemBytes)/1e6, r.Seed, r.InsertsPerSec, r.InsertCPU, r.Transaction.P99, r.Newest.P50, r.Newest.P99, r.Newest.CPU,
		r.Search.P50, r.Search.P99, r.Search.CPU, r.Hits, r.PerByte, float64(r.FileBytes)/1e6)
	return err
}
