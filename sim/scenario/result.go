package scenario

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"text/tabwriter"
)

// Result is what a run measured.
type Result struct {
	Scenario  string             `json:"scenario"`
	About     string             `json:"-"`
	Nodes     int                `json:"nodes"`
	Seed      uint64             `json:"seed"`
	Latency   string             `json:"latency"`
	Broken    []string           `json:"broken,omitempty"`
	TraceHash string             `json:"trace_hash"` // 16 hex digits, over all worlds of the run
	WallS     float64            `json:"wall_s"`
	PeakRSS   float64            `json:"peak_rss_mib"` // of the process; 0: not known here
	Measures  map[string]float64 `json:"measures"`
	Partial   bool               `json:"partial,omitempty"` // the run was cut short
	Targets   []Target           `json:"-"`
	Figures   []Figure           `json:"-"`
}

// figure returns what a target is about.
func (r Result) figure(measure string) (float64, bool) {
	switch measure {
	case "wall_s":
		return r.WallS, !r.Partial
	case "peak_rss_mib":
		return r.PeakRSS, r.PeakRSS > 0
	}
	x, ok := r.Measures[measure]
	return x, ok
}

// Missed lists the targets that a figure misses. What was not measured, as in a
// run cut short, misses nothing.
func (r Result) Missed() []Target {
	var missed []Target
	for _, t := range r.Targets {
		if x, ok := r.figure(t.Measure); ok && !t.Met(x) {
			missed = append(missed, t)
		}
	}
	return missed
}

// WriteJSON writes the result as one object.
func (r Result) WriteJSON(w io.Writer) error {
	type verdict struct {
		Target string  `json:"target"`
		Bound  float64 `json:"bound"`
		Met    bool    `json:"met"`
	}
	verdicts := map[string]verdict{}
	for _, t := range r.Targets {
		if x, ok := r.figure(t.Measure); ok {
			kind := "at most"
			if t.AtLeast {
				kind = "at least"
			}
			verdicts[t.Measure] = verdict{kind, t.Bound, t.Met(x)}
		}
	}
	type plain Result
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(struct {
		plain
		Verdicts map[string]verdict `json:"targets"`
	}{plain(r), verdicts})
}

// WriteTable writes the result for people: measure, figure, target, verdict.
func (r Result) WriteTable(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n%s nodes, %s, seed %d", r.Scenario, r.About, grouped(int64(r.Nodes)), r.Latency, r.Seed)
	if len(r.Broken) > 0 {
		fmt.Fprintf(&b, ", %s switched off", strings.Join(r.Broken, " and "))
	}
	b.WriteString("\n")
	if r.Partial {
		b.WriteString("PARTIAL: the run was cut short; these are the figures so far\n")
	}
	b.WriteString("\n")
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprint(t, "measure\tfigure\ttarget\t\t\n")
	for _, m := range measures {
		x, measured := r.figure(m.name)
		at := slices.IndexFunc(r.Targets, func(t Target) bool { return t.Measure == m.name })
		if at < 0 && (!measured || m.runs()) {
			continue
		}
		figure, target, verdict := "–", "", ""
		if measured {
			figure = number(x)
		}
		if at >= 0 {
			target, verdict = r.Targets[at].String(), "not measured"
			if measured {
				verdict = "met"
				if !r.Targets[at].Met(x) {
					verdict = "MISSED"
				}
			}
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\n", m.name, figure, target, verdict, m.about)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(&b, "\ntrace %s, %.1f s", r.TraceHash, r.WallS)
	if r.PeakRSS > 0 {
		fmt.Fprintf(&b, ", %s MiB at most", grouped(int64(math.Ceil(r.PeakRSS))))
	}
	b.WriteString("\n")
	_, err := io.WriteString(w, b.String())
	return err
}
