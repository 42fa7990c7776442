package feedtree

import (
	"context"
	"errors"
	"time"

	"github.com/feedtree/feedtree/feed"
	"github.com/feedtree/feedtree/feed/fetch"
	"github.com/feedtree/feedtree/feed/store"
	"github.com/feedtree/feedtree/signing"
)

// When a certificate is asked for that the feed names, beyond the first time.
const (
	certAgain    = 10 * time.Minute // if what is held does not do
	certSoon     = 6 * time.Hour    // if the signing keys end within certEnds
	certEnds     = 7 * 24 * time.Hour
	certSeldom   = 24 * time.Hour // otherwise: the tree tells of changes
	certPatience = 15 * time.Second
)

// certificateAnswer is what came of asking for a certificate.
type certificateAnswer struct {
	place string
	cert  signing.Certificate
	err   error
}

// certificate asks for the certificate that the feed names, if it is time to. It
// comes with a request to the origin that was due anyway, to the same host.
func (n *Node) certificate(ctx context.Context, rec *store.Feed, s sighting, urgent bool, now time.Time) *certificateAnswer {
	b := bookOf(rec)
	if s.same {
		s.place = b.Place
	}
	if s.place == "" || !b.wants(repin(rec.Pin, s.pin), s, urgent, now) {
		return nil
	}
	return askCertificate(ctx, n.http, rec.URL, s.place)
}

// askCertificate asks for the certificate of a feed at a place.
func askCertificate(ctx context.Context, http *fetch.Client, url, place string) *certificateAnswer {
	a := &certificateAnswer{place: place}
	ctx, cancel := context.WithTimeout(ctx, certPatience)
	defer cancel()
	got, err := http.Get(ctx, fetch.Request{URL: place})
	switch {
	case err != nil:
		a.err = err
	case !sameHost(url, got.URL) || !overHTTPS(got.URL):
		a.err = &strayError{got.URL}
	default:
		a.cert, a.err = signing.ParseCertificate(got.Body)
	}
	return a
}

// seeKeys reads what the answer of the origin says of the feed's keys. It returns how
// many more requests that took.
func (n *Node) seeKeys(ctx context.Context, rec *store.Feed, p *poll) (requests uint64) {
	switch doc := n.unread(ctx, rec, p); {
	case doc != nil:
		p.keys = announced(rec, doc, p.answer.URL, p.now)
	default:
		p.keys = sighting{same: sameHost(rec.URL, p.answer.URL) && overHTTPS(p.answer.URL)}
	}
	if p.cert = n.certificate(ctx, rec, p.keys, p.job.nudge, p.now); p.cert != nil {
		return 1
	}
	return 0
}

// unread returns the document whose announcement is to be read: one that came, or the
// one held, if the origin says that it is current and nothing of it is remembered.
func (n *Node) unread(ctx context.Context, rec *store.Feed, p *poll) *feed.Feed {
	if p.doc != nil || !bookOf(rec).Asked.IsZero() {
		return p.doc
	}
	stored, _, err := n.config.Store.Feed(ctx, rec.URL)
	if err != nil || len(stored.Doc) == 0 {
		return nil
	}
	doc, err := feed.Parse(stored.Doc, stored.ContentType)
	if err != nil {
		return nil
	}
	return doc
}

// strayError is about a certificate that was not found where it belongs.
type strayError struct{ at string }

func (e *strayError) Error() string {
	return "it leads to " + e.at + ", which is not the feed's own host over HTTPS"
}

// wants reports whether the certificate is to be asked for.
func (b *keyBook) wants(pin store.Pin, s sighting, urgent bool, now time.Time) bool {
	since, state := now.Sub(b.Asked), b.latest()
	switch {
	case pin.How == "" || urgent: // a word depends on it, which is not so often
		return pin.How != ""
	case since < 0:
		return true // the clock was set back
	case state == nil || b.Trouble.State != "" || s.pin.How != "" && state.Fingerprint() != signing.Fingerprint(s.pin.Fingerprint):
		return since >= certAgain
	case now.Add(certEnds).After(state.Until()):
		return since >= certSoon
	}
	return since >= certSeldom
}

// take takes the answer over into what is known.
func (a *certificateAnswer) take(rec *store.Feed, b keyBook, now time.Time) (keyBook, store.Pin) {
	b.Asked, b.Trouble = now, keyTrouble{}
	pin, err := rec.Pin, a.err
	if err == nil {
		b, pin, err = b.follow(rec.URL, rec.Pin, a.cert, now)
	}
	var stray *strayError
	switch {
	case err == nil:
	case errors.Is(err, errDisputed): // judgement says so
	case errors.As(err, &stray):
		b.Trouble = keyTrouble{KeysOtherHost, "The feed's certificate is not at " + a.place + ": " + err.Error() + ". What was known before stays in force."}
	default:
		b.Trouble = troubleOf(a.place, pin, err)
	}
	return b, pin
}
