package fetch

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/feedtree/feedtree/feed"
	"github.com/feedtree/feedtree/feed/fetch/polite"
)

// version is a document as it was from a time on.
type version struct {
	from time.Time
	body string
}

// history is what a feed showed over time, and how its origin behaves.
type history struct {
	name       string
	versions   []version
	etag       bool // gives one
	modified   bool // gives Last-Modified
	restless   bool // gives a new ETag each time
	compresses bool
}

// replays serves a history.
func (h history) replays(w *world, s *site, r *http.Request, header http.Header) (int, string) {
	at := 0
	for at+1 < len(h.versions) && !h.versions[at+1].from.After(w.now) {
		at++
	}
	etag, modified := "", ""
	if h.etag {
		etag = fmt.Sprintf(`"%d"`, at)
	}
	if h.restless {
		etag = fmt.Sprintf(`"%d"`, s.served)
	}
	if h.modified {
		modified = h.versions[at].from.UTC().Format(http.TimeFormat)
	}
	if !h.compresses {
		r.Header.Del("Accept-Encoding")
	}
	if status, _ := s.conditional(r, header, etag, modified, ""); status == 304 {
		return 304, ""
	}
	return 200, h.versions[at].body
}

// aMix is feeds as Cobra's hourly crawl met them, at a small scale: most say little,
// some much (lognormal rates), and not all origins are good ones. The shares of
// validators and compression are assumptions: nine in ten origins give validators,
// of these one in eighteen a new one each time; seven in eight compress.
func aMix(begin time.Time, count, days int, seed uint64) (list []history) {
	rng := rand.New(rand.NewPCG(seed, 1))
	for n := range count {
		h := history{name: fmt.Sprintf("feed%d.example", n), etag: n%10 < 7, modified: n%10 >= 2 && n%10 < 9, restless: n%20 == 0, compresses: n%8 != 7}
		perDay := math.Exp(rng.NormFloat64()*1.2 - 0.3)
		var items []string
		for i := range 12 {
			items = append(items, anItem(rng, h.name, -i))
		}
		end := begin.Add(time.Duration(days) * 24 * time.Hour)
		for at, i := begin, 1; at.Before(end); i++ {
			h.versions = append(h.versions, version{at, `<rss version="2.0"><channel><title>` + h.name + `</title>` + strings.Join(items, "\n") + `</channel></rss>`})
			items = append([]string{anItem(rng, h.name, i)}, items[:11]...)
			at = at.Add(time.Duration(rng.ExpFloat64() / perDay * float64(24*time.Hour)))
		}
		list = append(list, h)
	}
	return list
}

// anItem has some hundred words, the rarer the longer.
func anItem(rng *rand.Rand, name string, n int) string {
	var b strings.Builder
	fmt.Fprintf(&b, `<item><guid>https://%s/%d</guid><link>https://%[1]s/%d</link><title>Number %[2]d</title><description>&lt;p&gt;`, name, n)
	for range 40 + rng.IntN(120) {
		word := int(math.Exp(rng.Float64() * 9))
		for ; word > 0; word /= 20 {
			b.WriteString([]string{"ba", "ce", "di", "fo", "gu", "ha", "je", "ki", "lo", "mu", "na", "pe", "ri", "so", "tu", "va", "we", "xi", "yo", "zu"}[word%20])
		}
		b.WriteByte(' ')
	}
	b.WriteString(`&lt;/p&gt;</description></item>`)
	return b.String()
}

// realHistories reads directories of documents named by the time they were seen.
func realHistories(t *testing.T, dir string) (list []history) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "feed-histories", "*", "*.xml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no histories in %s: %v", dir, err)
	}
	slices.Sort(files)
	for _, file := range files {
		seen, err := strconv.ParseInt(strings.TrimSuffix(filepath.Base(file), ".xml"), 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		body, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		name := strings.ReplaceAll(filepath.Base(filepath.Dir(file)), "_", "-") + ".example"
		if len(list) == 0 || list[len(list)-1].name != name {
			list = append(list, history{name: name, etag: true, modified: true, compresses: true})
		}
		h := &list[len(list)-1]
		h.versions = append(h.versions, version{time.Unix(seen, 0).UTC(), string(body)})
	}
	return list
}

// traffic is bytes: those that came in, and those of items that went on.
type traffic struct{ in, out, outSeen int64 }

