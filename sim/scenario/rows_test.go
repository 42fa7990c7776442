package scenario

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// A bar is what a small row keeps today. Where the target of the full row is
// not reached yet, the second bound is that target, and tightening the first to
// it is the whole edit.
type bar struct {
	measure string
	today   float64
	target  float64
}

// rows are smaller versions of every scenario. Measures in least are bounds
// from below.
var rows = []struct {
	scenario string
	cfg      Config
	most     []bar
	least    []bar
}{
	{"static", Config{Nodes: 600, Seed: 1}, []bar{
		{"rad_median", 1.35, 1.2}, {"rmd_median", 1.3, 1.1}, {"hops_max", 7, 7}, {"redundant_copies", 0.01, 0.01}, {"noise_share", 0, 0},
		{"children_group_max", 16, 16}, {"warmup_rounds", 12, 12}, {"messages_per_node_warmup", 250, 250},
		{"busiest_requests_per_round", 400, 400}, {"detached", 0, 0}, {"roots", 1, 1},
	}, []bar{{"coverage", 1, 1}, {"roots", 1, 1}, {"items", 10, 10}}},
	{"static", Config{Nodes: 600, Seed: 1, Latency: "transit-stub"}, []bar{
		{"rad_median", 1.5, 1.35}, {"rmd_median", 1.7, 1.4}, {"link_stress_max", 599, 300},
	}, []bar{{"coverage", 1, 1}, {"link_stress_unicast_max", 599, 599}}},
	{"serial", Config{Nodes: 400, Seed: 1}, []bar{{"rad_median", 1.85, 1.85}, {"rmd_median", 1.4, 1.4}}, []bar{{"coverage", 1, 1}}},
	{"groups", Config{Nodes: 600, Seed: 1, WarmUp: 2 * time.Minute}, []bar{
		{"rad_median", 1.2, 1.2}, {"rad_max", 1.5, 1.5}, {"rmd_max", 2, 2}, {"children_max", 64, 64}, {"children_group_max", 16, 16},
		{"sends_p99_to_mean", 7, 6}, {"redundant_copies", 0.01, 0.01}, {"noise_share", 0.01, 0.01}, {"noise_share_small", 0.01, 0},
	}, []bar{{"coverage", 1, 1}}},
	{"churn", Config{Nodes: 300, Seed: 1, Session: 5 * time.Minute, Span: 15 * time.Minute}, []bar{
		{"redundant_copies", 0.05, 0.05},
	}, []bar{{"coverage", 0.999, 0.999}, {"deaths", 300, 300}}},
	{"kill", Config{Nodes: 2000, Seed: 1}, nil, []bar{ // of 500 survivors two would be more than 0.3 %
		{"kill50_within_10s", 0.997, 0.997}, {"kill50_within_60s", 1, 1}, {"kill70_within_10s", 0.965, 0.965}, {"kill70_within_60s", 1, 1},
	}},
	{"repair", Config{Nodes: 500, Seed: 1}, []bar{{"repair_p99_s", 3, 3}, {"repair_closed_p99_s", 1, 1}}, []bar{{"coverage", 1, 1}, {"orphans", 20, 20}}},
	{"idle", Config{Nodes: 40, Seed: 1, Feeds: 20, Span: 5 * time.Minute}, []bar{
		{"control_1_feed", 0.5, 0.5}, {"control_5000_feeds", 0.5, 0.5}, {"control_growth", 2, 2}, {"neighbours_max", 39, 39},
	}, nil},
	{"droppers", Config{Nodes: 500, Seed: 1}, nil, []bar{{"random_within_5s", 0.9999, 0.9999}, {"random_within_60s", 1, 1}, {"interior_within_10s", 0.995, 0.999}}},
	{"nat", Config{Nodes: 300, Seed: 1, WarmUp: 2 * time.Minute}, []bar{
		{"detached", 0, 0}, {"hidden_roots", 0, 0}, {"children_group_max", 16, 16}, {"delay_p99_s", 1, 0.5},
	}, []bar{{"coverage", 1, 1}, {"coverage_5s", 0.999, 0.999}}},
	{"feeds", Config{Nodes: 300, Seed: 1, Feeds: 300, Span: 2 * time.Minute}, []bar{
		{"children_group_max", 16, 16}, {"neighbours_max", 128, 128}, {"heavy_neighbours", 128, 128}, {"heavy_apart", 0, 0},
	}, []bar{{"coverage", 1, 1}, {"heavy_coverage", 1, 1}, {"heavy_feeds", 300, 300}}},
	{"imc05", Config{Nodes: 200, Seed: 1, Span: 40 * time.Minute}, []bar{
		{"redundant_copies", 0.02, 0.01}, {"noise_share", 0.05, 0.01},
	}, []bar{{"coverage", 1, 1}, {"items", 3, 3}}},
}

