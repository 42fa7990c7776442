package proxy

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"errors"
	"hash"
	"io"
	"net/url"
	"strconv"
	"strings"
	"time"
)

const (
	leaseAsked   = 10 * 24 * time.Hour // what hubs are asked for, in which most agree
	leaseUnknown = 24 * time.Hour      // of a hub that does not say for how long
	leaseMost    = 30 * 24 * time.Hour
	askAgain     = 10 * time.Minute // at the earliest, whatever a hub says of its lease
	verifyWithin = time.Hour        // a hub has to ask whether the subscription was meant
	longestWait  = 24 * time.Hour   // for a hub that refuses
)

// lease is one subscription at one hub (WebSub §5), and how far it has come.
type lease struct {
	Feed, Topic, Hub string
	Token            string    // of the callback; nobody but the hub knows it
	Secret           string    // that the hub signs with; "" if it was not to be told in the clear
	Pending          bool      // asked for, and not yet verified or denied
	Asked            time.Time // when
	Until            time.Time // when it ends; zero: it was never verified
	Again            time.Time // when to ask for it, anew or again
	Fails            int       // in a row
	Strong           bool      // the hub has signed with more than SHA-1
}

// newLease makes a subscription that is to be asked for now. WebSub §8.1: a secret
// is told over HTTPS only.
func newLease(feed, topic, hub string) *lease {
	l := &lease{Feed: feed, Topic: topic, Hub: hub, Token: rand.Text()}
	if strings.HasPrefix(hub, "https:") {
		l.Secret = rand.Text() + rand.Text()
	}
	return l
}

// form asks for the subscription. hub.verify is for hubs of PubSubHubbub 0.3.
func (l *lease) form(callback string) url.Values {
	f := url.Values{
		"hub.mode": {"subscribe"}, "hub.topic": {l.Topic}, "hub.callback": {callback + l.Token},
		"hub.lease_seconds": {strconv.Itoa(int(leaseAsked / time.Second))}, "hub.verify": {"async"},
	}
	if l.Secret != "" {
		f.Set("hub.secret", l.Secret)
	}
	return f
}

// ask notes that it is asked for now, before that is done: some hubs verify
// before they answer.
func (l *lease) ask(now time.Time) {
	if l.Pending {
		l.Fails++ // the hub did not care to verify
	}
	l.Pending, l.Asked, l.Again = true, now, now.Add(max(verifyWithin, l.pause()))
}

// failed notes that the hub did not take the request, or denies it.
func (l *lease) failed(now time.Time, retry time.Duration) {
	l.Pending = false
	l.Fails++
	l.Again = now.Add(max(l.pause(), min(retry, longestWait)))
}

func (l *lease) pause() time.Duration {
	return min(verifyWithin<<min(max(l.Fails-1, 0), 10), longestWait)
}

// intended reports whether the hub's question is about what was asked for.
func (l *lease) intended(topic string, now time.Time) bool {
	return l.Pending && l.Topic == topic && now.Sub(l.Asked) < verifyWithin
}

// verified begins the lease, which is renewed when a quarter of it is left.
func (l *lease) verified(now time.Time, seconds string) {
	length := leaseUnknown
	if n, err := strconv.ParseInt(strings.TrimSpace(seconds), 10, 32); err == nil && n > 0 {
		length = min(time.Duration(n)*time.Second, leaseMost)
	}
	l.Pending, l.Fails, l.Until = false, 0, now.Add(length)
	l.Again = now.Add(max(length*3/4, askAgain))
}

// live reports whether the hub may send.
func (l *lease) live(now time.Time) bool { return now.Before(l.Until) }

// The ways in which what a hub sends is not to be taken.
var (
	errUnsigned  = errors.New("websub: not signed")
	errSignature = errors.New("websub: a wrong signature")
	errWeak      = errors.New("websub: signed with sha1 by a hub that can do better")
)

// digests are the methods of WebSub §8.
var digests = map[string]func() hash.Hash{"sha1": sha1.New, "sha256": sha256.New, "sha384": sha512.New384, "sha512": sha512.New}

const (
	weak           = "sha1"
	mostSignatures = 8
)

// signature is one METHOD=HEX of X-Hub-Signature.
type signature struct {
	method string
	sum    []byte
	mac    hash.Hash
}

// check reads what a hub sends and verifies it. It keeps nothing of it. SHA-1
// counts where the hub has never offered anything else.
func (l *lease) check(headers []string, body io.Reader) error {
	signatures := l.signatures(headers)
	var all []io.Writer
	for _, s := range signatures {
		all = append(all, s.mac)
	}
	if _, err := io.Copy(io.MultiWriter(all...), body); err != nil {
		return err
	}
	if l.Secret == "" {
		return nil
	}
	err := errUnsigned
	for _, s := range signatures {
		switch {
		case s.method == weak && (l.Strong || offersMore(signatures)):
			if err == errUnsigned {
				err = errWeak
			}
		case hmac.Equal(s.mac.Sum(nil), s.sum):
			l.Strong = l.Strong || s.method != weak
			return nil
		default:
			err = errSignature
		}
	}
	return err
}

func offersMore(all []signature) bool {
	for _, s := range all {
		if s.method != weak {
			return true
		}
	}
	return false
}

// signatures reads the headers. What cannot be read is left out.
func (l *lease) signatures(headers []string) []signature {
	var all []signature
	for one := range strings.SplitSeq(strings.Join(headers, ","), ",") {
		method, text, _ := strings.Cut(strings.TrimSpace(one), "=")
		method = strings.ToLower(method)
		digest := digests[method]
		sum, err := hex.DecodeString(text)
		if digest == nil || err != nil || len(all) == mostSignatures {
			continue
		}
		all = append(all, signature{method, sum, hmac.New(digest, []byte(l.Secret))})
	}
	return all
}
