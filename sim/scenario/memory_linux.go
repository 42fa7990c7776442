package scenario

import (
	"bufio"
	"fmt"
	"os"
	"strings"
)

// available returns how much memory the machine can give to this process.
func available() (uint64, bool) { return proc("/proc/meminfo", "MemAvailable:") }

// peak returns the most memory that this process held so far.
func peak() (uint64, bool) { return proc("/proc/self/status", "VmHWM:") }

// proc finds a line like "VmHWM:  1234 kB".
func proc(file, field string) (uint64, bool) {
	f, err := os.Open(file)
	if err != nil {
		return 0, false
	}
	defer func() { _ = f.Close() }()
	for s := bufio.NewScanner(f); s.Scan(); {
		if rest, ok := strings.CutPrefix(s.Text(), field); ok {
			var kib uint64
			_, err := fmt.Sscan(rest, &kib)
			return kib << 10, err == nil
		}
	}
	return 0, false
}
