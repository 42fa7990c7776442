package fetch

import "strings"

// robot is the name by which X-Robots-Tag speaks to FeedTree alone.
const robot = "feedtree"

// noArchive reports whether an origin's X-Robots-Tag headers ask that no copies be
// kept for others: "noarchive", said to everybody or to FeedTree, or "none" to
// FeedTree. What speaks of an index of pages, as "noindex" does, which many sites
// send with their feeds, means nothing to who builds none.
func noArchive(tags []string) bool {
	for _, value := range tags {
		agent := ""
		for word := range strings.SplitSeq(strings.ToLower(value), ",") {
			name, rest, named := strings.Cut(word, ":")
			name = strings.TrimSpace(name)
			if named && !takesValue(name) {
				agent, name = name, strings.TrimSpace(rest)
			}
			switch {
			case name == "noarchive" && (agent == "" || agent == robot):
				return true
			case name == "none" && agent == robot:
				return true
			}
		}
	}
	return false
}

// takesValue names the rules that have a colon of their own.
func takesValue(rule string) bool {
	return rule == "unavailable_after" || strings.HasPrefix(rule, "max-")
}
