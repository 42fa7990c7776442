//go:build !linux

package bench

import (
	"runtime"
	"runtime/metrics"
	"time"
)

// processTime is the CPU time of Go code this process has used.
func processTime() time.Duration {
	s := []metrics.Sample{{Name: "/cpu/classes/user:cpu-seconds"}}
	runtime.GC() // which renews the figure
	metrics.Read(s)
	return time.Duration(s[0].Value.Float64() * float64(time.Second))
}
