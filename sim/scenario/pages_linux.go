package scenario

import (
	"runtime/debug"
	"syscall"
)

// largePages lets the next so many bytes that the program takes come in pages of 2 MiB,
// where the system gives such to those who ask. A run goes from node to node: among a
// million each is in a page of its own, and to find out where a page is takes as long as
// what is sought in it. Memory that nobody has touched is taken for that, and given back
// before anything counts it.
func largePages(bytes uint64) {
	room := make([]byte, bytes)
	_ = syscall.Madvise(room, syscall.MADV_HUGEPAGE) // it is only slower without
	debug.FreeOSMemory()
}
