package polling

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/feedtree/feedtree/feed"
)

// Trace is real feeds' histories.
type Trace struct {
	Name  string
	feeds []history
}

// history is one feed as its documents show it.
type history struct {
	name  string
	store int
	items []item
	whole time.Time // from when on no item is unknown
	end   time.Time // the last document
}

// item was posted after one time and no later than another.
type item struct {
	from, to time.Time
	coarse   bool
}

const week = 7 * 24 * time.Hour

// ReadTrace reads feed documents from DIR/NAME/UNIXTIME.xml, the versions of the
// feed NAME at those times. What is not of that form is passed over; a document
// that cannot be parsed is an error.
func ReadTrace(dir string) (*Trace, error) {
	t := &Trace{Name: filepath.Base(filepath.Clean(dir))}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("cannot read the histories: %w", err)
	}
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		h, err := readHistory(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, err
		}
		if len(h.items) > 1 {
			h.name = e.Name()
			t.feeds = append(t.feeds, h)
		}
	}
	if len(t.feeds) == 0 {
		return nil, fmt.Errorf("no feed's history in %s: it should hold directories of documents called UNIXTIME.xml", dir)
	}
	return t, nil
}

func readHistory(dir string) (history, error) {
	var h history
	paths, err := filepath.Glob(filepath.Join(dir, "*.xml"))
	if err != nil {
		return h, err
	}
	versions := map[int64]string{}
	var times []int64
	for _, p := range paths {
		if at, err := strconv.ParseInt(strings.TrimSuffix(filepath.Base(p), ".xml"), 10, 64); err == nil {
			versions[at] = p
			times = append(times, at)
		}
	}
	slices.Sort(times)
	seen := map[string]bool{}
	var last time.Time
	for _, unix := range times {
		body, err := os.ReadFile(versions[unix])
		if err != nil {
			return h, err
		}
		doc, err := feed.Parse(body, "")
		if err != nil {
			return h, fmt.Errorf("%s is no feed: %w", versions[unix], err)
		}
		h.version(doc, last, time.Unix(unix, 0).UTC(), seen)
		last = time.Unix(unix, 0).UTC()
	}
	h.end = last
	return h, nil
}

// version takes over the items that a document shows first.
func (h *history) version(doc *feed.Feed, last, at time.Time, seen map[string]bool) {
	h.store = max(h.store, len(doc.Items))
	for _, it := range doc.Items {
		key := cmp.Or(it.GUID, it.Link, it.Title)
		date := cmp.Or(it.Published.UTC(), it.Updated.UTC())
		if seen[key] || last.IsZero() && (date.IsZero() || date.After(at)) {
			continue
		}
		seen[key] = true
		h.items = append(h.items, posted(date, last, at))
		if last.IsZero() && (h.whole.IsZero() || date.Before(h.whole)) {
			h.whole = date
		}
	}
	if h.whole.IsZero() {
		h.whole = at
	}
}

// posted is when an item that was not in the document at last and is at at was
// posted: at its date if that lies between, on its day if that is all it tells,
// else at any time between.
func posted(date, last, at time.Time) item {
	switch {
	case date.IsZero() || date.After(at):
		return item{last, at, true}
	case date.Equal(date.Truncate(24 * time.Hour)):
		from, to := date, date.Add(24*time.Hour)
		if from.Before(last) {
			from = last
		}
		if to.After(at) {
			to = at
		}
		if !to.After(from) {
			return item{last, at, true}
		}
		return item{from, to, true}
	case date.Before(last):
		return item{last, at, true}
	}
	return item{date, date, false}
}

// World is the time in which the histories are whole, at most fifteen weeks. They
// are moved by whole weeks so that all end together. An item whose time is not
// known lies somewhere in what is possible, by the seed.
func (t *Trace) World(seed uint64) *World {
	rng := rand.New(rand.NewPCG(seed, 0x51ed270b))
	var end time.Time
	for _, h := range t.feeds {
		if h.end.After(end) {
			end = h.end
		}
	}
	begin := end.Add(-15 * week)
	for _, h := range t.feeds {
		if whole := h.whole.Add(h.shift(end)); whole.After(begin) {
			begin = whole
		}
	}
	begin = begin.Truncate(24 * time.Hour)
	w := &World{Name: t.Name, End: end.Sub(begin).Hours()}
	w.Train = min(period, math.Floor(w.End/4/24)*24)
	for _, h := range t.feeds {
		f := Feed{Name: h.name, Store: h.store}
		h.place(&f, begin.Add(-h.shift(end)), rng)
		w.Feeds = append(w.Feeds, f)
	}
	return w
}

func (h *history) shift(end time.Time) time.Duration { return end.Sub(h.end) / week * week }

// place puts the items on the world's clock, which begins at a midnight.
func (h *history) place(f *Feed, begin time.Time, rng *rand.Rand) {
	type post struct {
		at     float64
		coarse bool
	}
	var posts []post
	for _, it := range h.items {
		at := it.from.Sub(begin).Hours() + rng.Float64()*it.to.Sub(it.from).Hours()
		if at > 0 {
			posts = append(posts, post{at, it.coarse})
		}
	}
	slices.SortFunc(posts, func(a, b post) int { return cmp.Compare(a.at, b.at) })
	for _, p := range posts {
		f.Posts = append(f.Posts, p.at)
		f.Coarse = append(f.Coarse, p.coarse)
	}
}
