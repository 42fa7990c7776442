//go:build !linux

package scenario

// available returns how much memory the machine can give to this process.
// Not known here.
func available() (uint64, bool) { return 0, false }

// peak returns the most memory that this process held so far. Not known here.
func peak() (uint64, bool) { return 0, false }
