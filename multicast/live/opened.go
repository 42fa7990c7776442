package live

import (
	"bytes"
	"container/list"
	"hash/maphash"
	"sync"

	"github.com/feedtree/feedtree/signing"
)

// What the cache of verified envelopes may hold. The same event comes from
// several neighbours within seconds, so little is enough.
const (
	maxOpened      = 64
	maxOpenedBytes = 1 << 20
)

// opened remembers envelopes that verified: an event that comes again costs a
// comparison of all its bytes, not a signature. One is found by a hash that needs
// to be no more than fast, as nearly all that come are new. It is safe for
// concurrent use.
type opened struct {
	mu    sync.Mutex
	known map[uint64]*list.Element
	order list.List // of openedEntry, latest used in front
	bytes int
}

type openedEntry struct {
	sum uint64
	env *signing.Envelope
}

var openedSeed = maphash.MakeSeed()

// open is signing.Open with a memory. The envelope returned may share its
// bytes with an earlier copy instead of with wire.
func (o *opened) open(wire []byte) (*signing.Envelope, error) {
	sum := maphash.Bytes(openedSeed, wire)
	if env := o.get(sum); env != nil && bytes.Equal(env.Wire(), wire) {
		return env, nil
	}
	env, err := signing.Open(wire)
	if err != nil {
		return nil, err
	}
	o.put(sum, env)
	return env, nil
}

func (o *opened) get(sum uint64) *signing.Envelope {
	o.mu.Lock()
	defer o.mu.Unlock()
	e := o.known[sum]
	if e == nil {
		return nil
	}
	o.order.MoveToFront(e)
	return e.Value.(openedEntry).env
}

func (o *opened) put(sum uint64, env *signing.Envelope) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.known == nil {
		o.known = make(map[uint64]*list.Element)
	}
	if o.known[sum] != nil {
		return // verified twice at the same time
	}
	o.known[sum] = o.order.PushFront(openedEntry{sum, env})
	o.bytes += len(env.Wire())
	for o.order.Len() > maxOpened || o.bytes > maxOpenedBytes {
		last := o.order.Remove(o.order.Back()).(openedEntry)
		delete(o.known, last.sum)
		o.bytes -= len(last.env.Wire())
	}
}
