package feedtree

import (
	"errors"
	"sync"
	"time"

	"github.com/feedtree/feedtree/feed/store"
	"github.com/feedtree/feedtree/signing"
)

var errNotItself = errors.New("it is for another place than it is kept at")

// proving unpacks payloads.
var proving = sync.OnceValues(newCodec)

// Prove verifies an envelope of a store that comes from elsewhere, and returns the
// items in it with the trust that they have by the keys in the feed's record: those
// of its publisher are signed, all others unconfirmed. An error says why the
// envelope is none. It is what an archive's import asks.
func Prove(rec store.Feed, e store.Envelope) ([]store.Item, error) {
	env, err := signing.Open(e.Wire)
	if err != nil {
		return nil, err
	}
	if at := stored(env); at.Group != e.Group || at.Source != e.Source || at.Epoch != e.Epoch || at.Seq != e.Seq || at.Beat != e.Beat {
		return nil, errNotItself
	}
	if env.Kind != signing.Event || env.Media == signing.Keys || rec.URL == "" {
		return nil, nil
	}
	c, err := proving()
	if err != nil {
		return nil, err
	}
	f, err := c.decode(env)
	if err != nil {
		return nil, nil // it was said, whatever it is
	}
	p := policy{pin: rec.Pin, book: bookOf(&rec)}
	trust := p.trust(env)
	if state := p.book.latest(); state != nil && state.Revokes(env.Key, env.Epoch, env.Seq) {
		trust = store.Unconfirmed
	}
	items, err := records(rec.URL, f, f.Items, trust, time.Time{})
	if err != nil {
		return nil, nil
	}
	for i := range items {
		items[i].Source, items[i].Epoch, items[i].Seq = env.Key, env.Epoch, env.Seq
	}
	return items, nil
}
