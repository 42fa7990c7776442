package store_test

import (
	"testing"

	"github.com/feedtree/feedtree/feed/store"
	"github.com/feedtree/feedtree/feed/store/storetest"
)

func TestMemory(t *testing.T) {
	storetest.Run(t, func(t *testing.T, limits store.Limits) store.Store {
		return store.NewMemoryWith(limits)
	})
}

func BenchmarkMemory(b *testing.B) {
	storetest.Bench(b, func(b *testing.B) store.Store { return store.NewMemory() })
}
