package feedtree

import (
	"bytes"
	"compress/gzip"
	"testing"
	"time"

	"github.com/feedtree/feedtree/feed"
	"github.com/feedtree/feedtree/feed/store"
	"github.com/feedtree/feedtree/internal/fuzz"
	"github.com/feedtree/feedtree/signing"
)

// What a key that is believed may say in an event: a document in any coding, whose
// items are to be stored, and read again by every later start.
func FuzzPayload(f *testing.F) {
	c, err := newCodec()
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(c.close)
	rss := []byte(`<rss version="2.0"><channel><title>T</title><item><guid>a</guid><title>A</title></item><item><title>B</title></item></channel></rss>`)
	var zipped bytes.Buffer
	w := gzip.NewWriter(&zipped)
	w.Write(rss)
	w.Close()
	f.Add([]byte{byte(signing.Plain)}, rss)
	f.Add([]byte{byte(signing.Zstd)}, c.pack.EncodeAll(rss, nil))
	f.Add([]byte{byte(signing.Zstd)}, c.pack.EncodeAll(make([]byte, maxDecoded+1), nil))
	f.Add([]byte{byte(signing.Gzip)}, zipped.Bytes())
	f.Add([]byte{byte(signing.Plain)}, []byte(`{"version":"https://jsonfeed.org/version/1.1","items":[{"id":"a","content_text":"x"}]}`))
	const url = "https://news.example/feed.xml"
	fuzz.Hold(f, func(t *testing.T, coding, payload []byte) {
		if len(coding) != 1 {
			return
		}
		doc, err := c.decode(&signing.Envelope{Header: signing.Header{Coding: signing.Coding(coding[0])}, Payload: payload})
		if err != nil {
			return
		}
		if len(doc.Items) > maxTold {
			t.Fatalf("%d items", len(doc.Items))
		}
		kept, err := records(url, doc, doc.Items, store.Signed, time.Unix(1, 0))
		if err != nil {
			return
		}
		for i, r := range kept {
			again, err := itemOf(r)
			if err != nil || again.Key() != r.Key || again.Hash() != r.Hash {
				t.Fatalf("item %d, %q, is read again as %q: %v\n%s", i, r.Key, key(again, err), err, r.Doc)
			}
		}
	})
}

func key(it feed.Item, err error) string {
	if err != nil {
		return ""
	}
	return it.Key()
}
