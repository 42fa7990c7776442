package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/feedtree/feedtree/feed"
)

// Real feeds, as they were one version after the other: whatever an origin has
// served so far, every proxy serves, once, with the guid it had.
func TestRealHistories(t *testing.T) {
	dirs, _ := filepath.Glob("../../shared/data/feed-histories/*")
	if len(dirs) == 0 {
		t.Skip("the histories of real feeds (shared/data/feed-histories) are not here")
	}
	const versions = 5
	o := newOrigin(t, "news.feedtree-test.org", false)
	s := newSwarm(t, nil, append(o.resolve(), "--poll-min", "1s", "--poll-max", "1s")...)
	s.add(3)
	for step := range versions {
		for _, dir := range dirs {
			o.set("/"+filepath.Base(dir), version(t, dir, step, versions))
		}
		for _, dir := range dirs {
			url := o.base + "/" + filepath.Base(dir)
			want := guids(t, []byte(version(t, dir, step, versions)))
			for i, p := range s.proxies {
				if step == 0 {
					p.ask(url)
				}
				eventually(t, 15*time.Second, fmt.Sprintf("version %d of %s at proxy %d", step, filepath.Base(dir), i), func() bool {
					_, body := p.get("/feed/" + url)
					got := guids(t, []byte(body))
					return !slices.ContainsFunc(want, func(g string) bool { return count(got, g) != 1 })
				})
			}
		}
	}
}

// version reads the step-th of so many versions of a feed, spread over all of
// them.
func version(t *testing.T, dir string, step, of int) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.xml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no versions in %s: %v", dir, err)
	}
	slices.Sort(files)
	b, err := os.ReadFile(files[step*(len(files)-1)/(of-1)])
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func guids(t *testing.T, doc []byte) []string {
	f, err := feed.Parse(doc, "")
	if err != nil {
		t.Errorf("not a feed: %v: %.200s", err, doc)
		return nil
	}
	var ids []string
	for _, it := range f.Items {
		ids = append(ids, it.Key())
	}
	return ids
}

func count(all []string, one string) (n int) {
	for _, s := range all {
		if s == one {
			n++
		}
	}
	return n
}
