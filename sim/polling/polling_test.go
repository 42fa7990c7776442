package polling_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/feedtree/feedtree/sim/polling"
)

// sums adds up rows by policy.
type sums struct{ missing, delay map[string]float64 }

func run(t *testing.T, c polling.Config) sums {
	t.Helper()
	r, err := polling.Run(context.Background(), c, nil)
	if err != nil {
		t.Fatal(err)
	}
	s := sums{map[string]float64{}, map[string]float64{}}
	for _, row := range r.Rows {
		s.missing[row.Policy] += row.Missing / float64(c.Seeds)
		s.delay[row.Policy] += row.Delay / float64(c.Seeds)
	}
	t.Logf("%v M=%v, seeds 1 to %d: missing %v, delay in hours %v", c.Workloads, c.Budgets, c.Seeds, s.missing, s.delay)
	return s
}

// The targets of the policies, small: 400 feeds, six weeks, three seeds.
func TestOursOnBurstyFeeds(t *testing.T) {
	for _, m := range []int{10000, 20000} {
		s := run(t, polling.Config{Workloads: []string{"bursty-hours"}, Budgets: []int{m}, Seeds: 3, Feeds: 400, Periods: 2})
		ours, han, sia := polling.Ours, polling.MinMissing, polling.MinDelay
		if s.missing[ours] > 0.9*s.missing[han] || s.delay[ours] > 0.9*s.delay[han] {
			t.Errorf("M=%d: want at most 0.9 of minimum missing's loss and delay", m)
		}
		if s.missing[ours] > 0.35*s.missing[sia] || s.delay[ours] > 1.15*s.delay[sia] {
			t.Errorf("M=%d: want at most 0.35 of minimum delay's loss at 1.15 of its delay", m)
		}
	}
}

// Items that come one by one, at each feed's hours.
func TestOursOnSmoothFeeds(t *testing.T) {
	for _, m := range []int{10000, 20000} {
		s := run(t, polling.Config{Workloads: []string{"hours"}, Budgets: []int{m}, Seeds: 3, Feeds: 400, Periods: 2})
		if s.missing[polling.Ours] > s.missing[polling.MinMissing]+0.001 || s.delay[polling.Ours] > 0.7*s.delay[polling.MinMissing] {
			t.Errorf("M=%d: want minimum missing's loss and a tenth of a point, at 0.7 of its delay", m)
		}
	}
}

// Without hours of the day nothing is faster than minimum delay; ours must come
// close to it and lose far less.
func TestOursWithoutAnyPattern(t *testing.T) {
	s := run(t, polling.Config{Workloads: []string{"smooth"}, Budgets: []int{20000}, Seeds: 2, Periods: 1})
	if s.delay[polling.Ours] > 1.1*s.delay[polling.MinDelay] || s.missing[polling.Ours] > 0.35*s.missing[polling.MinDelay] {
		t.Error("want at most 1.1 of minimum delay's delay and a third of its loss")
	}
}

// Han §3 and Figure 14: uniform polling loses by far the most, minimum missing
// least of the classics, and with 20,000 polls no more than 2 %; in Figure 15
// minimum delay is the fastest of the three.
func TestTheClassicsKeepHansOrder(t *testing.T) {
	c := polling.Config{Workloads: []string{"bursty"}, Budgets: []int{20000}, Seeds: 3, Feeds: 400, Periods: 2,
		Policies: []string{polling.Uniform, polling.MinDelay, polling.MinMissing}}
	s := run(t, c)
	if !(s.missing[polling.Uniform] > 3*s.missing[polling.MinDelay] && s.missing[polling.MinDelay] > s.missing[polling.MinMissing]) || s.missing[polling.MinMissing] > 0.025 {
		t.Error("the order of losses is not Han's")
	}
	if !(s.delay[polling.MinDelay] < s.delay[polling.MinMissing] && s.delay[polling.MinMissing] < s.delay[polling.Uniform]) {
		t.Error("the order of delays is not Han's")
	}
}

