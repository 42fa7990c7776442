package bench

import "testing"

// One slow run changes no median, and one loss shows.
func TestMedian(t *testing.T) {
	row := func(f float64, delivered int) Row {
		return Row{Backend: "tree", Nodes: 3, Expected: 10, Delivered: delivered, P50: f, P99: 2 * f, Max: 3 * f, Bytes: f, CPU: f, RSS: f, Join: f,
			Goroutines: f, Depth: int(f), Cut: &Losses{Expected: 5, Delivered: delivered / 2, Seconds: f}}
	}
	got := median([]Row{row(2, 10), row(90, 9), row(1, 10)})
	cut := *got.Cut
	got.Cut = nil
	want := Row{Backend: "tree", Runs: 3, Nodes: 3, Expected: 30, Delivered: 29, P50: 2, P99: 4, Max: 270, Bytes: 2, CPU: 2, RSS: 2, Join: 2, Goroutines: 2, Depth: 90}
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if cut != (Losses{Expected: 15, Delivered: 14, Seconds: 90}) {
		t.Errorf("of the cut %+v", cut)
	}
	if even := median([]Row{row(1, 10), row(4, 10)}); even.P50 != 4 || even.Burst != nil {
		t.Errorf("of two runs %+v", even)
	}
	one := row(1, 10)
	if got := median([]Row{one}); got != one {
		t.Errorf("of one run %+v", got)
	}
}

// Several runs are one row for each backend.
func TestRuns(t *testing.T) {
	var stages []string
	c := Config{Nodes: 2, Messages: 2, Size: 100, Rate: 50, Backends: []string{"push"}, Runs: 2, settle: settled}
	c.Progress = func(stage string, _ float64) {
		if len(stages) == 0 || stages[len(stages)-1] != stage {
			stages = append(stages, stage)
		}
	}
	r, err := Run(t.Context(), c)
	if err != nil || len(r.Rows) != 1 || r.Rows[0].Runs != 2 || r.Rows[0].Delivered != 4 {
		t.Errorf("got %+v, %v", r, err)
	}
	joins := 0
	for _, s := range stages {
		if s == "push: join" {
			joins++
		}
	}
	if joins != 2 {
		t.Errorf("nodes joined %d times, in %q", joins, stages)
	}
}
