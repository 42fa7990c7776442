package proxy

import "github.com/feedtree/feedtree"

// waysSay is what the page says of how an item came; what it does not know, it shows
// as it is.
var waysSay = map[feedtree.How]string{
	feedtree.Said:        "this node said it to the others",
	feedtree.Pushed:      "pushed along the tree",
	feedtree.CaughtUp:    "sent by the parent when this node joined",
	feedtree.FromParent:  "fetched from the parent after a gap",
	feedtree.FromLazy:    "fetched from another link after a gap",
	feedtree.FromReplica: "fetched from a node near the root after a gap",
	feedtree.FromOrigin:  "asked the site",
}

// waySays is one way in which an item came, for a person.
func waySays(w feedtree.Way) string {
	s, known := waysSay[w.How]
	if !known {
		s = string(w.How)
	}
	switch {
	case w.Why != "":
		s += ", " + w.Why
	case w.From != "" && w.How != feedtree.FromOrigin && w.How != feedtree.Said:
		s += ", from " + short(w.From)
	}
	if w.Asked > 1 {
		s += ", after " + plural(w.Asked-1, "other", "others") + " did not have it"
	}
	return s
}
