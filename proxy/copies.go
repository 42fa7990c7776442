package proxy

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	kgzip "github.com/klauspost/compress/gzip"

	"github.com/feedtree/feedtree"
	"github.com/feedtree/feedtree/feed"
	"github.com/feedtree/feedtree/feed/store"
)

// copies are the documents of one feed as they are sent, one per form. Each is
// made when somebody asks for it and stands until the feed changes.
type copies struct {
	mu    sync.Mutex // held while one is made
	forms [feed.JSONFeed + 1]atomic.Pointer[copied]
	label atomic.Pointer[label]
}

// copied is one document in one form.
type copied struct {
	version uint64    // of the feed's state it was made from
	made    time.Time // when it was last made or found unchanged
	changed time.Time // when its bytes became what they are, whole seconds
	media   string
	plain   body
	zipped  body
}

// place is where a document is served, where it comes from, and its place in the
// feed's history, for which find may be asked.
type place struct {
	self, origin string
	paging       *feed.Paging
	find         func(ctx context.Context) *feed.Paging
}

// body is a document in one coding, with its entity tag.
type body struct {
	bytes []byte
	etag  string
}

// label is the state of a feed in words, as of a moment.
type label struct {
	text string
	at   time.Time
}

const (
	labelAge = time.Second
	// A document is made anew at least so often, although nothing changed:
	// making it tells the node that the feed is still read.
	copyAge = time.Hour
)

// get returns the document in a form: the one at hand, or a new one if the feed
// changed. If none can be made, an older one is better than nothing.
func (c *copies) get(ctx context.Context, sub subscription, format feed.Format, at place, labels bool, now time.Time) (*copied, error) {
	slot := &c.forms[format]
	if c := slot.Load(); c.current(sub, now) {
		return c, nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	last := slot.Load()
	if last.current(sub, now) {
		return last, nil
	}
	doc, state, err := sub.Document(ctx)
	if err == nil {
		if at.find != nil {
			at.paging = at.find(ctx)
		}
		var next *copied
		if next, err = newCopy(doc, state, format, at, labels, now); err == nil {
			next.follow(last)
			slot.Store(next)
			return next, nil
		}
	}
	if last != nil {
		return last, nil
	}
	return nil, err
}

func (c *copied) current(sub subscription, now time.Time) bool {
	return c != nil && now.Sub(c.made) < copyAge && c.version == sub.State().Version
}

// follow keeps times apart: a document that differs from the last one has a
// later date, and one that does not differ keeps its date.
func (c *copied) follow(last *copied) {
	switch {
	case last == nil:
	case last.plain.etag == c.plain.etag:
		c.changed = last.changed
	case !c.changed.After(last.changed):
		c.changed = last.changed.Add(time.Second)
	}
}

func newCopy(doc *feed.Feed, state feedtree.DocState, format feed.Format, at place, labels bool, now time.Time) (*copied, error) {
	if format == own {
		format = doc.Format
	}
	o := feed.Options{Self: at.self, Base: at.origin, Live: true, Mark: marker(state.Trust), Paging: at.paging}
	if labels {
		o.Line = labeller(state)
	}
	var plain bytes.Buffer
	err := feed.Render(&plain, doc, format, o)
	if err != nil {
		return nil, fmt.Errorf("writing %s as %v: %w", at.origin, format, err)
	}
	zipped, err := zip(plain.Bytes())
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(plain.Bytes())
	tag := hex.EncodeToString(sum[:16])
	return &copied{
		version: state.Version, made: now, changed: now.Truncate(time.Second),
		media:  feed.MediaType(format) + "; charset=utf-8",
		plain:  body{plain.Bytes(), `"` + tag + `"`},
		zipped: body{zipped, `"` + tag + `-gzip"`},
	}, nil
}

// marker tells the reader of a document why each item is believed.
func marker(trust map[string]store.Trust) func(feed.Item) string {
	return func(it feed.Item) string {
		t, ok := trust[it.Key()]
		if !ok {
			return ""
		}
		return t.String()
	}
}

func zip(plain []byte) ([]byte, error) {
	var b bytes.Buffer
	w, err := kgzip.NewWriterLevel(&b, gzip.DefaultCompression)
	if err != nil {
		return nil, err
	}
	if _, err = w.Write(plain); err != nil {
		return nil, err
	}
	if err = w.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// state describes the feed for the X-FeedTree-State header.
func (c *copies) state(sub subscription, now time.Time) string {
	if l := c.label.Load(); l != nil && now.Sub(l.at) < labelAge {
		return l.text
	}
	text := describe(sub.Status(), sub.State())
	c.label.Store(&label{text, now})
	return text
}

// describe says what this node does for the feed, and what is wrong.
func describe(f feedtree.FeedStatus, state feedtree.DocState) string {
	words := []string{string(f.Role)}
	if f.Live {
		words = append(words, "signed")
	}
	if state.Stale {
		words = append(words, "stale")
	}
	if state.Failure != "" {
		words = append(words, "failure="+strconv.QuoteToASCII(clip(state.Failure)))
	}
	return strings.Join(words, "; ")
}
