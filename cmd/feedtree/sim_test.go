package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func simulate(args ...string) (code int, out, errs string) {
	var o, e bytes.Buffer
	code = run(append([]string{"sim"}, args...), terminal{In: strings.NewReader(""), Out: &o, Err: &e})
	return code, o.String(), e.String()
}

func TestSimList(t *testing.T) {
	code, out, errs := simulate("list")
	if code != 0 || errs != "" {
		t.Fatalf("exit %d: %s", code, errs)
	}
	for _, name := range []string{"static", "serial", "groups", "churn", "kill", "repair", "idle", "droppers", "nat", "feeds", "imc05", "polling"} {
		if !strings.Contains("\n"+out, "\n"+name+" ") {
			t.Errorf("no %s in\n%s", name, out)
		}
	}
}

// What a run prints is for people; what it writes is a promise to programs.
func TestSimWrites(t *testing.T) {
	dir := t.TempDir()
	file, plots := filepath.Join(dir, "r.json"), filepath.Join(dir, "plots")
	code, out, errs := simulate("static", "--nodes", "50", "--seed", "7", "--json", file, "--plot", plots)
	if code != 0 {
		t.Fatalf("exit %d: %s", code, errs)
	}
	for _, want := range []string{"measure", "target", "rad_median", "≤ 1.2", "children_group_max", "met", "50 nodes", "seed 7"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	doc, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var r struct {
		Scenario  string
		Nodes     int
		Seed      int
		TraceHash string   `json:"trace_hash"`
		Wall      *float64 `json:"wall_s"`
		RSS       *float64 `json:"peak_rss_mib"`
		Measures  map[string]float64
		Partial   *bool
	}
	if err := json.Unmarshal(doc, &r); err != nil {
		t.Fatal(err)
	}
	if r.Scenario != "static" || r.Nodes != 50 || r.Seed != 7 || len(r.TraceHash) != 16 || r.Wall == nil || r.RSS == nil || r.Partial != nil {
		t.Errorf("%s", doc)
	}
	if r.Measures["coverage"] != 1 || r.Measures["rad_median"] <= 0 {
		t.Errorf("measures %v", r.Measures)
	}
	if found, _ := filepath.Glob(filepath.Join(plots, "static-*.png")); len(found) < 3 {
		t.Errorf("plots %v", found)
	}
}

// A profile is there for go tool pprof, which reads what is gzipped, and one that cannot be
// written is said before anything runs.
func TestSimProfiles(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "cpu")
	if code, _, errs := simulate("static", "--nodes", "50", "--cpu-profile", file); code != 0 {
		t.Fatalf("exit %d: %s", code, errs)
	}
	if doc, err := os.ReadFile(file); err != nil || len(doc) < 2 || doc[0] != 0x1f || doc[1] != 0x8b {
		t.Errorf("%d bytes that are no profile, %v", len(doc), err)
	}
	if code, out, errs := simulate("static", "--nodes", "50", "--cpu-profile", dir); code != exitFailed || !strings.Contains(errs, "--cpu-profile") || out != "" {
		t.Errorf("exit %d, %q, %q", code, out, errs)
	}
}

// The replays of polling are shown and written like scenarios.
func TestSimPolling(t *testing.T) {
	file := filepath.Join(t.TempDir(), "p.json")
	code, out, errs := simulate("polling", "--feeds", "40", "--json", file)
	if code != 0 || !strings.Contains(out, "min-missing") {
		t.Fatalf("exit %d: %s%s", code, out, errs)
	}
	doc, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var r struct {
		Scenario string
		Rows     []struct{ Policy string }
	}
	if err := json.Unmarshal(doc, &r); err != nil || r.Scenario != "polling" || len(r.Rows) == 0 || r.Rows[0].Policy == "" {
		t.Errorf("%v in %.300s", err, doc)
	}
}

// What cannot be run says what, where and what to do, before anything takes
// long.
func TestSimBadInput(t *testing.T) {
	dir := t.TempDir()
	damaged := filepath.Join(dir, "delays.csv")
	if err := os.WriteFile(damaged, []byte("0,5,9\n5,0,7\n9,seven,0\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		args []string
		code int
		want []string
	}{
		{[]string{"nope"}, exitUsage, []string{`"nope"`, "static, serial, groups, churn", "polling"}},
		{[]string{"polling", "--nodes", "100"}, exitUsage, []string{"polling", "--feeds"}},
		{[]string{}, exitUsage, []string{"<scenario>"}},
		{[]string{"static", "--nodes", "10000000"}, exitFailed, []string{"needs about", "GiB", "fewer nodes"}},
		{[]string{"static", "--nodes", "1"}, exitFailed, []string{"1 nodes", "10,000,000"}},
		{[]string{"static", "--latency", "smoke"}, exitUsage, []string{"--latency", "matrix", "transit-stub"}},
		{[]string{"static", "--nodes", "100", "--latency-file", damaged}, exitFailed, []string{damaged, "line 3", "seven"}},
		{[]string{"static", "--nodes", "100", "--latency-file", dir + "/none.csv"}, exitFailed, []string{"none.csv"}},
		{[]string{"static", "--nodes", "100", "--broken", "all"}, exitFailed, []string{`"all"`, "repair"}},
		{[]string{"static", "--nodes", "100", "--json", dir + "/no/r.json"}, exitFailed, []string{"--json", "no/r.json"}},
		{[]string{"static", "--nodes", "100", "--plot", damaged}, exitFailed, []string{"--plot", damaged}},
	} {
		begin := time.Now()
		code, out, errs := simulate(tc.args...)
		if code != tc.code || out != "" {
			t.Errorf("%v: exit %d, want %d; it printed %q", tc.args, code, tc.code, out)
		}
		for _, w := range tc.want {
			if !strings.Contains(errs, w) {
				t.Errorf("%v: no %q in %q", tc.args, w, errs)
			}
		}
		if took := time.Since(begin); took > time.Minute {
			t.Errorf("%v took %v to refuse", tc.args, took)
		}
	}
}

// A run that is interrupted prints what it has, and is no success.
func TestSimInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out, errs bytes.Buffer
	err := simCmd{Scenario: "static", Nodes: 50, Latency: "matrix"}.Run(ctx, terminal{Out: &out, Err: &errs})
	if code := report(err, &errs); code == 0 || !strings.Contains(errs.String(), "partial") {
		t.Errorf("exit %d: %s", code, &errs)
	}
	if !strings.Contains(out.String(), "PARTIAL") {
		t.Errorf("printed %s", &out)
	}
}

// Progress is shown from two seconds on, and names what is going on.
func TestBar(t *testing.T) {
	var out bytes.Buffer
	b := newBar(&out)
	b.show("nodes come", 0.1)
	if out.Len() > 0 {
		t.Errorf("within two seconds: %q", out.String())
	}
	b.next = time.Now()
	b.show("items", 0.5)
	b.show("items", 0.6)
	b.clear()
	if got := out.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, " 50 % items") || strings.Contains(got, "\x1b") {
		t.Errorf("into a file: %q", got)
	}
}