func TestRows(t *testing.T) {
	for _, row := range rows {
		name := row.scenario + " " + row.cfg.Latency
		t.Run(strings.TrimSpace(name), func(t *testing.T) {
			r := play(t, row.scenario, row.cfg)
			for _, b := range row.most {
				b.hold(t, r, atMost(b.measure, b.today))
			}
			for _, b := range row.least {
				b.hold(t, r, atLeast(b.measure, b.today))
			}
		})
	}
}

func (b bar) hold(t *testing.T, r Result, today Target) {
	t.Helper()
	x, ok := r.Measures[b.measure]
	switch {
	case !ok:
		t.Errorf("%s was not measured", b.measure)
	case !today.Met(x):
		t.Errorf("%s is %s, which must be %v and is to be %s", b.measure, number(x), today, number(b.target))
	}
}

func play(t *testing.T, name string, cfg Config) Result {
	t.Helper()
	s, err := Find(name)
	if err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	r, err := s.Run(context.Background(), cfg, nil)
	if err != nil {
		t.Fatal(err)
	}
	if r.Partial {
		t.Error("a whole run is marked partial")
	}
	t.Logf("%v, trace %s: %v", time.Since(begin).Round(time.Millisecond), r.TraceHash, r.Measures)
	return r
}

// Same configuration, same result; another seed, another.
func TestSameSeedSameResult(t *testing.T) {
	cfg := Config{Nodes: 100, Seed: 3, Session: 5 * time.Minute, Span: 5 * time.Minute}
	a, b := play(t, "churn", cfg), play(t, "churn", cfg)
	if a.TraceHash != b.TraceHash || !maps.Equal(a.Measures, b.Measures) {
		t.Errorf("same seed:\n%v\n%v", a, b)
	}
	cfg.Seed = 4
	if c := play(t, "churn", cfg); c.TraceHash == a.TraceHash {
		t.Error("another seed, same trace")
	}
}

// A rule that is broken shows: without repair the churn row misses its target.
func TestBrokenRepairShows(t *testing.T) {
	cfg := Config{Nodes: 300, Seed: 1, Session: 5 * time.Minute, Span: 15 * time.Minute, Broken: []string{"repair"}}
	r := play(t, "churn", cfg)
	if r.Measures["coverage"] >= 0.999 || !slices.ContainsFunc(r.Missed(), func(m Target) bool { return m.Measure == "coverage" }) {
		t.Errorf("without repair %v of the due is covered, and missed is %v", r.Measures["coverage"], r.Missed())
	}
}

