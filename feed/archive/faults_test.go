package archive_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/feedtree/feedtree/feed/archive"
	"github.com/feedtree/feedtree/internal/disk"
)

var faultStep = flag.Int("archive.faults", 40, "TestFaults fails every so manieth write of its work: the long form is 1")

// A disk that is full from the nth write on, or fails at it: reading goes on, the
// error says what to do, and once there is room everything goes on, nothing lost.
func TestFaults(t *testing.T) {
	for _, f := range []struct {
		name   string
		code   int
		only   disk.Kind // 0: all that write
		stays  bool
		remedy string
	}{
		{"full", disk.Full, 0, true, "make room"},
		{"writes fail", disk.WriteError, 0, true, "its disk failed"},
		{"one write fails", disk.WriteError, disk.Write, false, "its disk failed"},
		{"one sync fails", disk.SyncError, disk.Sync, false, "its disk failed"},
	} {
		t.Run(strings.ReplaceAll(f.name, " ", "_"), func(t *testing.T) {
			tried := 0
			bar := progress(t, 400, "writes")
			step := int64(*faultStep)
			if f.only == disk.Sync {
				step = max(1, step/10) // of these there are fewer
			}
			for n := int64(1); ; n += step {
				bar(int(n))
				var count atomic.Int64
				failed := faulty(t, f.remedy, func(op disk.Op) int {
					if op.Kind == disk.Delete || f.only != 0 && op.Kind != f.only {
						return 0
					}
					if at := count.Add(1); at == n || f.stays && at > n {
						return f.code
					}
					return 0
				})
				if tried++; !failed || t.Failed() {
					break // there was no nth write
				}
			}
			t.Logf("%d times", tried)
			if tried < 3 {
				t.Errorf("the fault came only %d times", tried)
			}
		})
	}
}

// faulty works on a disk with a fault, and reports whether the fault came.
func faulty(t *testing.T, remedy string, fault func(disk.Op) int) (came bool) {
	t.Helper()
	d := disk.New()
	path := filepath.Join(t.TempDir(), "archive.db")
	a, err := archive.OpenThrough(path, d.Name())
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	if err := a.CheckpointAfter("30"); err != nil {
		t.Fatal(err)
	}
	held := uint64(0)
	for ; held < 3; held++ {
		if _, err := a.Apply(t.Context(), numbered(held+1)); err != nil {
			t.Fatal(err)
		}
	}
	d.Fail(func(op disk.Op) int {
		code := fault(op)
		came = came || code != 0
		return code
	})
	for err == nil && held < 12 {
		if _, err = a.Apply(t.Context(), numbered(held+1)); err == nil {
			held++
		}
	}
	if err != nil {
		var told *archive.FileError
		if !errors.As(err, &told) || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), remedy) {
			t.Errorf("%v does not name %s and %q", err, path, remedy)
		}
		if got := whole(t, a); got != held {
			t.Errorf("while the disk fails, %d batches can be read of %d", got, held)
		}
	}
	d.Fail(nil)
	began := time.Now()
	for _, n := range []uint64{held + 1, held + 2} {
		if _, err := a.Apply(t.Context(), numbered(n)); err != nil {
			t.Errorf("after the fault: %v", err)
		}
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("it went on after %v", took)
	}
	if err := a.Close(); err != nil {
		t.Error(err)
	}
	again := open(t, path)
	if got := whole(t, again); got != held+2 {
		t.Errorf("after all, %d batches of %d", got, held+2)
	}
	if found, err := again.Check(t.Context(), nil); err != nil || len(found) > 0 {
		t.Errorf("not sound: %v, %v", found, err)
	}
	return came
}

// While a write hangs, as on a network disk that is gone, reading goes on, and who
// waits to write can give up.
func TestStuck(t *testing.T) {
	d := disk.New()
	a, err := archive.OpenThrough(filepath.Join(t.TempDir(), "archive.db"), d.Name())
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	if _, err := a.Apply(t.Context(), numbered(1)); err != nil {
		t.Fatal(err)
	}
	hangs, release := make(chan struct{}), make(chan struct{})
	var first atomic.Bool
	d.Fail(func(disk.Op) int {
		if !first.Swap(true) {
			close(hangs)
		}
		<-release
		return 0
	})
	done := make(chan error)
	go func() {
		_, err := a.Apply(context.Background(), numbered(2))
		done <- err
	}()
	<-hangs
	if got := whole(t, a); got != 1 {
		t.Errorf("while a write hangs, %d batches can be read", got)
	}
	ctx, cancel := context.WithCancel(t.Context())
	waiting := make(chan error)
	go func() {
		_, err := a.Apply(ctx, numbered(3))
		waiting <- err
	}()
	cancel()
	if err := <-waiting; !errors.Is(err, context.Canceled) {
		t.Errorf("a write that waits was given up, and says %v", err)
	}
	close(release)
	if err := <-done; err != nil {
		t.Error(err)
	}
	if got := whole(t, a); got != 2 {
		t.Error(fmt.Sprint("afterwards ", got, " batches"))
	}
}
