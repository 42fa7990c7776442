package main

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/feedtree/feedtree/internal/bench"
)

// The names in the JSON are a promise to programs.
func TestBenchMulticast(t *testing.T) {
	file := t.TempDir() + "/figures.json"
	var out, log bytes.Buffer
	code := run([]string{"bench", "multicast", "--nodes", "3", "--messages", "2", "--size", "100", "--rate", "50",
		"--backend", "push", "--json", file}, terminal{Out: &out, Err: &log})
	if code != 0 || !strings.Contains(out.String(), "p99 ms") || !strings.Contains(out.String(), "4/4") {
		t.Fatalf("exit %d: %s%s", code, &out, &log)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var got struct{ Rows []map[string]any }
	if err := json.Unmarshal(text, &got); err != nil || len(got.Rows) != 1 {
		t.Fatalf("%v in %s", err, text)
	}
	for _, name := range strings.Fields("backend nodes messages size expected delivered p50_ms p99_ms max_ms bytes_per_envelope_byte cpu_ms_per_delivery rss_mib_per_node join_ms_p50") {
		if _, ok := got.Rows[0][name]; !ok {
			t.Errorf("no %s in %s", name, text)
		}
	}
	if strings.Contains(string(text), "partial") {
		t.Errorf("a whole run is marked partial: %s", text)
	}
}

func TestBenchPrintsWhatIsPartial(t *testing.T) {
	var out bytes.Buffer
	r := bench.Result{Partial: true, Rows: []bench.Row{{Backend: "tree", Burst: &bench.Losses{Expected: 7, Silent: 1}}}}
	if err := printBench(&out, r); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "partial") || !strings.Contains(out.String(), "1 lost in silence") {
		t.Error(out.String())
	}
}

func TestBenchRefusesNonsense(t *testing.T) {
	var out bytes.Buffer
	if code := run([]string{"bench", "multicast", "--nodes", "1"}, terminal{Out: &out, Err: &out}); code != exitFailed || !strings.Contains(out.String(), "1 nodes") {
		t.Errorf("exit %d: %s", code, &out)
	}
	out.Reset()
	if code := run([]string{"bench", "multicast", "--backend", "smoke"}, terminal{Out: &out, Err: &out}); code != exitUsage {
		t.Errorf("exit %d: %s", code, &out)
	}
}
