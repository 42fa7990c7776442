package feedtree

import (
	"bytes"
	"compress/gzip"
	"encoding/hex"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/feedtree/feedtree/feed"
	"github.com/feedtree/feedtree/feed/store"
	"github.com/feedtree/feedtree/signing"
)

// noise is text that does not compress below half its length.
func noise(n int) string {
	rng := rand.New(rand.NewPCG(1, 2))
	b := make([]byte, n/2)
	for i := range b {
		b[i] = byte(rng.Uint32())
	}
	return hex.EncodeToString(b)
}

func TestItemsAreSplitOverEvents(t *testing.T) {
	c, err := newCodec()
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	f := &feed.Feed{Format: feed.RSS, Title: "News", Link: "http://example.org/"}
	var items []feed.Item
	for i := range 5 {
		items = append(items, feed.Item{GUID: strconv.Itoa(i), Title: "t", Content: noise(600 << 10)})
	}
	items = append(items, feed.Item{GUID: "huge", Title: "t", Content: noise(3 << 20)})
	items = append(items, feed.Item{GUID: "big", Title: "t", Content: noise(1500 << 10)}) // alone it fits
	parts, tooLarge, err := c.encode(f, items)
	if err != nil {
		t.Fatal(err)
	}
	if len(tooLarge) != 1 || tooLarge[0].GUID != "huge" {
		t.Errorf("%d items too large", len(tooLarge))
	}
	var order []string
	for _, p := range parts {
		if len(p.payload) > signing.MaxPayload || len(p.payload) > maxPayload && len(p.items) > 1 {
			t.Errorf("a payload of %d bytes with %d items", len(p.payload), len(p.items))
		}
		env := &signing.Envelope{Header: signing.Header{Coding: signing.Zstd, Media: p.media}, Payload: p.payload}
		doc, err := c.decode(env)
		if err != nil {
			t.Fatal(err)
		}
		for i, it := range doc.Items {
			if it.Hash() != p.items[i].Hash() {
				t.Errorf("item %s came back as another", it.GUID)
			}
			order = append(order, it.GUID)
		}
	}
	if got := len(order); got != 6 || order[0] != "0" || order[5] != "big" {
		t.Errorf("order %v", order)
	}
}

func TestPayloadsThatAreRefused(t *testing.T) {
	c, err := newCodec()
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	bomb := bytes.Repeat([]byte(" "), 64<<20)
	var zipped bytes.Buffer
	w := gzip.NewWriter(&zipped)
	w.Write(bomb)
	w.Close()
	for what, env := range map[string]*signing.Envelope{
		"a zstd bomb":      {Header: signing.Header{Coding: signing.Zstd}, Payload: c.pack.EncodeAll(bomb, nil)},
		"a gzip bomb":      {Header: signing.Header{Coding: signing.Gzip}, Payload: zipped.Bytes()},
		"not zstd":         {Header: signing.Header{Coding: signing.Zstd}, Payload: []byte("hello")},
		"no document":      {Payload: []byte("hello")},
		"nothing":          {Payload: nil},
		"an unknown coder": {Header: signing.Header{Coding: 77}, Payload: []byte("<rss/>")},
	} {
		if f, err := c.decode(env); err == nil {
			t.Errorf("%s: %d items", what, len(f.Items))
		}
	}
}

// Each item is stored as a document of its own. What an event says outside its
// items must not be stored once for each of them: one small event of a stranger
// would fill the memory.
func TestAStoredItemDoesNotCarryTheChannel(t *testing.T) {
	const items = 1000
	word := strings.Repeat("word ", 100<<10/5)
	for what, open := range map[string]string{
		"a description": "<rss><channel><title>t</title><description>" + word + "</description>",
		"a namespace":   `<rss xmlns:x="` + strings.ReplaceAll(word, " ", "-") + `"><channel><title>t</title>`,
		"a base":        `<rss xml:base="http://example.org/` + strings.ReplaceAll(word, " ", "/") + `"><channel><title>t</title>`,
	} {
		doc := open
		for i := range items {
			doc += "<item><guid>" + strconv.Itoa(i) + "</guid><title>t</title><x:y>z</x:y></item>"
		}
		f, err := feed.Parse([]byte(doc+"</channel></rss>"), "")
		if err != nil {
			t.Fatal(what, err)
		}
		all, err := records("http://example.org/", f, f.Items, store.Unconfirmed, time.Now())
		size := 0
		for _, r := range all {
			size += len(r.Doc)
		}
		if size > maxStored || what == "a description" && (err != nil || size > 10*len(doc)) {
			t.Errorf("%s: %d bytes became %d (%v)", what, len(doc), size, err)
		}
	}
}

// A stored item reads back as what came, whatever document it came in.
func TestAStoredItemReadsBack(t *testing.T) {
	documents, err := filepath.Glob("feed/testdata/*.*")
	if err != nil {
		t.Fatal(err)
	}
	read := 0
	for _, name := range documents {
		doc, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		f, err := feed.Parse(doc, "")
		if err != nil {
			continue // the folder holds other things too
		}
		for _, it := range f.Items {
			r, err := record("http://example.org/", f, it, store.Fetched, time.Now())
			if err != nil {
				t.Fatal(err)
			}
			back, err := itemOf(r)
			if err != nil || back.Key() != it.Key() || back.Hash() != it.Hash() || !reflect.DeepEqual(back.Authors, it.Authors) {
				t.Errorf("%s: %q came back as %q, by %v instead of %v (%v)", name, it.Key(), back.Key(), back.Authors, it.Authors, err)
			}
			read++
		}
	}
	if read < 10 {
		t.Errorf("only %d items were checked", read)
	}
}