func TestABudgetIsKept(t *testing.T) {
	r, err := polling.Run(context.Background(), polling.Config{Workloads: []string{"bursty"}, Budgets: []int{0, 5000}, Seeds: 1, Feeds: 200, Periods: 2}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range r.Rows {
		most := 2 * row.Budget * 200 / 1000
		if row.Policy == polling.Ours {
			most += most/42 + 1 // a day's savings of six weeks
		}
		if row.Polls > most {
			t.Errorf("%s made %d polls of %d", row.Policy, row.Polls, most)
		}
		if row.Budget > 0 && row.Policy != polling.FeedEx && row.Polls < most*9/10 {
			t.Errorf("%s made only %d polls of %d", row.Policy, row.Polls, most)
		}
	}
}

func TestTheSameConfigGivesTheSameResult(t *testing.T) {
	c := polling.Config{Workloads: []string{"bursty-hours"}, Budgets: []int{10000}, Seeds: 2, Feeds: 50, Periods: 1}
	a, _ := polling.Run(context.Background(), c, nil)
	b, _ := polling.Run(context.Background(), c, nil)
	x, _ := a.JSON()
	y, err := b.JSON()
	if err != nil || !bytes.Equal(x, y) || len(a.Rows) != 10 {
		t.Errorf("two runs differ, or %d rows are not 10: %v", len(a.Rows), err)
	}
	if a.Rows[0].Missing == a.Rows[5].Missing {
		t.Error("another seed gives the same")
	}
}

func TestWhatIsAskedWrongIsSaid(t *testing.T) {
	for want, c := range map[string]polling.Config{
		"no workload is called": {Workloads: []string{"rough"}},
		"no policy is called":   {Policies: []string{"best"}},
		"cannot be negative":    {Budgets: []int{-1}},
		"none can be negative":  {Seeds: -1},
		"cannot read":           {Trace: filepath.Join(t.TempDir(), "nowhere")},
		"no feed's history":     {Trace: t.TempDir()},
	} {
		if _, err := polling.Run(context.Background(), c, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: error %v, want one that says %q", c, err, want)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	c := polling.Config{Workloads: []string{"smooth"}, Feeds: 20, Seeds: 3, Periods: 1}
	r, err := polling.Run(ctx, c, func(done, total int) {
		if total != 30 {
			t.Errorf("%d replays in all, want 30", total)
		}
		if done == 4 {
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) || len(r.Rows) != 4 {
		t.Errorf("broken off after 4 replays: %d rows, %v", len(r.Rows), err)
	}
}

func TestJSONHasItsShape(t *testing.T) {
	r := polling.Result{Rows: []polling.Row{{Workload: "smooth", Policy: "ours", Budget: 10000, Seed: 3, Missing: 0.5, Delay: 2}}}
	data, err := r.JSON()
	if err != nil {
		t.Fatal(err)
	}
	var got any
	if err := json.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	want := "map[rows:[map[budget:10000 delay_hours:2 missing:0.5 policy:ours seed:3 workload:smooth]]]"
	if fmt.Sprint(got) != want {
		t.Errorf("got %v, want %s", got, want)
	}
	if data, _ := (polling.Result{}).JSON(); !strings.Contains(string(data), `"rows": []`) {
		t.Errorf("no replays are %s", data)
	}
}

func TestPlotsAreWritten(t *testing.T) {
	r, err := polling.Run(context.Background(), polling.Config{Workloads: []string{"smooth"}, Budgets: []int{5000, 10000}, Seeds: 1, Feeds: 20, Periods: 1}, nil)
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "plots")
	if err := r.Plot(dir); err != nil {
		t.Fatal(err)
	}
	for name, begin := range map[string]string{"missing-smooth.png": "\x89PNG", "delay-smooth.png": "\x89PNG", "missing-smooth.svg": "<?xml", "delay-smooth.svg": "<?xml"} {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || !strings.HasPrefix(string(data), begin) {
			t.Errorf("%s: %v, begins %.10q", name, err, data)
		}
	}
}

var historySeed = flag.Uint64("histories.seed", 1, "first of the ten seeds for FEEDTREE_HISTORIES")

// write makes a feed's version with items posted at such hours.
func write(t *testing.T, dir, name string, at time.Time, dates map[string]time.Time) {
	t.Helper()
	doc := `<rss version="2.0"><channel><title>T</title><link>https://example.org/</link><description>d</description>`
	for guid, date := range dates {
		doc += "<item><guid>" + guid + "</guid><title>" + guid + "</title><pubDate>" + date.Format(time.RFC1123Z) + "</pubDate></item>"
	}
	if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, name, fmt.Sprintf("%d.xml", at.Unix()))
	if err := os.WriteFile(path, []byte(doc+"</channel></rss>"), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestATraceIsReplayed(t *testing.T) {
	dir := t.TempDir()
	begin := time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)
	for day := 10; day <= 70; day += 10 {
		dates := map[string]time.Time{}
		for d := day - 9; d <= day; d++ { // ten items, a day apart, at six past nine
			dates[fmt.Sprint("i", d)] = begin.Add(time.Duration(d)*24*time.Hour - 15*time.Hour + 6*time.Minute)
		}
		write(t, dir, "daily", begin.Add(time.Duration(day)*24*time.Hour), dates)
	}
	r, err := polling.Run(context.Background(), polling.Config{Trace: dir, Seeds: 2, Budgets: []int{21000}, Policies: []string{polling.Uniform, polling.Ours}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range r.Rows {
		if row.Workload != filepath.Base(dir) || row.Missing != 0 {
			t.Errorf("%+v: the feed holds ten days, nothing is lost", row)
		}
		// One poll a day: evenly, at a random hour; learned, soon after nine.
		if row.Policy == polling.Ours && row.Delay > 9 {
			t.Errorf("items of nine o'clock wait %.1f h for one poll a day", row.Delay)
		}
	}
}

func TestRealHistories(t *testing.T) {
	dir := os.Getenv("FEEDTREE_HISTORIES")
	if dir == "" {
		t.Skip("FEEDTREE_HISTORIES names no directory of feed histories")
	}
	for _, m := range []int{10000, 20000} {
		s := run(t, polling.Config{Trace: dir, Seeds: 10, FirstSeed: *historySeed, Budgets: []int{m}})
		if s.missing[polling.Ours] > s.missing[polling.Uniform] || s.delay[polling.Ours] > s.delay[polling.Uniform] {
			t.Errorf("M=%d: ours is worse than uniform", m)
		}
	}
}

func Example() {
	c := polling.Config{Workloads: []string{"bursty"}, Budgets: []int{10000}, Seeds: 1, Feeds: 100, Periods: 1}
	r, err := polling.Run(context.Background(), c, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	by := map[string]polling.Row{}
	for _, row := range r.Rows {
		by[row.Policy] = row
	}
	fmt.Println("ours loses less than uniform:", by[polling.Ours].Missing < by[polling.Uniform].Missing)
	fmt.Println("and is faster:", by[polling.Ours].Delay < by[polling.Uniform].Delay)
	// Output:
	// ours loses less than uniform: true
	// and is faster: true
}
