package feedtree

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/feedtree/feedtree/feed/store"
	"github.com/feedtree/feedtree/signing"
)

// KeysState says in one word how it stands with a feed's keys.
type KeysState string

// The states. All but the first three come with a sentence that says more.
const (
	KeysNone        KeysState = "none"              // the feed announces no key
	KeysSingle      KeysState = "single"            // it has one key, and no certificate
	KeysCurrent     KeysState = "current"           // its certificate says who speaks for it
	KeysExpired     KeysState = "expired"           // all its signing keys have ended
	KeysUnreachable KeysState = "unreachable"       // the certificate cannot be fetched
	KeysUnreadable  KeysState = "unreadable"        // it is none, or of another kind
	KeysOtherHost   KeysState = "other-host"        // it is not on the feed's own host, over HTTPS
	KeysOtherFeed   KeysState = "other-feed"        // it is for another URL
	KeysOtherRoots  KeysState = "wrong-fingerprint" // its root keys are not those that are believed
	KeysDisputed    KeysState = "disputed"          // root keys disagree
	KeysOlder       KeysState = "older"             // it is older than what is known
	KeysClock       KeysState = "clock"             // this machine's clock or the publisher's is wrong
	KeysMoved       KeysState = "moved"             // the feed announces other root keys, unsigned by the known ones
)

// keyBook is what a node knows of a feed's keys besides the pin. It is stored with
// the feed, and replaced rather than changed.
type keyBook struct {
	Place    string     `json:"place,omitempty"` // the certificate's URL, on the feed's own host over HTTPS
	PEM      string     `json:"pem,omitempty"`   // the certificate
	Asked    time.Time  `json:"asked"`           // when it was last asked for
	Trouble  keyTrouble `json:"trouble"`
	Moved    *pinMove   `json:"moved,omitempty"`
	Rival    *rival     `json:"rival,omitempty"`
	Disputed bool       `json:"disputed,omitempty"` // the root keys in force contradicted themselves: nothing they sign is taken over

	cert signing.Certificate // of PEM; nil: none
}

// keyTrouble is what is wrong, as far as it does not follow from the time.
type keyTrouble struct {
	State KeysState `json:"state,omitempty"`
	Text  string    `json:"text,omitempty"`
}

// pinMove is the last time a pin went to other root keys, for people to see.
type pinMove struct {
	From string    `json:"from"` // fingerprint
	At   time.Time `json:"at"`
	Why  string    `json:"why"` // moveRotated or moveRecovered
}

// Why a pin moved.
const (
	moveRotated   = "rotated"   // the root keys before signed those after
	moveRecovered = "recovered" // the feed announced others for long enough
)

// bookOf reads what the record of a feed says of its keys. What cannot be read is
// fetched again.
func bookOf(rec *store.Feed) keyBook {
	var b keyBook
	if len(rec.Cert) == 0 || json.Unmarshal(rec.Cert, &b) != nil {
		return keyBook{}
	}
	if b.PEM != "" {
		var err error
		if b.cert, err = signing.ParseCertificate([]byte(b.PEM)); err != nil {
			b.PEM = ""
		}
	}
	return b
}

// keep writes the book into the feed's record.
func (b keyBook) keep(rec *store.Feed) {
	data, err := json.Marshal(b)
	if err != nil {
		panic("feedtree: the record of a feed's keys: " + err.Error())
	}
	rec.Cert = data
}

// latest is the key state in force, nil where the feed has none.
func (b *keyBook) latest() *signing.KeyState {
	if len(b.cert) == 0 {
		return nil
	}
	return b.cert.Latest()
}

func (b *keyBook) version() uint32 {
	if s := b.latest(); s != nil {
		return s.Version
	}
	return 0
}

// automatic reports whether a pin is one that the node made by itself.
func automatic(p store.Pin) bool { return p.How != "" && p.How != pinManual }

