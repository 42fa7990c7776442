package feedtree

import (
	"time"

	"github.com/feedtree/feedtree/feed/store"
	"github.com/feedtree/feedtree/signing"
)

const (
	// recoverAfter is for how long a feed must announce other root keys, which the
	// known ones did not sign, until an automatic pin goes to them: whoever lost a
	// root key must be able to come back, and who took a site over for a night must
	// not get its readers.
	recoverAfter = 72 * time.Hour

	// recoverSeenBy is how many must have seen it, this node among them: one that
	// is lied to on its own way to the site is not followed.
	recoverSeenBy = 2

	// recoverLately is when they must have looked last, since what others saw days
	// ago says nothing of today.
	recoverLately = 24 * time.Hour

	ownView = "self" // this node, among those who saw it

	maxViews = 16 // more prove no more
)

// rival is a fingerprint that the feed announces over HTTPS instead of the one that
// is pinned, and that the pinned root keys did not sign.
type rival struct {
	Fingerprint string               `json:"fingerprint"`
	Since       time.Time            `json:"since"` // when this node saw it first; every look since showed it
	Seen        map[string]time.Time `json:"seen"`  // when each perspective saw it last
}

// observe notes that this node saw the feed announce a fingerprint, over HTTPS from
// its own host. The one believed ends the matter.
func (b keyBook) observe(pin store.Pin, seen [32]byte, now time.Time) keyBook {
	f := signing.Fingerprint(seen).String()
	switch {
	case b.believes(pin, seen):
		b.Rival = nil
		return b
	case b.Rival == nil || b.Rival.Fingerprint != f:
		b.Rival = &rival{Fingerprint: f, Since: now, Seen: map[string]time.Time{}}
	}
	return b.seen(ownView, f, now)
}

// seen notes that somebody saw a fingerprint that this node has seen as well.
// Perspectives are told apart by who vouches for them; whether they are independent
// is for the caller to know.
func (b keyBook) seen(perspective, fingerprint string, at time.Time) keyBook {
	if b.Rival == nil || b.Rival.Fingerprint != fingerprint {
		return b
	}
	if _, known := b.Rival.Seen[perspective]; !known && len(b.Rival.Seen) >= maxViews {
		return b
	}
	next := rival{Fingerprint: fingerprint, Since: b.Rival.Since, Seen: map[string]time.Time{perspective: at}}
	for who, when := range b.Rival.Seen {
		if who != perspective || when.After(at) {
			next.Seen[who] = when
		}
	}
	b.Rival = &next
	return b
}

// due reports whether the rival has been there for so long, and seen by so many,
// that an automatic pin goes to it. Only who looked lately counts.
func (r *rival) due(now time.Time) bool {
	lately := 0
	for _, at := range r.Seen {
		if now.Sub(at) < recoverLately && !at.Before(r.Since) {
			lately++
		}
	}
	return now.Sub(r.Since) >= recoverAfter && lately >= recoverSeenBy && now.Sub(r.Seen[ownView]) < recoverLately
}

// recover moves an automatic pin to a rival that is due.
func (b keyBook) recover(url string, pin store.Pin, now time.Time) (keyBook, store.Pin, bool) {
	if b.Rival == nil || !automatic(pin) || pin.How == pinHTTP || !b.Rival.due(now) {
		return b, pin, false
	}
	f, err := signing.ParseFingerprint(b.Rival.Fingerprint)
	if err != nil {
		panic("feedtree: a fingerprint that was written here cannot be read: " + err.Error())
	}
	from := signing.Fingerprint(pin.Fingerprint).String()
	pin = store.Pin{Fingerprint: f, How: pinRecovered, Since: now}
	b = b.reset(url, pin)
	b.Moved = &pinMove{From: from, At: now, Why: moveRecovered}
	return b, pin, true
}

func (r *rival) sentence(pin store.Pin) string {
	held := signing.Fingerprint(pin.Fingerprint).String()
	text := "Since " + r.Since.UTC().Format("2006-01-02 15:04 UTC") + " the feed announces the root keys " + r.Fingerprint +
		", which those that are pinned, " + held + ", did not sign: its publisher lost them, or the site is in other hands. The pin stays"
	if !automatic(pin) {
		return text + ", since it was set by hand. If the publisher says so elsewhere, pin the new fingerprint: feedtree key pin."
	}
	return text + " until it was announced for 72 hours and others have seen it too. If the publisher says so elsewhere, pin the new fingerprint: feedtree key pin."
}
