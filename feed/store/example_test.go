package store_test

import (
	"context"
	"fmt"

	"github.com/feedtree/feedtree/feed/store"
)

// A volunteer brings an item, then the publisher signs it: one item, better
// trusted.
func Example() {
	ctx := context.Background()
	s := store.NewMemory()
	defer s.Close()

	const url = "https://news.example/feed.xml"
	item := store.Item{Feed: url, Key: "guid:1", Hash: [32]byte{1}, Trust: store.Unconfirmed}
	added, err := s.Apply(ctx, store.Batch{Feed: &store.Feed{URL: url}, Items: []store.Item{item}})
	fmt.Println(len(added), err)

	item.Trust = store.Signed
	added, err = s.Apply(ctx, store.Batch{Items: []store.Item{item}})
	fmt.Println(len(added), err)

	items, err := s.Items(ctx, url, 10)
	fmt.Println(len(items), items[0].Trust, err)
	// Output:
	// 1 <nil>
	// 0 <nil>
	// 1 signed <nil>
}
