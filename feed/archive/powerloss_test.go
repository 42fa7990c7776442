package archive_test

import (
	"bytes"
	"flag"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/feedtree/feedtree/feed/archive"
	"github.com/feedtree/feedtree/internal/disk"
)

var lossPoints = flag.Int("archive.losses", 100, "at how many writes TestPowerLoss fails the power: the long form is 10000")

// If the power fails at any write, what was acknowledged is there, whole, and the
// line is where it was last said to be: the publisher goes on from there and
// contradicts nothing that it sent.
func TestPowerLoss(t *testing.T) {
	const longest = 60 // batches, then with an empty disk again
	l := &losses{T: t, rng: rand.New(rand.NewPCG(*seed, 1)), disk: disk.New(), dir: t.TempDir(), bar: progress(t, *lossPoints, "losses of power")}
	var files map[string][]byte
	var acknowledged uint64
	for l.points < *lossPoints && !t.Failed() {
		files, acknowledged = l.life(files, acknowledged)
		if acknowledged > longest {
			files, acknowledged = nil, 0
		}
	}
	t.Logf("seed %d: %d losses of power in %d lives of %d batches", *seed, l.points, l.lives, l.batches)
}

// losses is the test in progress.
type losses struct {
	*testing.T
	rng                    *rand.Rand
	disk                   *disk.Disk
	dir                    string
	bar                    func(int)
	points, lives, batches int
}

// life works for a while from what a loss of power left, fails the power at each
// write of this, and returns what one of these times left.
func (l *losses) life(before map[string][]byte, acknowledged uint64) (after map[string][]byte, upTo uint64) {
	live := filepath.Join(l.dir, "live")
	l.restore(live, before)
	l.lives++
	log := l.work(live, acknowledged)
	p := disk.NewPlatter(before)
	chosen := l.rng.IntN(len(log))
	for i, op := range log {
		p.Step(op)
		if op.Kind == disk.Mark {
			acknowledged = uint64(op.Offset)
			continue
		}
		if *lossPoints < 1000 && i != chosen && l.rng.IntN(6) > 0 {
			continue // the short form sees a part of several lives
		}
		files := p.AfterPowerLoss(disk.Loss(l.rng.IntN(3)), l.rng)
		held := l.verify(files, acknowledged)
		if l.points++; i >= chosen && after == nil {
			after, upTo = files, held
		}
		if l.bar(l.points); l.points >= *lossPoints || l.Failed() {
			break
		}
	}
	return after, upTo
}

// work applies some batches and marks in the log when each was acknowledged.
func (l *losses) work(dir string, n uint64) []disk.Op {
	l.disk.Note()
	a, err := archive.OpenThrough(filepath.Join(dir, "archive.db"), l.disk.Name())
	if err != nil {
		l.Fatal(err)
	}
	if err := a.CheckpointAfter([]string{"8", "40", "1000"}[l.rng.IntN(3)]); err != nil {
		l.Fatal(err)
	}
	for range 1 + l.rng.IntN(8) {
		n++
		if _, err := a.Apply(l.Context(), numbered(n)); err != nil {
			l.Fatal(err)
		}
		l.disk.Mark(int64(n))
		l.batches++
	}
	if err := a.Close(); err != nil {
		l.Fatal(err)
	}
	return l.disk.Log()
}

// restore makes a directory hold these files. The log names them as in live.
func (l *losses) restore(dir string, files map[string][]byte) {
	if err := os.RemoveAll(dir); err != nil {
		l.Fatal(err)
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		l.Fatal(err)
	}
	for path, b := range files {
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(path)), b, 0o600); err != nil {
			l.Fatal(err)
		}
	}
}

// verify opens what a loss of power left and returns how many batches it holds.
func (l *losses) verify(files map[string][]byte, acknowledged uint64) uint64 {
	dir := filepath.Join(l.dir, "after")
	l.restore(dir, files)
	a, err := archive.Open(filepath.Join(dir, "archive.db"))
	if err != nil {
		l.Errorf("seed %d, point %d: %v", *seed, l.points, err)
		return 0
	}
	defer a.Close()
	lines, err := a.Lines(l.Context(), killGroup)
	if err == nil && len(lines) == 0 && acknowledged == 0 {
		return 0
	}
	held := whole(l.T, a)
	if held < acknowledged || held > acknowledged+1 {
		l.Errorf("seed %d, point %d: %d batches were acknowledged, %d are held", *seed, l.points, acknowledged, held)
	}
	if added, err := a.Apply(l.Context(), numbered(held)); err != nil || len(added) != 0 {
		l.Errorf("seed %d, point %d: the last batch again: %d added, %v", *seed, l.points, len(added), err)
	}
	if found, err := a.Check(l.Context(), nil); err != nil || len(found) > 0 {
		l.Errorf("seed %d, point %d: not sound: %v, %v", *seed, l.points, found, err)
	}
	return held
}

// Without a sync before it is acknowledged, a batch can be lost: the test sees it.
func TestPowerLossIsSeen(t *testing.T) {
	d := disk.New()
	path := filepath.Join(t.TempDir(), "archive.db")
	d.Note()
	a, err := archive.OpenThrough(path, d.Name())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.Apply(t.Context(), numbered(1)); err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	synced, forgetful := disk.NewPlatter(nil), disk.NewPlatter(nil)
	for _, op := range d.Log() {
		synced.Step(op)
		if op.Kind != disk.Sync || !strings.HasSuffix(op.Path, "-wal") {
			forgetful.Step(op)
		}
	}
	rng := rand.New(rand.NewPCG(1, 1))
	if with, without := synced.AfterPowerLoss(disk.All, rng), forgetful.AfterPowerLoss(disk.All, rng); bytes.Equal(with[path+"-wal"], without[path+"-wal"]) {
		t.Error("it makes no difference whether the WAL is synced")
	}
}
