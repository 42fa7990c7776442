package feedtree

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/feedtree/feedtree/feed"
	"github.com/feedtree/feedtree/feed/store"
	"github.com/feedtree/feedtree/signing"
)

const (
	maxPayload = 512 << 10 // bytes an event aims to stay below, compressed
	maxDecoded = 8 << 20   // bytes of the document in an event
	maxTold    = 1000      // items in one event
	maxStored  = 24 << 20  // bytes of the documents that the items of one document become
)

// codec turns items into payloads and back: a complete document in the feed's
// own format that holds just these items (FeedTree §4.3), compressed once. It
// is safe for concurrent use.
type codec struct {
	pack   *zstd.Encoder
	unpack *zstd.Decoder
}

func newCodec() (*codec, error) {
	pack, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	if err != nil {
		return nil, err
	}
	unpack, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxDecoded))
	if err != nil {
		return nil, err
	}
	return &codec{pack, unpack}, nil
}

func (c *codec) close() {
	c.unpack.Close()
	_ = c.pack.Close() // nothing is buffered: it never wrote to a stream
}

// part is the payload of one event and the items in it.
type part struct {
	items   []feed.Item
	payload []byte
	media   signing.Media
}

// encode splits items, in their order, over as few payloads as are small enough.
// An item too large for any event is left out.
func (c *codec) encode(f *feed.Feed, items []feed.Item) (parts []part, tooLarge []feed.Item, err error) {
	if len(items) == 0 {
		return nil, nil, nil
	}
	doc, err := document(f, items)
	if err != nil {
		return nil, nil, err
	}
	payload := c.pack.EncodeAll(doc, nil)
	fits := len(payload) <= maxPayload && len(doc) <= maxDecoded && len(items) <= maxTold
	switch {
	case fits, len(items) == 1 && len(payload) <= signing.MaxPayload && len(doc) <= maxDecoded:
		return []part{{items, payload, mediaOf(f.Format)}}, nil, nil
	case len(items) == 1:
		return nil, items, nil
	}
	half := len(items) / 2
	first, large, err := c.encode(f, items[:half])
	if err != nil {
		return nil, nil, err
	}
	second, more, err := c.encode(f, items[half:])
	return append(first, second...), append(large, more...), err
}

func document(f *feed.Feed, items []feed.Item) ([]byte, error) {
	var b bytes.Buffer
	if err := feed.Render(&b, f.Only(items), f.Format, feed.Options{}); err != nil {
		return nil, fmt.Errorf("write a document of %d items: %w", len(items), err)
	}
	return b.Bytes(), nil
}

var (
	errCoding = errors.New("unknown compression")
	errLarge  = errors.New("too large when unpacked")
)

// decode reads the document in an event that was verified.
func (c *codec) decode(env *signing.Envelope) (*feed.Feed, error) {
	doc, err := c.expand(env)
	if err != nil {
		return nil, err
	}
	f, err := feed.Parse(doc, "")
	if err == nil && len(f.Items) > maxTold {
		err = fmt.Errorf("%d items in one event, at most %d are taken", len(f.Items), maxTold)
	}
	return f, err
}

func (c *codec) expand(env *signing.Envelope) ([]byte, error) {
	switch env.Coding {
	case signing.Plain:
		return env.Payload, nil
	case signing.Zstd:
		return c.unpack.DecodeAll(env.Payload, nil)
	case signing.Gzip:
		r, err := gzip.NewReader(bytes.NewReader(env.Payload))
		if err != nil {
			return nil, err
		}
		doc, err := io.ReadAll(io.LimitReader(r, maxDecoded+1))
		if err == nil && len(doc) > maxDecoded {
			err = errLarge
		}
		return doc, err
	}
	return nil, errCoding
}

func mediaOf(f feed.Format) signing.Media { return signing.Media(f) }

// record makes what the store keeps of an item: a document of it alone. What the
// feed says of itself is not in it, since it would be there once for each item.
func record(url string, f *feed.Feed, it feed.Item, trust store.Trust, now time.Time) (store.Item, error) {
	doc, err := document(&feed.Feed{Format: f.Format, Link: url}, []feed.Item{it})
	return store.Item{
		Feed: url, Key: it.Key(), Hash: it.Hash(),
		Doc: doc, ContentType: feed.MediaType(f.Format),
		Trust: trust, Published: it.Date(), Received: now,
	}, err
}

// records makes the records of several items. What each of them relies on from
// outside itself, as a namespace, it does carry; hence the bound.
func records(url string, f *feed.Feed, items []feed.Item, trust store.Trust, now time.Time) ([]store.Item, error) {
	all := make([]store.Item, len(items))
	size := 0
	for i, it := range items {
		var err error
		if all[i], err = record(url, f, it, trust, now); err != nil {
			return nil, err
		}
		if size += len(all[i].Doc); size > maxStored {
			return nil, fmt.Errorf("its items as documents of their own: %w", errLarge)
		}
	}
	return all, nil
}

// itemOf reads an item back.
func itemOf(r store.Item) (feed.Item, error) {
	f, err := feed.Parse(r.Doc, r.ContentType)
	if err == nil && len(f.Items) != 1 {
		err = fmt.Errorf("a stored document of %d items", len(f.Items))
	}
	if err != nil {
		return feed.Item{}, fmt.Errorf("item %q of %s: %w", r.Key, r.Feed, err)
	}
	return f.Items[0], nil
}
