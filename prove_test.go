package feedtree

import (
	"bytes"
	"testing"
	"time"

	"github.com/feedtree/feedtree/feed/store"
	"github.com/feedtree/feedtree/multicast"
	"github.com/feedtree/feedtree/signing"
)

// What an envelope from elsewhere proves, by the keys of its feed.
func TestProve(t *testing.T) {
	const url, nothing = "https://news.example/feed.xml", store.Trust(255)
	identity := func(n byte) *signing.Identity {
		id, err := signing.FromSeed(bytes.Repeat([]byte{n}, 32))
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	ours, thief := identity(1), identity(2)
	sealed := func(id *signing.Identity, role signing.Role, doc string) store.Envelope {
		wire, err := id.Seal(signing.Header{Group: multicast.GroupOf(url), Role: role, Kind: signing.Event, Epoch: 1, Seq: 1,
			Time: time.UnixMilli(1), Media: signing.RSS}, []byte(doc))
		if err != nil {
			t.Fatal(err)
		}
		env, err := signing.Open(wire)
		if err != nil {
			t.Fatal(err)
		}
		return stored(env)
	}
	const doc = `<rss version="2.0"><channel><title>T</title><item><guid>a</guid><title>A</title></item></channel></rss>`
	good := sealed(ours, signing.Publisher, doc)
	flipped, moved := good, good
	flipped.Wire = bytes.Clone(good.Wire)
	flipped.Wire[len(flipped.Wire)-9] ^= 1
	moved.Seq = 7
	rec := store.Feed{URL: url, Group: good.Group, Pin: store.Pin{Fingerprint: ours.Public().Fingerprint(), How: pinHTTPS}}
	overHTTP, unpinned := rec, store.Feed{URL: url, Group: good.Group}
	overHTTP.Pin.How = pinHTTP
	for name, c := range map[string]struct {
		rec   store.Feed
		e     store.Envelope
		fails bool
		trust store.Trust
	}{
		"the publisher's":          {rec, good, false, store.Signed},
		"a flipped bit":            {rec, flipped, true, 0},
		"kept at another place":    {rec, moved, true, 0},
		"another key":              {rec, sealed(thief, signing.Publisher, doc), false, store.Unconfirmed},
		"the key, as a volunteer":  {rec, sealed(ours, signing.Volunteer, doc), false, store.Unconfirmed},
		"the key seen over HTTP":   {overHTTP, good, false, store.Unconfirmed},
		"no key known":             {unpinned, good, false, store.Unconfirmed},
		"nobody's bytes":           {rec, store.Envelope{Wire: []byte("event")}, true, 0},
		"a key, and no document":   {rec, sealed(ours, signing.Publisher, "x"), false, nothing},
		"an envelope of no feed":   {store.Feed{}, good, false, nothing},
		"nobody's, and of no feed": {store.Feed{}, flipped, true, 0},
	} {
		items, err := Prove(c.rec, c.e)
		switch {
		case (err != nil) != c.fails:
			t.Errorf("%s: %v", name, err)
		case c.fails || c.trust == nothing:
			if len(items) > 0 {
				t.Errorf("%s: %+v", name, items)
			}
		case len(items) != 1 || items[0].Trust != c.trust || items[0].Source != [32]byte(c.e.Source) || items[0].Seq != 1:
			t.Errorf("%s: %+v", name, items)
		}
	}
}
