package feed

import (
	"fmt"
	"strings"
	"testing"
)

func seenNothing(string) ([32]byte, bool) { return [32]byte{}, false }

func titles(items []Item) string {
	var list []string
	for _, it := range items {
		list = append(list, it.Title)
	}
	return strings.Join(list, " ")
}

func TestDiffTellsNewAndChanged(t *testing.T) {
	f := &Feed{Items: []Item{{GUID: "3", Title: "c"}, {GUID: "2", Title: "b"}, {GUID: "1", Title: "a"}}}
	known := map[string][32]byte{f.Items[1].Key(): f.Items[1].Hash(), f.Items[2].Key(): {1}}
	seen := func(key string) ([32]byte, bool) { h, ok := known[key]; return h, ok }
	if got := titles(Diff(seen, f)); got != "a c" {
		t.Errorf("%s", got)
	}
}

func TestDiffIsOldestFirst(t *testing.T) {
	day := func(n int) Item {
		return Item{Title: fmt.Sprint(n), Published: date(fmt.Sprintf("2026-11-%02dT00:00:00Z", n))}
	}
	none := func(s string) Item { return Item{Title: s} }
	for _, c := range []struct {
		items []Item
		want  string
	}{
		{[]Item{day(3), day(2), day(1)}, "1 2 3"},
		{[]Item{day(1), day(2), day(3)}, "1 2 3"}, // some feeds list the oldest first
		{[]Item{none("c"), none("b"), none("a")}, "a b c"},
		{[]Item{day(9), none("x"), day(2), day(1)}, "1 2 x 9"},
		{[]Item{{Title: "u", Updated: date("2026-11-02T12:00:00Z")}, day(3), day(2)}, "2 u 3"},
	} {
		if got := titles(Diff(seenNothing, &Feed{Items: c.items})); got != c.want {
			t.Errorf("%s, want %s", got, c.want)
		}
	}
}

func TestKeys(t *testing.T) {
	for _, c := range []struct {
		it   Item
		want string
	}{
		{Item{GUID: " x", Title: "t"}, "guid: x"},
		{Item{Title: "t", Link: "l"}, "link:t\nl"},
		{Item{Link: "l"}, "link:\nl"},
	} {
		if got := c.it.Key(); got != c.want {
			t.Errorf("%q", got)
		}
	}
	a, b := Item{Content: "a"}, Item{Content: "b"}
	if a.Key() == b.Key() || !strings.HasPrefix(a.Key(), "hash:") {
		t.Errorf("%q %q", a.Key(), b.Key())
	}
}

// The hash is over the content, each part of it, and nothing else.
func TestHash(t *testing.T) {
	base := Item{Title: "t", Link: "l", Summary: "s", Content: "c",
		Authors: []Person{{Name: "n"}}, Categories: []Category{{Term: "x"}}, Enclosures: []Enclosure{{URL: "u"}}}
	seen := map[[32]byte]string{base.Hash(): "base"}
	for what, change := range map[string]func(*Item){
		"title":     func(it *Item) { it.Title = "t2" },
		"link":      func(it *Item) { it.Link = "l2" },
		"summary":   func(it *Item) { it.Summary, it.Content = "", "sc" },
		"content":   func(it *Item) { it.Content = "c2" },
		"author":    func(it *Item) { it.Authors = []Person{{Email: "n"}} },
		"category":  func(it *Item) { it.Categories = nil },
		"enclosure": func(it *Item) { it.Enclosures = []Enclosure{{URL: "u", Length: 1}} },
	} {
		it := base
		change(&it)
		if other, same := seen[it.Hash()]; same {
			t.Errorf("%s: same hash as %s", what, other)
		}
		seen[it.Hash()] = what
	}
	same := base
	same.Published, same.GUID = date("2026-11-14T00:00:00Z"), "g"
	same.Also.PlainContent = true
	if same.Hash() != base.Hash() {
		t.Error("dates or guid are in the hash")
	}
	plain, marked := Item{Content: "1 < 2 & <b>"}, Item{Content: "1 < 2 & <b>"}
	if plain.Also.PlainContent = true; plain.Hash() == marked.Hash() {
		t.Error("text and markup have the same hash")
	}
}
