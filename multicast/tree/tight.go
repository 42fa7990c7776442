package tree

// tight makes room for one more, and few beyond it: what a node has a dozen of it has for
// hours, and a simulator has a million nodes.
func tight[T any](all []T) []T {
	if len(all) < cap(all) {
		return all
	}
	more := make([]T, len(all), len(all)+len(all)/8+2)
	copy(more, all)
	return more
}