// A run that is cut short tells what it has, marked.
func TestCutShort(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	r, err := static.Run(ctx, Config{Nodes: 200, Seed: 1}, func(stage string, done float64) {
		if stage == "items" && done > 0.9 {
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) || !r.Partial {
		t.Fatalf("cut short: %v, partial %v", err, r.Partial)
	}
	if n := r.Measures["items"]; n < 1 || n > 9 {
		t.Errorf("%v of ten items were judged", n)
	}
	var table, doc strings.Builder
	if err := errors.Join(r.WriteTable(&table), r.WriteJSON(&doc)); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(table.String(), "PARTIAL") || !strings.Contains(doc.String(), `"partial": true`) {
		t.Errorf("not marked:\n%s\n%s", &table, &doc)
	}
	ctx, cancel = context.WithCancel(context.Background())
	cancel()
	if r, err := static.Run(ctx, Config{Nodes: 200}, nil); !errors.Is(err, context.Canceled) || !r.Partial {
		t.Errorf("cut short before anything: %v", err)
	}
}

// A run that takes much memory says so before it begins, and a small one nothing. A million
// nodes were measured to take 15.4 GiB.
func TestNeedsAreSaid(t *testing.T) {
	var gib float64
	got := static.Needs(Config{Nodes: 1_000_000})
	if _, err := fmt.Sscanf(got, "%f GiB", &gib); err != nil || gib < 15 || gib > 17 {
		t.Errorf("a million nodes take %q, want about what was measured", got)
	}
	if got := static.Needs(Config{Nodes: 1000}); got != "" {
		t.Errorf("a thousand nodes take %q, which nobody needs to know", got)
	}
}

// What is held while nodes come and go was measured with 10,000 of them: a run needs room for
// a third as much garbage at least.
func TestNeedsOfChurn(t *testing.T) {
	const held = 306_000_000
	if got := churn.memory(Config{Nodes: 10_000}); got < held*4/3 {
		t.Errorf("churn has %d bytes, and holds %d", got, held)
	}
}

// What cannot be run is refused before anything is.
func TestRefused(t *testing.T) {
	damaged := filepath.Join(t.TempDir(), "delays.csv")
	if err := os.WriteFile(damaged, []byte("0,1\n1,x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		cfg  Config
		want []string
	}{
		{Config{Nodes: 3}, []string{"3 nodes"}},
		{Config{Nodes: 100_000_000}, []string{"100000000 nodes"}},
		{Config{Nodes: maxNodes}, []string{"needs about", "GiB", "available"}},
		{Config{Latency: "carrier pigeon"}, []string{"carrier pigeon", "matrix", "transit-stub"}},
		{Config{Broken: []string{"everything"}}, []string{"everything", "repair"}},
		{Config{WarmUp: 11 * time.Minute}, []string{"11m", "10m"}},
		{Config{WarmUp: time.Second}, []string{"1s", "1m"}},
		{Config{Nodes: 100, MatrixFile: damaged}, []string{damaged, "2"}},
		{Config{Nodes: 100, MatrixFile: damaged + ".none"}, []string{damaged + ".none", "latency file"}},
		{Config{Span: -1}, []string{"negative"}},
		{Config{Feeds: -1}, []string{"-1 feeds"}},
	} {
		if _, known := available(); tc.cfg.Nodes == maxNodes && !known {
			continue
		}
		ctx, cancel := context.WithCancel(context.Background())
		_, err := static.Run(ctx, tc.cfg, func(stage string, _ float64) {
			t.Errorf("%+v runs: %s", tc.cfg, stage)
			cancel()
		})
		cancel()
		for _, w := range tc.want {
			if err == nil || !strings.Contains(err.Error(), w) {
				t.Errorf("%+v: %v, which ought to say %q", tc.cfg, err, w)
			}
		}
	}
	if _, err := Find("nope"); err == nil || !strings.Contains(err.Error(), "static, serial, groups") {
		t.Errorf("an unknown scenario: %v", err)
	}
}

// Every figure becomes a file.
func TestPlot(t *testing.T) {
	r := play(t, "static", Config{Nodes: 60, Latency: "transit-stub", WarmUp: time.Minute})
	dir := filepath.Join(t.TempDir(), "plots")
	files, err := r.Plot(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range files {
		names = append(names, filepath.Base(f))
		if head, err := os.ReadFile(f); err != nil || !strings.HasPrefix(string(head), "\x89PNG") {
			t.Errorf("%s is no PNG: %v", f, err)
		}
	}
	for _, want := range []string{"static-children.png", "static-delay.png", "static-link-stress.png"} {
		if !slices.Contains(names, want) {
			t.Errorf("no %s among %v", want, names)
		}
	}
}
