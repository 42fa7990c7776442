package archive_test

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/feedtree/feedtree/feed/archive"
	"github.com/feedtree/feedtree/feed/store"
)

var (
	seed       = flag.Uint64("archive.seed", 42, "what the tests of crashes and damage draw from")
	killRounds = flag.Int("archive.kills", 12, "how often TestKilled kills: the long form is 1000")
)

const childVariable = "FEEDTREE_ARCHIVE_CHILD"

func TestMain(m *testing.M) {
	if path := os.Getenv(childVariable); path != "" {
		if err := writeUntilKilled(path); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	os.Exit(m.Run())
}

var killGroup, killSource = [32]byte{'g'}, [32]byte{'s'}

const perBatch = 3

// writeUntilKilled applies one batch after another and acknowledges each on
// stdout once Apply has returned.
func writeUntilKilled(path string) error {
	a, err := archive.Open(path)
	if err != nil {
		return err
	}
	ctx := context.Background()
	lines, err := a.Lines(ctx, killGroup)
	if err != nil {
		return err
	}
	n := uint64(0)
	if len(lines) == 1 {
		n = lines[0].Seq
	}
	for {
		n++
		if _, err := a.Apply(ctx, numbered(n)); err != nil {
			return err
		}
		if _, err := fmt.Println(n); err != nil {
			return err
		}
	}
}

// numbered is the n-th batch: items, an envelope, a cursor and a line that all
// say n.
func numbered(n uint64) store.Batch {
	b := store.Batch{
		Feed:      &store.Feed{URL: feedURL, Group: killGroup, Doc: []byte(strconv.FormatUint(n, 10))},
		Envelopes: []store.Envelope{{Group: killGroup, Source: killSource, Epoch: 1, Seq: n, Wire: make([]byte, 3000)}},
		Cursors:   []store.Cursor{{Group: killGroup, Source: killSource, Epoch: 1, Seq: n}},
		Line:      &store.Line{Group: killGroup, Source: killSource, Epoch: 1, Seq: n, Head: headOf(n)},
	}
	for i := range perBatch {
		b.Items = append(b.Items, store.Item{
			Feed: feedURL, Key: fmt.Sprintf("%d/%d", n, i), Hash: [32]byte{byte(n), byte(n >> 8), byte(i)},
			Doc: make([]byte, 2000), Trust: store.Signed, Source: killSource, Epoch: 1, Seq: n,
		})
	}
	return b
}

// headOf is the head of the line after batch n.
func headOf(n uint64) [32]byte { return [32]byte{byte(n), byte(n >> 8), byte(n >> 16), 1} }

// progress tells every ten seconds how far a long run is.
func progress(t *testing.T, all int, what string) func(done int) {
	began, next := time.Now(), time.Now().Add(10*time.Second)
	return func(done int) {
		if now := time.Now(); now.After(next) {
			next = now.Add(10 * time.Second)
			fmt.Fprintf(os.Stderr, "%s: %d of %d %s, seed %d, %v to go\n", t.Name(), done, all, what, *seed,
				(now.Sub(began) * time.Duration(all-done) / time.Duration(max(done, 1))).Round(time.Second))
		}
	}
}

// A process that is killed at any moment leaves every batch it acknowledged,
// at most one more, and none in part.
func TestKilled(t *testing.T) {
	rng := rand.New(rand.NewPCG(*seed, 0))
	bar := progress(t, *killRounds, "kills")
	path := filepath.Join(t.TempDir(), "archive.db")
	for round := range *killRounds {
		bar(round)
		if round%100 == 99 { // before there are so many items that the oldest are let go
			path = filepath.Join(t.TempDir(), "archive.db")
		}
		acknowledged := killAfter(t, path, 1+rng.IntN(25), time.Duration(rng.IntN(3000))*time.Microsecond)
		a, err := archive.Open(path)
		if err != nil {
			t.Fatalf("seed %d, round %d: %v", *seed, round, err)
		}
		last := whole(t, a)
		if last < acknowledged || last > acknowledged+1 {
			t.Errorf("seed %d, round %d: %d batches were acknowledged, %d are held", *seed, round, acknowledged, last)
		}
		if added, err := a.Apply(t.Context(), numbered(last)); err != nil || len(added) != 0 {
			t.Errorf("seed %d, round %d: the last batch again: %d added, %v", *seed, round, len(added), err)
		}
		a.Close()
	}
}

// killAfter runs a child until it has acknowledged some batches and then a
// little longer, kills it, and returns the last acknowledged batch.
func killAfter(t *testing.T, path string, batches int, longer time.Duration) uint64 {
	t.Helper()
	child := exec.Command(os.Args[0], "-test.run=^$")
	child.Env = append(os.Environ(), childVariable+"="+path)
	child.Stderr = os.Stderr
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	var last uint64
	for acks := bufio.NewScanner(out); acks.Scan(); batches-- {
		if last, err = strconv.ParseUint(acks.Text(), 10, 64); err != nil {
			t.Fatalf("the child said %q", acks.Text())
		}
		if batches == 1 {
			time.AfterFunc(longer, func() { child.Process.Kill() })
		}
	}
	if err := child.Wait(); err == nil || last == 0 {
		t.Fatalf("the child ended by itself after %d: %v", last, err)
	}
	return last
}

// whole checks that all parts of all batches are there, and returns how many.
func whole(t *testing.T, a *archive.Archive) uint64 {
	t.Helper()
	lines, err := a.Lines(t.Context(), killGroup)
	if err != nil || len(lines) != 1 {
		t.Fatalf("lines: %v, %v", lines, err)
	}
	n := lines[0].Seq
	if lines[0].Head != headOf(n) {
		t.Errorf("the line at %d has the head of another event: whoever goes on from it forks it", n)
	}
	cursors, err := a.Cursors(t.Context(), killGroup)
	if err != nil || len(cursors) != 1 || cursors[0].Seq != n {
		t.Errorf("cursors: %v, %v, the line is at %d", cursors, err, n)
	}
	known, err := a.Known(t.Context(), feedURL)
	if err != nil || uint64(len(known)) != perBatch*n {
		t.Errorf("%d items, %v, want %d", len(known), err, perBatch*n)
	}
	for seq := uint64(1); seq <= n; seq++ {
		for i := range perBatch {
			if _, ok := known[fmt.Sprintf("%d/%d", seq, i)]; !ok {
				t.Errorf("item %d of batch %d is lost", i, seq)
			}
		}
	}
	envelopes, err := a.Envelopes(t.Context(), killGroup, -1)
	if err != nil || uint64(len(envelopes)) != min(n, 256) || envelopes[len(envelopes)-1].Seq != n {
		t.Errorf("%d envelopes, %v, want %d up to %d", len(envelopes), err, min(n, 256), n)
	}
	f, _, err := a.Feed(t.Context(), feedURL)
	if err != nil || string(f.Doc) != strconv.FormatUint(n, 10) {
		t.Errorf("document %q, %v, want %d", f.Doc, err, n)
	}
	return n
}
