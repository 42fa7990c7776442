package archive_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/feedtree/feedtree/feed/archive"
	"github.com/feedtree/feedtree/feed/store"
)

// What was applied is there when the program runs again; a file of another
// kind is left alone.
func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "archive")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)

	const url = "https://news.example/feed.xml"
	path := filepath.Join(dir, "archive.db")
	for range 2 {
		a, err := archive.Open(path)
		if err != nil {
			fmt.Println(err)
			return
		}
		added, err := a.Apply(ctx, store.Batch{
			Feed:  &store.Feed{URL: url},
			Items: []store.Item{{Feed: url, Key: "guid:1", Trust: store.Fetched}},
		})
		fmt.Println(len(added), err)
		a.Close()
	}

	notes := filepath.Join(dir, "notes.txt")
	if err := os.WriteFile(notes, []byte("buy milk"), 0o600); err != nil {
		fmt.Println(err)
		return
	}
	_, err = archive.Open(notes)
	fmt.Println(errors.Is(err, archive.ErrForeign))
	// Output:
	// 1 <nil>
	// 0 <nil>
	// true
}
