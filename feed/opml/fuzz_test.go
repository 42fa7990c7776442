package opml

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"github.com/feedtree/feedtree/feed"
	"github.com/feedtree/feedtree/internal/fuzz"
)

// FuzzParse: no input makes Parse panic; what it accepts is written well formed,
// reads as the same list, and has its feeds back after a stay behind a proxy.
func FuzzParse(f *testing.F) {
	files, err := filepath.Glob("testdata/*.opml")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		doc, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(doc)
	}
	for _, s := range []string{
		`<opml xmlns:a="u"><body><outline a:b='1' c:d="2" xmlurl="https://x/&#x85;&nbsp;"/></outline>`,
		`<opml xmlns:xml="u" version=""><head><x:y>1</x:y><title><b></title></head><outline url="feed:https://h/" type=rss ="" "a"b='c'>`,
	} {
		f.Add([]byte(s))
	}
	fuzz.Hold(f, func(t *testing.T, doc []byte) {
		if len(doc) > 1<<16 {
			return
		}
		l, err := Parse(doc)
		if err != nil {
			return
		}
		feeds, refused := l.Feeds()
		out := l.Bytes()
		wellFormed(t, out)
		again, err := Parse(out)
		if err != nil {
			t.Fatalf("%v in\n%s", err, out)
		}
		if f, r := again.Feeds(); !reflect.DeepEqual(f, feeds) || len(r) != len(refused) {
			t.Fatalf("written and read: %q\nwant %q\nin\n%s", f, feeds, out)
		}
		if string(again.Bytes()) != string(out) {
			t.Fatalf("written again:\n%s\nwas\n%s", again.Bytes(), out)
		}
		wrapped := Wrap(l, base)
		if twice := Wrap(wrapped, base); !slices.Equal(urls(twice), urls(wrapped)) {
			t.Fatalf("wrapped twice: %q, once: %q", urls(twice), urls(wrapped))
		}
		if plain := Unwrap(l, base); slices.Equal(urls(plain), urls(l)) { // nothing in it was wrapped
			if back := Unwrap(wrapped, base); !slices.EqualFunc(urls(back), urls(l), sameAddress) {
				t.Fatalf("%q came back as %q", urls(l), urls(back))
			}
		}
	})
}

// sameAddress reports whether two spellings lead to the same place: feed:/host is
// http://host.
func sameAddress(a, b string) bool {
	one, err := feed.Embedded(a)
	other, err2 := feed.Embedded(b)
	return a == b || err == nil && err2 == nil && one == other
}
