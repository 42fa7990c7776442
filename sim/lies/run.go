package lies

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"
)

// Config is what to play. The zero value is what the targets are meant for.
type Config struct {
	Seed  uint64 // of the first world; the others follow it
	Items int    // that never were, told by the few; 0: 1,000,000
	Lies  int    // told by the many; 0: 12,000
	K     int    // volunteers that corroborate; 0: 2
	Weak  bool   // one volunteer is enough for the panels: to see it believed
}

// Result is what came of it.
type Result struct {
	Seed     uint64 `json:"seed"`
	K        int    `json:"k"`
	Told     int    `json:"told"`     // items that never were, by the few
	Believed int    `json:"believed"` // of these, shown as corroborated
	True     int    `json:"true"`     // items that were, shown as corroborated
	Framed   int    `json:"framed"`   // honest volunteers taken for liars
	Many     [3]End `json:"many"`     // how lies of K and more ended: in turn, always first, too early
	Partial  bool   `json:"partial,omitempty"`
}

// End is how the lies of one manner ended.
type End struct {
	Manner string  `json:"manner"`
	Lies   int     `json:"lies"`
	Before int     `json:"before"`      // never shown as corroborated: found out before
	Others [4]int  `json:"by_others"`   // found by the 1st, 2nd, 3rd poll by others since they were, or later
	All    [12]int `json:"by_anybody"`  // found by the 1st … 11th poll by anybody, or later
	Never  int     `json:"never_found"` // in 40 polls
}

// Within is the share of lies found in three polls by others, those among them that
// nobody believed.
func (e End) Within() float64 {
	if e.Lies == 0 {
		return 0
	}
	return float64(e.Before+e.Others[0]+e.Others[1]+e.Others[2]) / float64(e.Lies)
}

// WithinAll is the share of lies found in three polls by anybody, liars included.
func (e End) WithinAll() float64 {
	if e.Lies == 0 {
		return 0
	}
	return float64(e.Before+e.All[0]+e.All[1]+e.All[2]) / float64(e.Lies)
}

func (e *End) add(f found) {
	e.Lies++
	switch {
	case !f.believed:
		e.Before++
		return
	case f.all >= patience:
		e.Never++
		return
	}
	e.Others[min(max(f.others, 1), 4)-1]++
	e.All[min(max(f.all, 1), 12)-1]++
}

// Run plays all worlds. If ctx ends before, the result is of those played so far.
func Run(ctx context.Context, c Config, progress func(done, total int)) (Result, error) {
	set := func(n *int, def int) {
		if *n == 0 {
			*n = def
		}
	}
	set(&c.Items, 1_000_000)
	set(&c.Lies, 12_000)
	set(&c.K, 2)
	if c.Items < 0 || c.Lies < 0 || c.K < 2 {
		return Result{}, fmt.Errorf("%d items, %d lies, K = %d: none is negative, and one witness is no other's", c.Items, c.Lies, c.K)
	}
	r := Result{Seed: c.Seed, K: c.K}
	for i, name := range []string{"in turn", "always first", "too early"} {
		r.Many[i].Manner = name
	}
	believe := c.K
	if c.Weak {
		believe = 1
	}
	told := 0
	for seed := c.Seed; r.Told < c.Items || told < c.Lies; seed++ {
		if err := ctx.Err(); err != nil {
			r.Partial = true
			return r, err
		}
		if progress != nil {
			progress(min(r.Told, c.Items)+50*min(told, c.Lies), c.Items+50*c.Lies)
		}
		if r.Told < c.Items {
			a, b, framed, right := playFew(seed, believe, c.K)
			r.Told, r.Believed, r.Framed, r.True = r.Told+a, r.Believed+b, r.Framed+framed, r.True+right
		}
		if told < c.Lies {
			ends, manner := playMany(seed, c.K)
			for _, f := range ends {
				r.Many[manner].add(f)
			}
			told += liesEach
		}
	}
	return r, nil
}

// Kept reports whether the targets of the issue are met: nothing false corroborated by
// fewer than K, and of what K and more say 95 % found in three polls by others.
func (r Result) Kept() bool {
	kept := r.Believed == 0
	for _, e := range r.Many {
		kept = kept && (e.Lies == 0 || e.Within() >= 0.95 && e.Never == 0)
	}
	return kept
}

// WriteTable writes the result for people.
func (r Result) WriteTable(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	row := func(what string, figure any, target string, met bool) {
		verdict := ""
		if target != "" {
			verdict = "met"
			if !met {
				verdict = "MISSED"
			}
		}
		fmt.Fprintf(t, "%s\t%v\t%s\t%s\n", what, figure, target, verdict)
	}
	if r.Partial {
		fmt.Fprintln(t, "PARTIAL: the run was cut short; these are the figures so far")
	}
	fmt.Fprintf(t, "volunteers that lie, K = %d, seed %d\n\n", r.K, r.Seed)
	row("items that never were, told by fewer than K", r.Told, "", false)
	row("shown as corroborated", r.Believed, "0", r.Believed == 0)
	row("true items shown as corroborated, in these worlds", r.True, "", false)
	row("honest volunteers taken for liars", r.Framed, "0", r.Framed == 0)
	for _, e := range r.Many {
		fmt.Fprintf(t, "\nlies by K and more, liars who poll %s\t%d\t\t\n", e.Manner, e.Lies)
		row("found before they were corroborated", e.Before, "", false)
		row("found by poll 1, 2, 3 by others, or later", fmt.Sprint(e.Others), "", false)
		row("found by poll 1 … 11 by anybody, or later", fmt.Sprint(e.All), "", false)
		row("not found in 40 polls", e.Never, "0", e.Never == 0)
		row("within 3 polls by others", fmt.Sprintf("%.2f %%", 100*e.Within()), "≥ 95 %", e.Within() >= 0.95)
		row("within 3 polls by anybody, liars included", fmt.Sprintf("%.2f %%", 100*e.WithinAll()), "", false)
	}
	return t.Flush()
}

// WriteJSON writes the result as one object.
func (r Result) WriteJSON(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(r)
}

// Plot draws nothing: the table says it all.
func (Result) Plot(string) ([]string, error) { return nil, nil }
