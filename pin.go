package feedtree

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/feedtree/feedtree/feed"
	"github.com/feedtree/feedtree/feed/store"
	"github.com/feedtree/feedtree/multicast"
	"github.com/feedtree/feedtree/signing"
)

// How a pin came to be.
const (
	pinHTTPS     = "https"     // announced by the feed over HTTPS, the first time it was seen
	pinHTTP      = "http"      // likewise, where anybody on the way could have put it
	pinManual    = "manual"    // set by hand, or the node itself publishes with the key
	pinRecovered = "recovered" // announced instead of another, for long enough
)

// sighting is what a document of the feed's origin says of its keys.
type sighting struct {
	pin     store.Pin // without How: no key
	place   string    // where the certificate is, "" if that is nowhere to be asked
	astray  string    // the place that was named, if nobody should ask there
	warning string    // why what it says is ignored
	same    bool      // it says what it said the last time, to this node over HTTPS
}

// announced reads the keys that a document fetched from finalURL names for the
// feed. Only the feed's own host may name them, and only HTTPS all the way makes
// that more than a rumour. A pushed document never does.
func announced(rec *store.Feed, f *feed.Feed, finalURL string, now time.Time) (s sighting) {
	t := f.Tree
	if t == nil || t.Fingerprint == "" {
		return s
	}
	if t.Group != "" && !strings.EqualFold(t.Group, multicast.Group(rec.Group).String()) {
		s.warning = "the feed announces the tree of another URL than its own: its ft:tree is ignored"
		return s
	}
	fingerprint, err := signing.ParseFingerprint(t.Fingerprint)
	if err != nil {
		s.warning = fmt.Sprintf("the feed announces a key that cannot be read (%v): its ft:tree is ignored", err)
		return s
	}
	if !sameHost(rec.URL, finalURL) {
		s.warning = "the feed's key was announced by another host than the feed's own: it is ignored"
		return s
	}
	s.pin = store.Pin{Fingerprint: fingerprint, How: pinHTTP, Since: now}
	if overHTTPS(rec.URL) && overHTTPS(finalURL) {
		s.pin.How = pinHTTPS
	}
	switch {
	case t.Cert == "":
	case sameHost(rec.URL, t.Cert) && overHTTPS(t.Cert):
		s.place = t.Cert
	default:
		s.astray = t.Cert
	}
	return s
}

func sameHost(a, b string) bool {
	u, err1 := url.Parse(a)
	v, err2 := url.Parse(b)
	return err1 == nil && err2 == nil && u.Hostname() != "" && strings.EqualFold(u.Hostname(), v.Hostname())
}

func overHTTPS(text string) bool {
	u, err := url.Parse(text)
	return err == nil && u.Scheme == "https"
}

// repin decides what becomes of the pin held when the document names a key, or
// none. A pin is only ever made firmer here: whoever can change one document
// must not be able to take over a feed.
func repin(held, seen store.Pin) store.Pin {
	switch {
	case seen.How == "":
		return held
	case held.How == "", held.How == pinHTTP && held.Fingerprint != seen.Fingerprint:
		return seen
	case held.How == pinHTTP && seen.How == pinHTTPS:
		return seen
	}
	return held
}

// takeKeys takes over into a feed's record what its origin says of its keys, and the
// certificate if it was asked for. It returns what is wrong, as a sentence.
func takeKeys(rec *store.Feed, s sighting, got *certificateAnswer, now time.Time) (warning string) {
	b, before := bookOf(rec), rec.Pin
	if rec.Pin = repin(rec.Pin, s.pin); rec.Pin.Fingerprint != before.Fingerprint {
		b = b.reset(rec.URL, rec.Pin)
	}
	switch {
	case s.astray != "":
		b.Place, b.Trouble = "", keyTrouble{KeysOtherHost, "The feed says that its certificate is at " + s.astray +
			", which is not on its own host over HTTPS, so it is not asked for. The publisher puts it beside the feed and names that in ft:tree."}
	case s.pin.How != "":
		b.Place = s.place
	}
	if got != nil && rec.Pin.How != "" {
		b, rec.Pin = got.take(rec, b, now)
	}
	switch {
	case s.pin.How == pinHTTPS:
		b = b.observe(rec.Pin, s.pin.Fingerprint, now)
	case s.same && b.Rival != nil:
		b = b.seen(ownView, b.Rival.Fingerprint, now)
	}
	b = recovered(rec, b, got, now)
	if rec.Pin.How != "" || s.astray != "" {
		b.keep(rec)
	}
	switch {
	case s.warning != "":
		return s.warning
	case b.Rival != nil:
		return b.Rival.sentence(rec.Pin)
	case s.pin.How != "" && !b.believes(rec.Pin, s.pin.Fingerprint):
		return "the feed announces another key than the one that is pinned, " + signing.Fingerprint(rec.Pin.Fingerprint).String() +
			", which stays in force; if its publisher says so elsewhere, pin the new one: feedtree key pin"
	}
	_, sentence := b.judgement(rec.Pin, now, 0)
	return sentence
}

// recovered moves the pin to a rival that is due.
func recovered(rec *store.Feed, b keyBook, got *certificateAnswer, now time.Time) keyBook {
	b, pin, moved := b.recover(rec.URL, rec.Pin, now)
	rec.Pin = pin
	if moved && got != nil {
		b, rec.Pin = got.take(rec, b, now)
	}
	return b
}

// believes reports whether a fingerprint is that of root keys believed now, or of
// some that led to them.
func (b *keyBook) believes(pin store.Pin, f [32]byte) bool {
	return pin.Fingerprint == f || slices.ContainsFunc(b.cert, func(s *signing.KeyState) bool { return s.Fingerprint() == signing.Fingerprint(f) })
}
