package archive

import (
	"bytes"
	"context"
	"strings"

	"github.com/feedtree/feedtree/feed/store"
)

var _ store.Searcher = (*Archive)(nil)

const (
	mostHits    = 1000
	mostTerms   = 16 // words of a query; what is typed beyond them is not looked for
	leastPrefix = 2  // bytes, below which what begins with them is no help
)

// search is a query: words as the index holds them.
type search struct {
	words  []string
	prefix bool // the last one is the beginning of a word
}

func newSearch(query string) search {
	words := wordsOf(query)
	words = words[:min(len(words), mostTerms)]
	return search{words, strings.HasSuffix(strings.TrimSpace(query), "*")}
}

// match writes the query in SQLite's language. A word holds letters and digits
// only, so that in quotes it is nothing but a word.
func (s search) match() string {
	m := `"` + strings.Join(s.words, `" AND "`) + `"`
	if s.prefix {
		m += "*"
	}
	return m
}

// Search implements store.Searcher.
func (a *Archive) Search(ctx context.Context, query string, limit int) ([]store.Hit, error) {
	s := newSearch(query)
	if len(s.words) == 0 || limit <= 0 {
		return nil, nil
	}
	limit = min(limit, mostHits)
	hits, err := a.hits(ctx, s, limit)
	if last := s.words[len(s.words)-1]; err == nil && len(hits) == 0 && !s.prefix && len(last) >= leastPrefix {
		s.prefix = true
		hits, err = a.hits(ctx, s, limit)
	}
	return hits, err
}

// hits looks a query up. Each row found is read and held against the query once
// more, so that a damaged index can hide an item, and never show a wrong one.
func (a *Archive) hits(ctx context.Context, s search, limit int) ([]store.Hit, error) {
	var hits []store.Hit
	seen := []int64{}
	var id int64
	if err := a.read(ctx, func() { seen = append(seen, id) }, []any{&id},
		`SELECT rowid FROM search WHERE search MATCH ? ORDER BY rowid DESC LIMIT ?`, s.match(), limit); err != nil {
		return nil, err
	}
	for _, id := range seen {
		err := a.readRows(ctx, "items", func(row []any, _ bool) {
			url, _ := row[len(row)-1].(string)
			l, ok := openLeaf(row)
			if !ok {
				a.withhold("items", row[0])
				return
			}
			l.item.Feed = url
			if hit, ok := s.hit(l.item); ok && l.current {
				hits = append(hits, hit)
			}
		}, `SELECT `+itemColumns+`, (SELECT url FROM feeds WHERE id = feed) FROM items WHERE seen = ?`, id)
		if err != nil {
			return nil, err
		}
	}
	return hits, nil
}

// hit shows an item as found, if it holds the words.
func (s search) hit(item store.Item) (store.Hit, bool) {
	t := readText(item.Doc)
	all := appendWords(appendWords([]byte{' '}, t.title), t.body)
	for i, w := range s.words {
		end := " "
		if s.prefix && i == len(s.words)-1 {
			end = ""
		}
		if !bytes.Contains(all, []byte(" "+w+end)) {
			return store.Hit{}, false
		}
	}
	snippet, marks := s.snippet(t.body)
	return store.Hit{Item: item, Title: t.title, Snippet: snippet, Marks: marks}, true
}

const (
	snippetBefore = 8  // words before the first one that was looked for
	snippetWords  = 28 // in all
)

// snippet cuts the piece out of a text where the words stand first.
func (s search) snippet(body string) (string, [][2]int) {
	words := strings.Fields(body)
	first := 0
	for i, w := range words {
		if s.has(w) {
			first = i
			break
		}
	}
	from := max(0, min(first-snippetBefore, len(words)-snippetWords))
	to := min(len(words), from+snippetWords)
	var b strings.Builder
	var marks [][2]int
	if from > 0 {
		b.WriteString("… ")
	}
	for i, w := range words[from:to] {
		if i > 0 {
			b.WriteByte(' ')
		}
		if s.has(w) {
			marks = append(marks, [2]int{b.Len(), b.Len() + len(w)})
		}
		b.WriteString(w)
	}
	if to < len(words) {
		b.WriteString(" …")
	}
	return b.String(), marks
}

// has reports whether one of the words looked for is in a piece of a text between
// two spaces.
func (s search) has(piece string) bool {
	for _, w := range wordsOf(piece) {
		for i, looked := range s.words {
			if w == looked || s.prefix && i == len(s.words)-1 && strings.HasPrefix(w, looked) {
				return true
			}
		}
	}
	return false
}
