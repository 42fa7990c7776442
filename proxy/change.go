package proxy

import (
	"crypto/subtle"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
)

// The reasons for which a change is refused. They are counted in the status.
const (
	whyForged  = "change: by another site's page"
	whyToken   = "change: without the token of this proxy's page"
	whyTooMuch = "change: too large"
	whyGarbled = "change: not understood"
)

const (
	tokenField  = "token"            // in a form
	tokenHeader = "X-FeedTree-Token" // or from a program
	formMemory  = 1 << 20            // of a form with files; the rest of it goes to disk
	formFields  = 64 << 10           // of a form without a file
	tooMuchRead = 256 << 20          // and thrown away, of a form that is too large
)

// change guards what changes anything: next runs only for a request of the own
// pages, or of a program that read the token. It is for routes of POST, after
// guard.refuse. When next runs, a form is parsed, FormFile included; a body that
// is no form is still to be read. Either has at most most bytes.
func (p *Proxy) change(most int64, next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		whole := r.Body
		r.Body = http.MaxBytesReader(w, whole, most)
		status, reason, text := http.StatusForbidden, "", ""
		var large *http.MaxBytesError
		switch err := formError(r); {
		case !sameOrigin(r):
			reason, text = whyForged, "Changes are made on the page of this proxy, not by other sites' pages."
		case errors.As(err, &large):
			status, reason = http.StatusRequestEntityTooLarge, whyTooMuch
			text = "That is too much: at most " + strconv.FormatInt(most>>10, 10) + " KiB" + " are taken here."
			_, _ = io.Copy(io.Discard, io.LimitReader(whole, tooMuchRead)) // or a browser would say that the connection broke
		case err != nil:
			status, reason, text = http.StatusBadRequest, whyGarbled, "This form cannot be read: "+clip(err.Error())
		case !p.guard.holds(r):
			reason, text = whyToken, "The form is from before this proxy was started, or from elsewhere.\n"+
				"Go back, load the page again, and try again. Programs send the token that "+p.base+"/api/v1/token tells, in the header "+tokenHeader+"."
		default:
			next(w, r)
			return
		}
		p.guard.refused.Count(reason)
		refuse(w, status, text)
	}
}

// formError reads the form in a request's body, if there is one.
func formError(r *http.Request) error {
	if !sameOrigin(r) {
		return nil // it is not worth reading
	}
	if err := r.ParseForm(); err != nil {
		return err
	}
	if err := r.ParseMultipartForm(formMemory); !errors.Is(err, http.ErrNotMultipart) {
		return err
	}
	return nil
}

// sameOrigin reports that no page but the proxy's own made a browser send a
// request; of programs that are no browsers it is true as well. Another port of
// this machine is another site.
func sameOrigin(r *http.Request) bool {
	if crossSite(r) {
		return false
	}
	sent := r.Header.Get("Origin")
	if sent == "" {
		return true
	}
	u, err := url.Parse(sent)
	return err == nil && u.Host == r.Host
}

// holds reports whether a request, whose form is parsed, has the token.
func (g *guard) holds(r *http.Request) bool {
	sent := r.Header.Get(tokenHeader)
	if sent == "" {
		sent = r.PostForm.Get(tokenField)
	}
	return subtle.ConstantTimeCompare([]byte(sent), []byte(g.token)) == 1
}

// token tells programs on this machine the token.
func (p *Proxy) token(w http.ResponseWriter, _ *http.Request) {
	answerJSON(w, map[string]string{"token": p.guard.token})
}
