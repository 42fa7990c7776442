package proxy

import "github.com/feedtree/feedtree/feed/store"

// mark is how the page says why an item is believed.
type mark struct {
	Word string // also the class that gives it its colour
	Sign string // so that it does not take colours to tell marks apart
	Says string
}

// marks is the one place that knows them, the most trusted first.
var marks = []struct {
	trust store.Trust
	mark
}{
	{store.Signed, mark{"signed", "✔", "signed by the feed’s publisher"}},
	{store.Fetched, mark{"fetched", "↓", "fetched from the site by this machine"}},
	{store.Corroborated, mark{"corroborated", "≡", "several independent nodes say the same"}},
	{store.Unconfirmed, mark{"unconfirmed", "?", "one other node says so; nobody has confirmed it yet"}},
}

func markOf(t store.Trust) mark {
	for _, m := range marks {
		if m.trust == t {
			return m.mark
		}
	}
	return mark{"unknown", "?", "nobody knows why it is believed"}
}

// legend lists the marks for whoever wonders.
func legend() []mark {
	var all []mark
	for _, m := range marks {
		all = append(all, m.mark)
	}
	return all
}
