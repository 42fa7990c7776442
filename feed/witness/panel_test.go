package witness_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/feedtree/feedtree/feed/witness"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// item is a toy: a letter names it, a digit behind it is its version.
func item(name string) witness.Item {
	it := witness.Item{Key: [16]byte{name[0]}}
	copy(it.Hash[:], name)
	return it
}

// said is a statement: who (a letter), when in minutes, items in any order.
func said(by string, minute int, items string) witness.Statement {
	s := witness.Statement{
		By: witness.Source{by[0]}, Own: by == "own", Network: "net " + by, Taken: noon.Add(time.Duration(minute) * time.Minute),
		Body: [32]byte{by[0], byte(minute), 1},
	}
	copy(s.Parent[:], "parent of "+by)
	for _, name := range strings.Fields(items) {
		s.Items = append(s.Items, item(name))
	}
	slices.SortFunc(s.Items, func(a, b witness.Item) int { return strings.Compare(string(a.Key[:]), string(b.Key[:])) })
	return s
}

// tagged is a statement about the document of a strong entity tag.
func tagged(tag byte, s witness.Statement) witness.Statement {
	s.Strong, s.Validators = true, [32]byte{tag}
	return s
}

// bodied is a statement about a document by its hash.
func bodied(sum byte, s witness.Statement) witness.Statement {
	s.Body = [32]byte{sum}
	return s
}

func with(s witness.Statement, change func(*witness.Statement)) witness.Statement {
	change(&s)
	return s
}

func network(to string) func(*witness.Statement) {
	return func(s *witness.Statement) { s.Network = to }
}

func parent(to string) func(*witness.Statement) {
	return func(s *witness.Statement) { s.Parent = [32]byte{}; copy(s.Parent[:], to) }
}

