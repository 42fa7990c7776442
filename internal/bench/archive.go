package bench

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/feedtree/feedtree/feed/archive"
	"github.com/feedtree/feedtree/feed/store"
)

// ArchiveConfig says what is measured of the archive. A zero field means its
// default.
type ArchiveConfig struct {
	Dir      string // where the file is made; "": the system's temporary directory
	Items    int    // 1,000,000
	Feeds    int    // 1,000
	Batch    int    // items in one transaction: 1,000
	Searches int    // and readings: 2,000 each
	Text     string // directory of feed documents to speak like; "": made-up words
	Seed     uint64
	Progress func(stage string, done float64)
}

// ArchiveResult is what was measured.
type ArchiveResult struct {
	Items         int     `json:"items"`
	ItemBytes     int64   `json:"item_bytes"`
	FileBytes     int64   `json:"file_bytes"`
	PerByte       float64 `json:"file_bytes_per_item_byte"`
	InsertsPerSec float64 `json:"inserts_per_second"`
	InsertCPU     float64 `json:"insert_cpu_us"` // of the process, for each item, garbage collection included
	Transaction   Spread  `json:"transaction"`
	Newest        Spread  `json:"newest_50"`
	Search        Spread  `json:"two_words"`
	Hits          float64 `json:"hits_per_search"`
	Seed          uint64  `json:"seed"`
}

// Spread is how long something took, in milliseconds.
type Spread struct {
	P50 float64 `json:"p50_ms"`
	P99 float64 `json:"p99_ms"`
	CPU float64 `json:"cpu_p99_ms"` // what it would have taken on a processor of its own; 0: not known
}

func (c ArchiveConfig) withDefaults() ArchiveConfig {
	set := func(n *int, def int) {
		if *n <= 0 {
			*n = def
		}
	}
	set(&c.Items, 1_000_000)
	set(&c.Feeds, 1000)
	set(&c.Batch, 1000)
	set(&c.Searches, 2000)
	if c.Progress == nil {
		c.Progress = func(string, float64) {}
	}
	return c
}

// Archive fills an archive with items, with its search index, and asks it.
func Archive(ctx context.Context, c ArchiveConfig) (r ArchiveResult, err error) {
	c = c.withDefaults()
	dir, err := os.MkdirTemp(c.Dir, "feedtree-bench-")
	if err != nil {
		return r, err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "archive.db")
	a, err := archive.Open(path)
	if err != nil {
		return r, err
	}
	defer a.Close()
	speech, err := newSpeaker(c.Text, c.Seed)
	if err != nil {
		return r, err
	}
	m := archiveRun{c: c, a: a, speech: speech, rng: rand.New(rand.NewPCG(c.Seed, 2))}
	m.result.Seed, m.result.Items = c.Seed, c.Items
	for _, step := range []func(context.Context) error{m.insert, m.newest, m.search} {
		if err := step(ctx); err != nil {
			return m.result, err
		}
	}
	if err := a.Close(); err != nil {
		return m.result, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return m.result, err
	}
	m.result.FileBytes = info.Size()
	m.result.PerByte = float64(info.Size()) / float64(m.result.ItemBytes)
	return m.result, nil
}

// archiveRun is a measurement in progress.
type archiveRun struct {
	c      ArchiveConfig
	a      *archive.Archive
	speech *speaker
	rng    *rand.Rand
	result ArchiveResult
}

func benchFeed(n int) string { return fmt.Sprintf("https://feed-%04d.example/feed.xml", n) }

// atOnce is how many batches are made up at a time, and appliers how many
// goroutines apply them, as a node does that polls several feeds.
const (
	atOnce   = 20
	appliers = 2
)

// insert applies batches, each of one feed's items. Making them up is not timed.
func (m *archiveRun) insert(ctx context.Context) error {
	var busy, cpu time.Duration
	var each []time.Duration
	for done, n := 0, 0; done < m.c.Items; {
		var batches []store.Batch
		for len(batches) < atOnce && done < m.c.Items {
			url := benchFeed(n % m.c.Feeds)
			n++
			batch := store.Batch{Feed: &store.Feed{URL: url}}
			for range min(m.c.Batch, m.c.Items-done) {
				it := m.speech.item(url, done)
				batch.Items = append(batch.Items, it)
				m.result.ItemBytes += int64(len(it.Doc))
				done++
			}
			batches = append(batches, batch)
		}
		began, used := time.Now(), processTime()
		took, err := m.apply(ctx, batches)
		if err != nil {
			return err
		}
		busy, cpu, each = busy+time.Since(began), cpu+processTime()-used, append(each, took...)
		m.c.Progress(fmt.Sprintf("%d items", done), 0.9*float64(done)/float64(m.c.Items))
	}
	m.result.InsertsPerSec = float64(m.c.Items) / busy.Seconds()
	m.result.InsertCPU = float64(cpu.Microseconds()) / float64(m.c.Items)
	m.result.Transaction.P50, m.result.Transaction.P99 = halfAndMost(each)
	return nil
}

// apply returns how long each batch took.
func (m *archiveRun) apply(ctx context.Context, batches []store.Batch) ([]time.Duration, error) {
	took := make([]time.Duration, len(batches))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(appliers)
	for i, b := range batches {
		group.Go(func() error {
			began := time.Now()
			_, err := m.a.Apply(ctx, b)
			took[i] = time.Since(began)
			return err
		})
	}
	return took, group.Wait()
}

func (m *archiveRun) newest(ctx context.Context) error {
	var times stopwatch
	feeds := min(m.c.Feeds, (m.c.Items+m.c.Batch-1)/m.c.Batch)
	for range m.c.Searches {
		url := benchFeed(m.rng.IntN(feeds))
		err := times.measure(func() error {
			items, err := m.a.Items(ctx, url, 50)
			if err == nil && len(items) == 0 {
				err = fmt.Errorf("%s has no items", url)
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	m.result.Newest = times.spread()
	return nil
}

// search looks for two words of one item in one half of the cases, and in the
// other for two words as often as they are used.
func (m *archiveRun) search(ctx context.Context) error {
	var times stopwatch
	hits := 0
	for n := range m.c.Searches {
		query := m.speech.word() + " " + m.speech.word()
		if n%2 == 0 {
			query = m.speech.two(m.rng.IntN(m.c.Items))
		}
		err := times.measure(func() error {
			found, err := m.a.Search(ctx, query, 20)
			hits += len(found)
			return err
		})
		if err != nil {
			return fmt.Errorf("search for %q: %w", query, err)
		}
		m.c.Progress("searches", 0.9+0.1*float64(n)/float64(m.c.Searches))
	}
	m.result.Search = times.spread()
	m.result.Hits = float64(hits) / float64(m.c.Searches)
	return nil
}

// stopwatch times what happens one after the other.
type stopwatch struct{ wall, cpu []time.Duration }

func (s *stopwatch) measure(do func() error) error {
	began, used := time.Now(), processTime()
	err := do()
	s.wall, s.cpu = append(s.wall, time.Since(began)), append(s.cpu, processTime()-used)
	return err
}

func (s *stopwatch) spread() (to Spread) {
	to.P50, to.P99 = halfAndMost(s.wall)
	_, to.CPU = halfAndMost(s.cpu)
	return to
}

// halfAndMost returns the median and the 99th percentile in milliseconds.
func halfAndMost(each []time.Duration) (half, most float64) {
	slices.Sort(each)
	ms := func(share float64) float64 { return float64(each[int(share*float64(len(each)-1))]) / 1e6 }
	return ms(0.5), ms(0.99)
}
