package proxy

import (
	"github.com/feedtree/feedtree"
	"github.com/feedtree/feedtree/feed/store"
	"github.com/feedtree/feedtree/feed/witness"
)

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

// doubtMarks are what stands in place of unconfirmed where others say otherwise.
var doubtMarks = map[witness.State]mark{
	witness.Disputed:     {"disputed", "⁇", "one other node says so, and another one that looked later did not see it"},
	witness.Contradicted: {"contradicted", "✘", "it was not in the document that it is said to come from"},
}

// teller knows of stored items why they are believed now, and how they came.
type teller interface {
	Believed(store.Item) feedtree.Belief
	Came(store.Item) []feedtree.Way
}

// belief is why an item is believed: as a mark, and in the words for programs.
func belief(b feedtree.Belief) (m mark, trust, doubt string) {
	if m, doubted := doubtMarks[b.Doubt]; doubted {
		return m, b.Trust.String(), b.Doubt.String()
	}
	return markOf(b.Trust), b.Trust.String(), ""
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
	return append(all, doubtMarks[witness.Disputed], doubtMarks[witness.Contradicted])
}
