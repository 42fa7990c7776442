//go:build !linux

package scenario

// largePages does nothing: such pages are not asked for here.
func largePages(uint64) {}
