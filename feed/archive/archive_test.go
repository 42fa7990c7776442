package archive_test

import (
	"path/filepath"
	"testing"

	"github.com/feedtree/feedtree/feed/archive"
	"github.com/feedtree/feedtree/feed/store"
	"github.com/feedtree/feedtree/feed/store/storetest"
)

func TestArchive(t *testing.T) {
	storetest.Run(t, func(t *testing.T, limits store.Limits) store.Store {
		a, err := archive.OpenWith(filepath.Join(t.TempDir(), "archive.db"), limits)
		if err != nil {
			t.Fatal(err)
		}
		return a
	})
}

func BenchmarkArchive(b *testing.B) {
	storetest.Bench(b, func(b *testing.B) store.Store {
		a, err := archive.Open(filepath.Join(b.TempDir(), "archive.db"))
		if err != nil {
			b.Fatal(err)
		}
		return a
	})
}
