package scenario

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
)

// Large pages are asked for, and nothing is held for that.
func TestLargePages(t *testing.T) {
	const more = 256 << 20
	if _, err := os.Stat("/sys/kernel/mm/transparent_hugepage"); err != nil {
		t.Skip("this system has no large pages: ", err)
	}
	before := advised(t)
	largePages(before + more) // it may lie where they were asked for already
	if got := advised(t); got < before+more*9/10 {
		t.Errorf("large pages are asked for %d MiB, want %d more than %d before", got>>20, more>>20, before>>20)
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	if held := m.HeapSys - m.HeapReleased; held > more/2 {
		t.Errorf("%d MiB of the heap are held", held>>20)
	}
}

// advised is how much of this process's memory is to come in large pages.
func advised(t *testing.T) (bytes uint64) {
	f, err := os.Open("/proc/self/smaps")
	if err != nil {
		t.Skip(err)
	}
	defer func() { _ = f.Close() }()
	var size uint64
	for s := bufio.NewScanner(f); s.Scan(); {
		field, rest, _ := strings.Cut(s.Text(), ":")
		switch field {
		case "Size":
			if _, err := fmt.Sscan(rest, &size); err != nil {
				t.Fatal(err)
			}
		case "VmFlags":
			if strings.Contains(rest+" ", " hg ") {
				bytes += size << 10
			}
		}
	}
	return bytes
}