func TestStates(t *testing.T) {
	own := said("own", 0, "a b c")
	partial := func(s *witness.Statement) { s.Partial = true }
	for name, c := range map[string]struct {
		statements []witness.Statement
		want       string // states of x, then who was caught
	}{
		"nobody": {[]witness.Statement{own}, "unconfirmed"},
		"one":    {[]witness.Statement{own, said("A", 1, "x a b c")}, "unconfirmed"},
		"one twice": {[]witness.Statement{own, said("A", 1, "x a b c"), said("A", 2, "x a b c")},
			"unconfirmed"},
		"two": {[]witness.Statement{own, said("A", 1, "x a b c"), said("B", 2, "x a b c")},
			"corroborated"},
		"two of a network": {[]witness.Statement{own, said("A", 1, "x a b c"), with(said("B", 2, "x a b c"), network("net A"))},
			"unconfirmed"},
		"two of networks not known": {[]witness.Statement{own, with(said("A", 1, "x a b c"), network("")), with(said("B", 2, "x a b c"), network(""))},
			"unconfirmed"},
		"two under one parent": {[]witness.Statement{own, said("A", 1, "x a b c"), with(said("B", 2, "x a b c"), parent("parent of A"))},
			"unconfirmed"},
		"two without a parent": {[]witness.Statement{own, with(said("A", 1, "x a b c"), parent("")), with(said("B", 2, "x a b c"), parent(""))},
			"corroborated"},
		"three, of whom two can be chosen": {[]witness.Statement{own, said("A", 1, "x a b c"),
			with(said("B", 2, "x a b c"), network("net A")), with(said("C", 3, "x a b c"), parent("parent of A"))},
			"corroborated"}, // B and C
		"gone when the next one asks": {[]witness.Statement{own, said("A", 1, "x a b c"), said("B", 2, "a b c")},
			"disputed"},
		"gone when this node asks": {[]witness.Statement{own, said("A", 1, "x a b c"), said("own", 2, "a b c")},
			"disputed"},
		"two say so, a third does not see it": {[]witness.Statement{own, said("A", 1, "x a b c"), said("B", 2, "x a b c"), said("C", 3, "a b c")},
			"disputed"},
		"not there before it was published": {[]witness.Statement{own, said("A", 5, "x a b c"), said("B", 3, "a b c")},
			"unconfirmed"},
		"heard late": {[]witness.Statement{own, said("B", 5, "a b c"), said("A", 3, "x a b c")},
			"disputed"},
		"heard late, before it was published": {[]witness.Statement{own, said("B", 3, "a b c"), said("A", 5, "x a b c")},
			"unconfirmed"},
		"seen after all": {[]witness.Statement{own, said("A", 1, "x a b c"), said("B", 2, "a b c"), said("B", 3, "x a b c")},
			"corroborated"},
		"edited": {[]witness.Statement{own, said("A", 1, "x a b c"), said("B", 2, "x2 a b c")},
			"disputed"},
		"dropped off the end": {[]witness.Statement{own, said("A", 1, "x a b c"), said("B", 2, "d e f")},
			"unconfirmed"},
		"dropped off the end later": {[]witness.Statement{own, said("A", 1, "x a b"), said("B", 2, "x a d"), said("C", 3, "d e f")},
			"corroborated"},
		"gone for one who listed it": {[]witness.Statement{own, said("A", 1, "x a b"), said("B", 2, "x a b"), said("A", 3, "a b")},
			"corroborated"},
		"a part of the document": {[]witness.Statement{own, said("A", 1, "x a b c"), with(said("B", 2, "a b c"), partial)},
			"unconfirmed"},
		"an empty document": {[]witness.Statement{own, said("A", 1, "x a b c"), said("B", 2, "")},
			"disputed"},
		"invented alone": {[]witness.Statement{own, said("A", 1, "x"), said("B", 2, "x"), said("C", 3, "a b c")},
			"disputed"},
		"seen here": {[]witness.Statement{own, said("own", 1, "x a b c"), said("B", 2, "a b c")},
			"unconfirmed"},
		"regions answer differently": {[]witness.Statement{tagged(1, own), tagged(2, said("A", 1, "x a b c")), tagged(1, said("B", 2, "a b c")), tagged(2, said("C", 3, "x a b c"))},
			"disputed"},

		"the same document here": {[]witness.Statement{bodied(1, own), bodied(1, said("A", 1, "x a b c"))},
			"contradicted A"},
		"the same tag here": {[]witness.Statement{tagged(1, own), tagged(1, said("A", 1, "x a b c"))},
			"contradicted"},
		"the same tag here, and another agrees": {[]witness.Statement{tagged(1, own), tagged(1, said("A", 1, "x a b c")), tagged(1, said("B", 2, "a b c"))},
			"contradicted A"},
		"the same tag here, and another agreed": {[]witness.Statement{tagged(1, own), tagged(1, said("B", 1, "a b c")), tagged(1, said("A", 2, "x a b c"))},
			"contradicted A"},
		"an origin with one tag for everything": {[]witness.Statement{tagged(1, own), tagged(1, said("A", 1, "x a b c")), tagged(1, said("B", 2, "y a b c")), tagged(1, said("C", 3, "z a b c"))},
			"contradicted"},
		"a weak tag": {[]witness.Statement{own, said("A", 1, "x a b c"), with(said("B", 2, "a b c"), func(s *witness.Statement) { s.Validators = [32]byte{1} })},
			"disputed"},
		"two others were given the same": {[]witness.Statement{own, tagged(1, said("A", 1, "x a b c")), tagged(1, said("B", 2, "a b c")), tagged(1, said("C", 3, "a b c"))},
			"contradicted A"},
		"one other was given the same": {[]witness.Statement{own, tagged(1, said("A", 1, "x a b c")), tagged(1, said("B", 2, "a b c"))},
			"disputed"},
		"two others of a network": {[]witness.Statement{own, tagged(1, said("A", 1, "x a b c")), tagged(1, said("B", 2, "a b c")),
			with(tagged(1, said("C", 3, "a b c")), network("net B"))}, "disputed"},
		"framed, but this node saw it": {[]witness.Statement{tagged(1, said("own", 0, "x a b c")), tagged(1, said("A", 1, "x a b c")),
			tagged(1, said("B", 2, "a b c")), tagged(1, said("C", 3, "a b c"))}, "unconfirmed BC"},
		"another version under one tag": {[]witness.Statement{tagged(1, said("own", 0, "x2 a b c")), tagged(1, said("B", 1, "x2 a b c")), tagged(1, said("A", 2, "x a b c"))},
			"contradicted A"},
		"a part of the same document": {[]witness.Statement{tagged(1, own), with(tagged(1, said("A", 1, "x a b c")), partial), tagged(1, said("B", 2, "a b c"))},
			"disputed"},
	} {
		t.Run(name, func(t *testing.T) {
			p := witness.New(witness.Config{})
			caught := ""
			for i, s := range c.statements {
				for _, l := range p.Hear(noon.Add(time.Duration(10+i)*time.Minute), s).Liars {
					caught += string(l.By[:1])
				}
			}
			if got := strings.TrimSpace(fmt.Sprint(p.State(item("x")), " ", caught)); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}

// What is long known is not disputed by those who do not see it any more.
func TestTheTrialEnds(t *testing.T) {
	for after, want := range map[time.Duration]witness.State{time.Hour: witness.Disputed, 3 * time.Hour: witness.Corroborated} {
		p := witness.New(witness.Config{Trial: 2 * time.Hour})
		p.Hear(noon, said("own", 0, "a b c"))
		p.Hear(noon.Add(time.Minute), said("A", 1, "x a b c"))
		p.Hear(noon.Add(2*time.Minute), said("B", 2, "x a b c"))
		p.Hear(noon.Add(after), said("C", int(after.Minutes()), "a b c"))
		if got := p.State(item("x")); got != want {
			t.Errorf("not seen after %v: %v, want %v", after, got, want)
		}
	}
}

// Who is caught is not heard again, and what it said counts for nothing.
func TestALiarIsNotHeard(t *testing.T) {
	p := witness.New(witness.Config{})
	p.Hear(noon, said("own", 0, "a"))
	p.Hear(noon, said("A", 0, "x y a"))
	p.Hear(noon, said("B", 0, "x a"))
	if got := p.State(item("x")); got != witness.Corroborated {
		t.Fatal(got)
	}
	f := p.Expel(witness.Source{'A'})
	if len(f.Changed) != 2 || p.State(item("x")) != witness.Unconfirmed || p.State(item("y")) != witness.Disputed {
		t.Errorf("after it was caught: %v, x %v, y %v", f, p.State(item("x")), p.State(item("y")))
	}
	if f := p.Hear(noon, said("A", 0, "x a")); len(f.Changed)+len(f.Liars) > 0 || p.State(item("x")) != witness.Unconfirmed {
		t.Errorf("it is heard again: %v", f)
	}
	if n := p.Counts(); n.Liars != 1 || n.Witnesses != 1 || n.Disputed != 1 {
		t.Errorf("%+v", n)
	}
}

// A finding names what changed, once.
func TestFindings(t *testing.T) {
	p, noon := witness.New(witness.Config{}), noon.Add(time.Hour)
	p.Hear(noon, said("own", 0, "a"))
	if f := p.Hear(noon, said("A", 0, "x y a")); len(f.Changed) > 0 {
		t.Errorf("unconfirmed as before: %v", f)
	}
	if f := p.Hear(noon, said("B", 1, "x a")); len(f.Changed) != 2 || p.State(item("x")) != witness.Corroborated || p.State(item("y")) != witness.Disputed {
		t.Errorf("%v; x %v, y %v", f, p.State(item("x")), p.State(item("y")))
	}
	if f := p.Hear(noon, said("C", 1, "x a")); len(f.Changed) > 0 {
		t.Errorf("nothing changes: %v", f)
	}
	if f := p.Hear(noon, said("B", -5, "q")); len(f.Changed) > 0 || p.State(item("x")) != witness.Corroborated {
		t.Errorf("an old word: %v", f)
	}
}

func TestBounds(t *testing.T) {
	p := witness.New(witness.Config{Items: 10, Sources: 3})
	p.Hear(noon, said("own", 0, "a"))
	for i := range 200 {
		s := said(string(rune('A'+i%26)), i, "a "+string(rune('b'+i%25)))
		s.By[1] = byte(i)
		p.Hear(noon.Add(time.Duration(i)*time.Minute), s)
	}
	n := p.Counts()
	if n.Witnesses > 3 || n.Corroborated+n.Disputed+n.Contradicted > 10 {
		t.Errorf("%+v", n)
	}
}

// Where a volunteer is may be found out after it spoke. Until then it makes nobody
// independent, and then it does so as if that had been known.
func TestANetworkThatIsFoundOutLater(t *testing.T) {
	for name, c := range map[string]struct {
		b    string // where the second one is
		want witness.State
	}{
		"another network":   {"elsewhere", witness.Corroborated},
		"the same network":  {"net a", witness.Unconfirmed},
		"still not to know": {"", witness.Unconfirmed},
	} {
		p := witness.New(witness.Config{})
		first, second := said("a", 1, "x1"), said("b", 2, "x1")
		second.Network = ""
		p.Hear(noon.Add(time.Hour), first)
		p.Hear(noon.Add(time.Hour), second)
		if p.State(item("x1")) != witness.Unconfirmed || !p.Undecided(second.By) {
			t.Fatalf("%s: before, %v", name, p.State(item("x1")))
		}
		f := p.Locate(second.By, c.b)
		if got := p.State(item("x1")); got != c.want || (len(f.Changed) == 1) != (c.want == witness.Corroborated) {
			t.Errorf("%s: %v, changed %v, want %v", name, got, f.Changed, c.want)
		}
		if undecided := p.Undecided(second.By); undecided != (c.want == witness.Unconfirmed) {
			t.Errorf("%s: undecided %v", name, undecided)
		}
		if f := p.Locate(witness.Source{'z'}, "elsewhere"); len(f.Changed) != 0 {
			t.Errorf("%s: of somebody who never spoke: %v", name, f.Changed)
		}
	}
}

// What this node saw itself needs nobody's network.
func TestUndecidedIsWhatWasNotSeenHere(t *testing.T) {
	p := witness.New(witness.Config{})
	p.Hear(noon.Add(time.Hour), said("own", 1, "x1"))
	p.Hear(noon.Add(time.Hour), said("b", 2, "x1"))
	if p.Undecided(said("b", 2, "").By) || !p.Seen(item("x1")) || p.Seen(item("y1")) {
		t.Error("it was seen here")
	}
}
