package archive

import (
	"encoding/json"
	"strings"
)

// atOnce is how many items one statement inserts: what a statement costs beside its
// rows is as much as a few of them.
const atOnce = 16

const indexItem = `INSERT INTO search (rowid, words) VALUES (?, ?)`

var (
	insertOne  = insertItems("items", 1)
	insertMany = insertItems("items", atOnce)
)

func insertItems(table string, rows int) string {
	const row = `(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
	return `INSERT INTO ` + table + ` (` + itemColumns + `, name) VALUES ` + row + strings.Repeat(`, `+row, rows-1)
}

// insert keeps a version, at the latest when the shelf is closed or asked.
func (s *shelf) insert(in leaf) {
	if s.waiting = append(s.waiting, in); len(s.waiting) == atOnce {
		s.insertRows()
	}
}

// insertRows inserts the items that wait, but not their words.
func (s *shelf) insertRows() {
	if len(s.waiting) == atOnce {
		rows := make([]any, 0, 18*atOnce)
		for _, l := range s.waiting {
			rows = append(rows, l.insertion()...)
		}
		s.t.exec(insertMany, rows...)
	} else {
		for _, l := range s.waiting {
			s.t.exec(insertOne, l.insertion()...)
		}
	}
	for _, l := range s.waiting {
		if l.current {
			s.unindexed = append(s.unindexed, l)
		}
	}
	s.waiting = s.waiting[:0]
}

// flush inserts what waits. The words come last and one by one: before a statement
// of several rows the index would write what it has in memory to the file.
func (s *shelf) flush() {
	s.insertRows()
	for _, l := range s.unindexed {
		s.index(l.item.Seen, l.words)
	}
	s.unindexed = s.unindexed[:0]
}

const fewItems = 8 // for which looking them up one by one is as quick

// look notes which of the items that are to come the shelf may hold, so that it
// need not be asked about each.
func (s *shelf) look(leaves []leaf) {
	if s.t.err != nil || len(leaves) < fewItems {
		return
	}
	names := make([]int64, len(leaves))
	for i := range leaves {
		names[i] = nameOf(leaves[i].item.Key)
	}
	list, err := json.Marshal(names)
	if err != nil {
		panic("archive: numbers that are no JSON: " + err.Error())
	}
	s.names = make(map[int64]bool)
	var name int64
	s.t.each(func() { s.names[name] = true }, []any{&name},
		`SELECT name FROM items WHERE feed = ? AND name IN (SELECT value FROM json_each(?))`, s.feed, string(list))
}