// crawl asks for every feed every hour, as Cobra did, and hands on what is left
// after body and item hashes.
func crawl(t *testing.T, mix []history, begin time.Time, days int, spoil func(*http.Request), forget bool) (sum traffic) {
	w := newWorld(io.Discard)
	w.now, w.before = begin, spoil
	c, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	c.transport, c.now = w, func() time.Time { return w.now }
	known := map[string]map[string][32]byte{}
	states := map[string]polite.State{}
	for _, h := range mix {
		w.add(h.name, h.replays, 1)
		known[h.name] = map[string][32]byte{}
	}
	for hour := range days * 24 {
		w.now = begin.Add(time.Duration(hour) * time.Hour)
		for _, h := range mix {
			out, err := c.Poll(context.Background(), Feed{URL: "http://" + h.name + "/", State: states[h.name]}, nil)
			if err != nil {
				t.Fatal(err)
			}
			states[h.name] = out.State
			r := out.Result
			sum.in += r.BytesWire
			if forget {
				states[h.name] = polite.State{}
				r.Unchanged = false
			}
			if r.NotModified || r.Unchanged {
				continue
			}
			sum.pass(t, r, known[h.name], forget)
		}
	}
	return sum
}

// pass counts the items of a document that go on, and those among them that were
// seen before.
func (sum *traffic) pass(t *testing.T, r *Result, known map[string][32]byte, everything bool) {
	f, err := feed.Parse(r.Body, r.ContentType)
	if err != nil {
		t.Fatal(err)
	}
	fresh := feed.Diff(func(key string) ([32]byte, bool) {
		if everything {
			return [32]byte{}, false
		}
		h, ok := known[key]
		return h, ok
	}, f)
	for _, it := range fresh {
		var doc bytes.Buffer
		if err := feed.Render(&doc, f.Only([]feed.Item{it}), f.Format, feed.Options{}); err != nil {
			t.Fatal(err)
		}
		sum.out += int64(doc.Len())
		if h, ok := known[it.Key()]; ok && h == it.Hash() {
			sum.outSeen += int64(doc.Len())
		}
		known[it.Key()] = it.Hash()
	}
}

// Cobra (NSDI'07, figure 8): asking conditionally takes 57 % off what a crawler is
// sent, and hashes of documents and items 99.8 % off what it hands on. The same
// mix, the same hours; the baseline asks for all of it and hands all of it on.
//
// FEEDTREE_DATA names a directory with feed-histories in it, to replay these.
func TestCobraMeasure(t *testing.T) {
	const seed = 4
	days, begin := 4, time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	mix, what := aMix(begin, 40, days, seed), "synthetic"
	if dir := os.Getenv("FEEDTREE_DATA"); dir != "" {
		mix, what = realHistories(t, dir), "real"
		begin, days = mix[0].versions[0].from, 45
	} else if testing.Short() {
		t.Skip("the mix is parsed hundreds of times")
	}
	plain := func(r *http.Request) { r.Header.Del("Accept-Encoding") }
	baseline := crawl(t, mix, begin, days, plain, true)
	validators := crawl(t, mix, begin, days, plain, false)
	all := crawl(t, mix, begin, days, nil, false)
	less := func(n, of int64) float64 { return 100 * (1 - float64(n)/float64(of)) }
	t.Logf("%s mix, %d feeds, %d days, seed %d", what, len(mix), days, seed)
	t.Logf("in:  %d bytes, by validators %d (%.1f %% less), with gzip %d (%.1f %% less)",
		baseline.in, validators.in, less(validators.in, baseline.in), all.in, less(all.in, baseline.in))
	t.Logf("out: %d bytes, of these seen before %d; by hashes %d, seen before %d (%.2f %% less)",
		baseline.out, baseline.outSeen, all.out, all.outSeen, less(all.outSeen, baseline.outSeen))
	if got := less(validators.in, baseline.in); got < 57 {
		t.Errorf("in, by validators: %.1f %% less, want 57", got)
	}
	if got := less(all.in, baseline.in); got < 80 {
		t.Errorf("in, with compression: %.1f %% less, want 80", got)
	}
	if got := less(all.outSeen, baseline.outSeen); got < 99.8 {
		t.Errorf("out, of what was seen before: %.2f %% less, want 99.8", got)
	}
	if fresh := baseline.out - baseline.outSeen; all.out-all.outSeen != fresh {
		t.Errorf("out, of what is new: %d bytes, want %d: news is lost", all.out-all.outSeen, fresh)
	}
}
