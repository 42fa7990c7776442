package archive

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
)

// Damage is a place in the file that is not as it was written.
type Damage struct {
	Table string // of the schema, or "file" for what SQLite found in its structure
	Row   int64  // the row's id, 0 where it has none
	What  string // a sentence
}

func (d Damage) String() string {
	if d.Row == 0 {
		return d.Table + ": " + d.What
	}
	return fmt.Sprintf("%s, row %d: %s", d.Table, d.Row, d.What)
}

const (
	mostDamage = 1000 // places that are remembered; more are counted
	altered    = "it is not as it was written"
)

type place struct {
	table string
	row   int64
}

// damages are the places found so far. The zero value is ready.
type damages struct {
	mu    sync.Mutex
	found map[place]Damage
	more  int
}

func (d *damages) note(found Damage) {
	d.mu.Lock()
	defer d.mu.Unlock()
	at := place{found.Table, found.Row}
	switch _, known := d.found[at]; {
	case known:
	case len(d.found) == mostDamage:
		d.more++
	default:
		if d.found == nil {
			d.found = make(map[place]Damage)
		}
		d.found[at] = found
	}
}

// knows reports whether a row was found damaged.
func (d *damages) knows(table string, row int64) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	_, ok := d.found[place{table, row}]
	return ok
}

// mended forgets a row that was written anew.
func (d *damages) mended(table string, row int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.found, place{table, row})
}

// Damage returns the places that were found damaged since the archive was opened,
// and not written anew since, in order. What stands there is withheld: an item is
// fetched again, an envelope asked for again.
func (a *Archive) Damage() []Damage {
	a.damages.mu.Lock()
	defer a.damages.mu.Unlock()
	list := make([]Damage, 0, len(a.damages.found))
	for _, d := range a.damages.found {
		list = append(list, d)
	}
	slices.SortFunc(list, func(x, y Damage) int { return cmp.Or(cmp.Compare(x.Table, y.Table), cmp.Compare(x.Row, y.Row)) })
	if a.damages.more > 0 {
		list = append(list, Damage{Table: "file", What: fmt.Sprintf("%d more places are damaged", a.damages.more)})
	}
	return list
}
