package tree

// tight makes room for one more, first for as many as usual and then for few beyond it: what a
// node has a dozen of it has for hours, and a simulator has a million nodes.
func tight[T any](all []T, usual int) []T {
	if len(all) < cap(all) {
		return all
	}
	more := make([]T, len(all), max(len(all)+len(all)/8+2, usual))
	copy(more, all)
	return more
}

// dozen is what a member has of most things: a parent, its lazy links, few children or none.
const dozen = 12
