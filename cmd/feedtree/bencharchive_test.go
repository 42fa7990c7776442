package main

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/feedtree/feedtree/internal/bench"
)

func TestBenchArchive(t *testing.T) {
	var out, log bytes.Buffer
	code := run([]string{"bench", "archive", "--items", "2000", "--feeds", "4", "--batch", "500", "--json"}, terminal{Out: &out, Err: &log})
	var r bench.ArchiveResult
	if err := json.Unmarshal(out.Bytes(), &r); code != 0 || err != nil {
		t.Fatalf("exit %d, %v: %s%s", code, err, &out, &log)
	}
	if r.Items != 2000 || r.Hits < 1 || r.InsertsPerSec <= 0 || r.PerByte <= 0.1 || r.PerByte > 1.5 || r.Newest.P99 <= 0 || r.Search.P50 <= 0 {
		t.Errorf("%+v", r)
	}
}
