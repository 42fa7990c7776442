package bench

import (
	"context"
	"runtime"
	"time"
)

// What is left of one backend when the next one begins: closed hosts end their
// goroutines, and let go of their memory, by and by.
const (
	idle      = 200     // goroutines that a process may have which runs no hosts
	remains   = 4 << 20 // bytes beside what the process had at first
	quietMost = time.Minute
)

// quiet waits until what ran before is gone, and returns the memory that is left.
func (r *run) quiet(ctx context.Context) int64 {
	begin := time.Now()
	for {
		left := inUse()
		gone := runtime.NumGoroutine() <= idle && left <= r.config.bare+remains
		if gone || time.Since(begin) > quietMost || r.rest(ctx, time.Second/2) != nil {
			return left
		}
		r.progress("wait until what ran before is gone", int(time.Since(begin)), int(quietMost))
	}
}

// inUse is the memory that something lives in: what earlier backends left to the runtime
// and nobody uses does not count.
func inUse() int64 {
	runtime.GC()
	runtime.GC() // twice, for what has finalizers
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse + m.MSpanInuse)
}