// follow takes over a certificate, as far as it follows from what is believed. The
// pin of a node's own making goes with the root keys; one set by hand stays, and
// is followed from.
func (b keyBook) follow(url string, pin store.Pin, c signing.Certificate, now time.Time) (keyBook, store.Pin, error) {
	if b.Disputed {
		return b, pin, errDisputed
	}
	known, err := c, error(nil)
	if b.cert == nil {
		known, err = c.From(url, pin.Fingerprint)
	} else {
		known, err = b.cert.Learn(c)
	}
	if err == nil && known.Latest().Issued.After(now.Add(signing.Leeway)) {
		err = &clockError{issued: known.Latest().Issued}
	}
	if err != nil {
		b.Disputed = signing.ReasonOf(err) == signing.ReasonFork
		return b, pin, err
	}
	b.cert, b.PEM, b.Trouble = known, string(known.MarshalPEM()), keyTrouble{}
	if f := known.Latest().Fingerprint(); automatic(pin) && f != signing.Fingerprint(pin.Fingerprint) {
		b.Moved = &pinMove{From: signing.Fingerprint(pin.Fingerprint).String(), At: now, Why: moveRotated}
		pin.Fingerprint, pin.Since = f, now
	}
	return b, pin, nil
}

// reset forgets what was believed because of a pin that is another now. Of a
// certificate in dispute nothing is left: which of two things is true is for the
// next one to say.
func (b keyBook) reset(url string, pin store.Pin) keyBook {
	known := b.cert
	if b.Disputed {
		known = nil
	}
	b.Rival, b.Disputed, b.Trouble, b.cert, b.PEM = nil, false, keyTrouble{}, nil, ""
	if known != nil {
		if c, err := known.From(url, pin.Fingerprint); err == nil {
			b.cert, b.PEM = c, string(c.MarshalPEM())
		}
	}
	return b
}

var errDisputed = fmt.Errorf("the feed's root keys signed two different things before")

// clockError is about a key state from the future.
type clockError struct{ issued time.Time }

func (e *clockError) Error() string {
	return "its certificate is of " + e.issued.UTC().Format("2006-01-02 15:04 UTC") + ", which is in the future"
}

// KeyStatus is how it stands with a feed's keys, for people and programs.
type KeyStatus struct {
	State     KeysState    `json:"state"`
	Sentence  string       `json:"sentence"`  // what that means and what to do; "" where nothing is to be said
	Version   uint32       `json:"version"`   // of the key state; 0: none
	Roots     string       `json:"roots"`     // fingerprint of the root keys in force
	Threshold int          `json:"threshold"` // how many of them must sign
	Signing   []SigningKey `json:"signing"`
	Revoked   []string     `json:"revoked"` // fingerprints
	Place     string       `json:"place"`   // the certificate's URL
	Disputed  bool         `json:"disputed"`
}

// SigningKey is a key that speaks for a feed, and until when.
type SigningKey struct {
	Fingerprint string    `json:"fingerprint"`
	Until       time.Time `json:"until"`
}

// PinStatus is which root keys a feed's publisher must have, and how that is
// known.
type PinStatus struct {
	Fingerprint string     `json:"fingerprint"`
	How         string     `json:"how"` // "https", "http", "recovered" or "manual"
	Since       time.Time  `json:"since"`
	MovedFrom   string     `json:"moved_from"` // the fingerprint before, ""
	MovedAt     *time.Time `json:"moved_at"`
	MovedWhy    string     `json:"moved_why"` // "rotated": the keys before signed it; "recovered": announced for long enough
	Rival       string     `json:"rival"`     // fingerprint that the feed announces now, if it is another
	RivalSince  *time.Time `json:"rival_since"`
}

// status says how it stands at a time. ahead is how far the publisher's clock was
// seen ahead of this machine's, 0 if it was not.
func (b *keyBook) status(pin store.Pin, now time.Time, ahead time.Duration) KeyStatus {
	k := KeyStatus{Place: b.Place, Disputed: b.Disputed, Signing: []SigningKey{}, Revoked: []string{}}
	s := b.latest()
	if s != nil {
		k.Version, k.Roots, k.Threshold = s.Version, s.Fingerprint().String(), s.Roots.Threshold
		for _, key := range s.Signing {
			k.Signing = append(k.Signing, SigningKey{key.Key.Fingerprint().String(), key.Until})
		}
		for _, r := range s.Revoked {
			k.Revoked = append(k.Revoked, r.Key.Fingerprint().String())
		}
	} else if pin.How != "" {
		k.Roots, k.Threshold = signing.Fingerprint(pin.Fingerprint).String(), 1
	}
	k.State, k.Sentence = b.judgement(pin, now, ahead)
	return k
}

