package fetch

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// maxReply is how much of the answer to a Post is read.
const maxReply = 4 << 10

// Reply is the answer to a Post.
type Reply struct {
	Status     int
	Text       string        // the beginning of the body
	RetryAfter time.Duration // how long the server wants to be left alone; 0: not said
}

// Post sends a form, as WebSub hubs are asked, with the same caution as Get: to
// no private host, of limited size and time. Redirects are followed where the
// method stays POST (307, 308). An answer below 300 is no error; every error is
// an *Error.
func (c *Client) Post(ctx context.Context, to string, form url.Values) (*Reply, error) {
	bounded, cancel := context.WithTimeout(ctx, c.config.Timeout)
	defer cancel()
	f := &flight{client: c, ctx: bounded, request: Request{URL: to}}
	reply, err := f.post(form.Encode())
	if err != nil {
		return nil, f.explain(ctx, err)
	}
	return reply, nil
}

func (f *flight) post(body string) (*Reply, error) {
	at, err := url.Parse(f.request.URL)
	if err != nil {
		return nil, refusal(BadURL, err)
	}
	for range maxRedirects + 1 {
		f.at = at
		if err := f.admit(); err != nil {
			return nil, err
		}
		r, err := http.NewRequestWithContext(f.ctx, http.MethodPost, at.String(), strings.NewReader(body))
		if err != nil {
			return nil, refusal(BadURL, err)
		}
		r.Header.Set("User-Agent", f.client.config.UserAgent)
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		response, err := f.client.transport.RoundTrip(r)
		if err != nil {
			return nil, err
		}
		if s := response.StatusCode; s != http.StatusTemporaryRedirect && s != http.StatusPermanentRedirect {
			return f.reply(response)
		}
		next, err := response.Location()
		discard(response)
		if err != nil {
			return nil, refusal(Redirects, err)
		}
		if at.Scheme == "https" && next.Scheme != "https" {
			return nil, refusal(Redirects, errDowngrade) // the form may hold a secret
		}
		at = next
	}
	return nil, refusal(Redirects, errTooMany)
}

func (f *flight) reply(response *http.Response) (*Reply, error) {
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, maxReply))
	reply := &Reply{Status: response.StatusCode, Text: string(text), RetryAfter: retryAfter(response.Header, f.client.now())}
	if response.StatusCode >= 300 {
		return nil, &Error{Reason: Status, Status: response.StatusCode, RetryAfter: reply.RetryAfter}
	}
	return reply, err
}
