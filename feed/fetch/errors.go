package fetch

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"code.dny.dev/ssrf"
)

// Reason says in which way a fetch failed.
type Reason uint8

// The ways to fail.
const (
	BadURL    Reason = iota + 1 // no http or https URL
	Refused                     // not fetched: a private address, or a port of another protocol
	DNS                         // the name does not resolve
	Connect                     // nobody answers at the address
	TLS                         // the server does not prove who it is
	Timeout                     // too slow, or silent
	Canceled                    // the caller gave up
	Redirects                   // too many, or one that leads nowhere
	Status                      // any answer that is not the document: 404, 410, 429, 5xx, …
	TooLarge                    // the body, on the wire or decoded
	Encoding                    // the body is not compressed as it says
	Truncated                   // the body ends too early
	Protocol                    // what came cannot be understood
	Content                     // what came is no feed
	Paused                      // not asked: the host wants to be left alone, or others are before
)

// String returns the reason in one or two words.
func (r Reason) String() string {
	if r == 0 || r > Paused {
		return "unknown reason"
	}
	return [...]string{"bad URL", "refused", "DNS", "connect", "TLS", "timeout", "canceled", "redirects", "status",
		"too large", "encoding", "truncated", "protocol", "content", "paused"}[r-1]
}

// Error is why there is no document.
type Error struct {
	Reason     Reason
	URL        string        // where it failed, after redirects, without a password
	Status     int           // for Status
	RetryAfter time.Duration // how long the origin wants to be left alone; 0: not said
	Err        error         // what lies under it, or nil
}

// Error returns a sentence for the owner of the feed list.
func (e *Error) Error() string { return e.URL + ": " + e.sentence() }

func (e *Error) Unwrap() error { return e.Err }

func (e *Error) sentence() string {
	switch e.Reason {
	case BadURL:
		return fmt.Sprintf("cannot be fetched: %v", e.Err)
	case Refused:
		return fmt.Sprintf("not fetched: %v", e.Err)
	case DNS:
		return fmt.Sprintf("the host's name does not resolve: %v", e.Err)
	case Connect:
		return fmt.Sprintf("the server cannot be reached: %v", e.Err)
	case TLS:
		return fmt.Sprintf("the server does not prove that it is the one asked for: %v", e.Err)
	case Timeout:
		return "the server was too slow to answer"
	case Canceled:
		return "given up before the server answered"
	case Redirects:
		return fmt.Sprintf("redirects that do not end at a document: %v", e.Err)
	case Status:
		return statusSentence(e.Status)
	case TooLarge:
		return fmt.Sprintf("the document is too large: %v", e.Err)
	case Encoding:
		return fmt.Sprintf("the document is not encoded as the server says: %v", e.Err)
	case Truncated:
		return "the server ended the document before its end"
	case Content:
		return e.Err.Error()
	case Paused:
		return fmt.Sprintf("not asked now: its host wants to be left alone, or others are before; again in %v", e.RetryAfter.Round(time.Second))
	default:
		return fmt.Sprintf("the server's answer cannot be understood: %v", e.Err)
	}
}

func statusSentence(status int) string {
	switch status {
	case 401, 403:
		return fmt.Sprintf("the server wants a login, or refuses this client (%d)", status)
	case 404:
		return "there is nothing at this address (404)"
	case 410:
		return "the document is gone for good (410)"
	case 429:
		return "the server wants to be asked less often (429)"
	}
	if status >= 500 {
		return fmt.Sprintf("the server has a problem of its own (%d)", status)
	}
	return fmt.Sprintf("the server answered with status %d and no document", status)
}

var (
	errDowngrade = errors.New("from https to plain http")
	errScheme    = errors.New("the address must begin with http:// or https:// and a host")
	errTooMany   = fmt.Errorf("more than %d; sites that insist on cookies do this", maxRedirects)
)

func refusal(reason Reason, err error) error { return &Error{Reason: reason, Err: err} }

func privateError(why string) error {
	return fmt.Errorf("%s; the host can be allowed in the configuration", why)
}

// Word is the reason for programs: that of Reason, with the status.
func (e *Error) Word() string {
	if e.Reason == Status {
		return fmt.Sprintf("status %d", e.Status)
	}
	return e.Reason.String()
}

// explain gives an error its reason and its place. The caller's own context
// tells giving up from being too slow.
func (f *flight) explain(caller context.Context, err error) *Error {
	failed := new(Error)
	if !errors.As(err, &failed) {
		failed = &Error{Reason: f.reason(err), Err: err}
	}
	if caller.Err() != nil {
		failed = &Error{Reason: Canceled, Err: context.Cause(caller)}
	}
	failed.URL = f.request.URL
	if f.at != nil {
		failed.URL = f.at.Redacted()
	}
	return failed
}

func (f *flight) reason(err error) Reason {
	var dns *net.DNSError
	var dial *net.OpError
	var timeout interface{ Timeout() bool }
	switch {
	case errors.Is(err, ssrf.ErrProhibitedIP), errors.Is(err, ssrf.ErrProhibitedNetwork), errors.Is(err, errPort):
		return Refused
	case f.ctx.Err() != nil:
		return Timeout
	case errors.As(err, &dns):
		return DNS
	case errors.As(err, &timeout) && timeout.Timeout():
		return Timeout
	case f.untrusted.Load(), isTLS(err):
		return TLS
	case errors.As(err, &dial) && dial.Op == "dial":
		return Connect
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.As(err, &dial):
		return Truncated
	}
	return Protocol
}

func isTLS(err error) bool {
	var verify *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	var unknown x509.UnknownAuthorityError
	return errors.As(err, &verify) || errors.As(err, &record) || errors.As(err, &unknown)
}