func (b *keyBook) judgement(pin store.Pin, now time.Time, ahead time.Duration) (KeysState, string) {
	s := b.latest()
	switch {
	case pin.How == "":
		return KeysNone, ""
	case b.Disputed:
		return KeysDisputed, "Two of the feed's key states contradict each other, both signed by its root keys, so these may be stolen. " +
			"What was known before stays in force, and nothing more they sign is taken over. Ask the publisher for the fingerprint, and pin it: feedtree key pin."
	case ahead > 0:
		return KeysClock, "The publisher's clock is " + span(ahead) + " ahead of this machine's, so what it says is refused until then. " +
			"Look at this machine's clock; if it is right, the publisher's is wrong, and volunteers take over."
	case b.Trouble.State == KeysClock:
		return KeysClock, b.Trouble.Text
	case s != nil && now.After(s.Until().Add(signing.Leeway)):
		return KeysExpired, "The publisher's signing keys ended on " + s.Until().Format("2006-01-02") + ", so nothing signed with them counts any more; volunteers take over. " +
			"The publisher makes a new one with: feedtree key rotate."
	case b.Rival != nil:
		return KeysMoved, b.Rival.sentence(pin)
	case b.Trouble.State != "":
		return b.Trouble.State, b.Trouble.Text
	case s == nil:
		return KeysSingle, ""
	}
	return KeysCurrent, ""
}

func span(d time.Duration) string {
	if h := int(d.Round(time.Hour) / time.Hour); h >= 2 {
		return fmt.Sprintf("%d hours", h)
	}
	return fmt.Sprintf("%d minutes", int(max(d, time.Minute)/time.Minute))
}

// troubleOf names what is wrong with a certificate found at a place.
func troubleOf(place string, pin store.Pin, err error) keyTrouble {
	at := "The feed's certificate at " + place + " "
	stays := " What was known before stays in force."
	if clock, ok := err.(*clockError); ok {
		return keyTrouble{KeysClock, at + "is of " + clock.issued.UTC().Format("2006-01-02 15:04 UTC") + ", which is in the future: this machine's clock is wrong, or was the publisher's. It is asked for again."}
	}
	detail := ": " + strings.TrimSuffix(err.Error(), ".") + "."
	switch signing.ReasonOf(err) {
	case signing.ReasonOtherFeed:
		return keyTrouble{KeysOtherFeed, at + "is not this feed's" + detail + " The publisher makes one for this address with: feedtree keygen."}
	case signing.ReasonOtherRoots:
		return keyTrouble{KeysOtherRoots, at + "has other root keys than the feed announced, " + signing.Fingerprint(pin.Fingerprint).String() + detail +
			" What it lists is not believed. The publisher puts the fingerprint of feedtree key show into the feed, or the right certificate there."}
	case signing.ReasonThreshold, signing.ReasonReplaced, signing.ReasonFork, signing.ReasonJump:
		return keyTrouble{KeysDisputed, at + "is not signed as it must be" + detail + stays}
	case signing.ReasonStale:
		return keyTrouble{KeysOlder, at + "is older than one seen before" + detail + stays + " The publisher uploads the newest."}
	case "":
		return keyTrouble{KeysUnreachable, at + "cannot be had" + detail + stays + " It is asked for again; the publisher uploads it there."}
	}
	return keyTrouble{KeysUnreadable, at + "cannot be read" + detail + stays + " The publisher uploads it again, or makes one with Ed25519 keys: feedtree keygen."}
}

// pinStatus describes a pin, nil if there is none.
func (b *keyBook) pinStatus(pin store.Pin) *PinStatus {
	if pin.How == "" {
		return nil
	}
	p := &PinStatus{Fingerprint: signing.Fingerprint(pin.Fingerprint).String(), How: pin.How, Since: pin.Since}
	if m := b.Moved; m != nil {
		p.MovedFrom, p.MovedAt, p.MovedWhy = m.From, &m.At, m.Why
	}
	if r := b.Rival; r != nil {
		p.Rival, p.RivalSince = r.Fingerprint, &r.Since
	}
	return p
}

// names reports whether a key is the publisher's, or was until it was revoked.
func (b *keyBook) names(pin store.Pin, key signing.PublicKey) bool {
	s := b.latest()
	if s == nil {
		return pin.How != "" && key.Fingerprint() == signing.Fingerprint(pin.Fingerprint)
	}
	return s.Lists(key) || slices.ContainsFunc(s.Revoked, func(r signing.Revocation) bool { return r.Key == key })
}
