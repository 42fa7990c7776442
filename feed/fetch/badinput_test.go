package fetch

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/feedtree/feedtree/feed"
	"github.com/feedtree/feedtree/feed/fetch/polite"
)

const rssDoc = `<?xml version="1.0" encoding="UTF-8"?><rss version="2.0"><channel><title>Näh</title><item><guid>1</guid></item></channel></rss>`

// parsed accepts what package feed reads.
func parsed(r *Result) (time.Duration, error) {
	_, err := feed.Parse(r.Body, r.ContentType)
	return 0, err
}

// servers answers on loopback byte for byte, each to its own name.
func servers(t *testing.T, answers map[string]func(net.Conn)) (resolve []string) {
	t.Helper()
	for name, answer := range answers {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		go func() {
			for {
				conn, err := l.Accept()
				if err != nil {
					return
				}
				go func() {
					defer conn.Close()
					conn.Read(make([]byte, 8192))
					answer(conn)
				}()
			}
		}()
		resolve = append(resolve, name+":80:"+l.Addr().String())
	}
	return resolve
}

func says(answer string) func(net.Conn) { return func(c net.Conn) { io.WriteString(c, answer) } }

func with(status, headers, body string) func(net.Conn) {
	return says(fmt.Sprintf("HTTP/1.1 %s\r\nConnection: close\r\nContent-Length: %d\r\n%s\r\n%s", status, len(body), headers, body))
}

// stalls sends what it has and then nothing, until the client gives up.
func stalls(answer string) func(net.Conn) {
	return func(c net.Conn) {
		io.WriteString(c, answer)
		io.Copy(io.Discard, c)
	}
}

// halfCloses ends its side and goes on listening.
func halfCloses(answer string) func(net.Conn) {
	return func(c net.Conn) {
		io.WriteString(c, answer)
		if tcp, ok := c.(*net.TCPConn); ok {
			tcp.CloseWrite()
		}
		io.Copy(io.Discard, c)
	}
}

// Whatever a server sends: a feed, or a typed reason and a wait, and what was
// remembered is remembered still. The state of one feed is all that changes.
func TestWhateverAServerSends(t *testing.T) {
	packed := func(body string) string {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		io.WriteString(z, body)
		z.Close()
		return b.String()
	}
	const ok, hour = "200 OK", time.Hour
	latin := strings.Replace(strings.Replace(rssDoc, "UTF-8", "ISO-8859-1", 1), "ä", "\xe4", 1)
	deep := `<rss version="2.0"><channel>` + strings.Repeat("<a>", 5000)
	bomb := packed(strings.Repeat(" ", 12<<20))
	for name, c := range map[string]struct {
		answer func(net.Conn)
		want   string // the typed reason, "" for a feed
		wait   time.Duration
	}{
		"a feed":                           {with(ok, "", rssDoc), "", 24 * hour},
		"a feed said to be a picture":      {with(ok, "Content-Type: image/png\r\n", rssDoc), "", 24 * hour},
		"a feed said to be a web page":     {with(ok, "Content-Type: text/html\r\n", rssDoc), "", 24 * hour},
		"a feed of no type":                {with(ok, "Content-Type: \r\n", rssDoc), "", 24 * hour},
		"a feed of a type that is no type": {with(ok, "Content-Type: ;;;=\"\r\n", rssDoc), "", 24 * hour},
		"a lying charset":                  {with(ok, "Content-Type: text/xml; charset=utf-16\r\n", rssDoc), "", 24 * hour},
		"a charset nobody knows":           {with(ok, "Content-Type: text/xml; charset=klingon\r\n", rssDoc), "", 24 * hour},
		"another charset":                  {with(ok, "Content-Type: text/xml\r\n", latin), "", 24 * hour},
		"compressed, and not said":         {with(ok, "", packed(rssDoc)), "content", 24 * hour},
		"not compressed, though said":      {with(ok, "Content-Encoding: gzip\r\n", rssDoc), "", 24 * hour},
		"a cookie beside it":               {with(ok, "Set-Cookie: a=b\r\n", rssDoc), "", 24 * hour},
		"a half-closed connection":         {halfCloses("HTTP/1.0 200 OK\r\n\r\n" + rssDoc), "", 24 * hour},
		"more than it says":                {says("HTTP/1.1 200 OK\r\nContent-Length: " + fmt.Sprint(len(rssDoc)) + "\r\n\r\n" + rssDoc + "<more/>"), "", 24 * hour},
		"an early hint":                    {says("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: " + fmt.Sprint(len(rssDoc)) + "\r\n\r\n" + rssDoc), "", 24 * hour},
		"a web page":                       {with(ok, "Content-Type: text/html\r\n", "<html><body>Log in</body></html>"), "content", 24 * hour},
		"nothing, with success":            {with(ok, "", ""), "content", 24 * hour},
		"JSON that is no feed":             {with(ok, "Content-Type: application/json\r\n", `{"error":"no"}`), "content", 24 * hour},
		"5000 levels":                      {with(ok, "", deep), "content", 24 * hour},
		"a bomb":                           {with(ok, "Content-Encoding: gzip\r\n", bomb), "too large", 24 * hour},
		"a huge length":                    {says("HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n"), "too large", 24 * hour},
		"a coding nobody asked for":        {with(ok, "Content-Encoding: br\r\n", "xxxx"), "encoding", 24 * hour},
		"a damaged coding":                 {with(ok, "Content-Encoding: gzip\r\n", packed(rssDoc)[:30]+strings.Repeat("x", 40)), "encoding", 24 * hour},
		"less than it says":                {halfCloses("HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n" + rssDoc), "truncated", 24 * hour},
		"a chunk that never ends":          {stalls("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n40\r\n<rss>"), "timeout", 24 * hour},
		"a body that stalls":               {stalls("HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n<rss>"), "timeout", 24 * hour},
		"a header that stalls":             {stalls("HTTP/1.1 200 OK\r\nContent-"), "timeout", 24 * hour},
		"silence":                          {stalls(""), "timeout", 24 * hour},
		"a closed connection":              {says(""), "truncated", 24 * hour},
		"no HTTP":                          {says("220 mail.example ESMTP\r\n"), "protocol", 24 * hour},
		"a status of four digits":          {says("HTTP/1.1 2000 OK\r\n\r\n"), "protocol", 24 * hour},
		"two lengths":                      {says("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab"), "protocol", 24 * hour},
		"201":                              {with("201 Created", "", rssDoc), "status 201", hour},
		"204":                              {with("204 No Content", "", ""), "status 204", hour},
		"206 that was not asked for":       {with("206 Partial Content", "", rssDoc[:20]), "status 206", hour},
		"226 that was not asked for":       {with("226 IM Used", "IM: feed\r\n", rssDoc), "status 226", hour},
		"300":                              {with("300 Multiple Choices", "", ""), "status 300", hour},
		"304 to an unconditional request":  {with("304 Not Modified", "", ""), "status 304", hour},
		"a redirect to nowhere":            {with("302 Found", "", ""), "redirects", 24 * hour},
		"cookies demanded":                 {with("302 Found", "Location: /feed.xml\r\nSet-Cookie: seen=1\r\n", ""), "redirects", 24 * hour},
		"a redirect into the private net":  {with("301 Moved", "Location: http://127.0.0.1/\r\n", ""), "refused", 24 * hour},
		"a redirect to a file":             {with("301 Moved", "Location: file:///etc/passwd\r\n", ""), "bad URL", 24 * hour},
		"401":                              {with("401 Unauthorized", "WWW-Authenticate: Basic\r\n", ""), "status 401", hour},
		"403":                              {with("403 Forbidden", "", "cookies!"), "status 403", hour},
		"404":                              {with("404 Not Found", "", ""), "status 404", hour},
		"410":                              {with("410 Gone", "", ""), "status 410", polite.Never},
		"418":                              {with("418 I'm a teapot", "", ""), "status 418", hour},
		"429":                              {with("429 Too Many Requests", "Retry-After: 9000\r\n", ""), "status 429", 9000 * time.Second},
		"429 until nonsense":               {with("429 Too Many Requests", "Retry-After: tomorrow\r\n", ""), "status 429", hour},
		"500":                              {with("500 Oops", "", ""), "status 500", hour},
		"503":                              {with("503 Later", "Retry-After: 7200\r\n", ""), "status 503", 2 * hour},
		"599":                              {with("599 Oops", "", ""), "status 599", hour},
		"999":                              {with("999 Denied", "", ""), "status 999", hour},
	} {
		t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
			t.Parallel()
			client := newClient(t, Config{
				Resolve: servers(t, map[string]func(net.Conn){"bad.example": c.answer, "good.example": with(ok, "", rssDoc)}), Timeout: 2 * time.Second,
			})
			out, err := client.Poll(t.Context(), Feed{URL: "http://bad.example/feed.xml", State: polite.State{Seed: 1}}, parsed)
			reasoned(t, out, err, c.want, c.wait)
			if out, err := client.Poll(t.Context(), Feed{URL: "http://good.example/feed.xml"}, parsed); err != nil {
				t.Errorf("another feed is disturbed: %+v, %v", out, err)
			}
		})
	}
}

// reasoned checks that a poll came to a feed, or failed for a typed reason that the
// state keeps, and that the next one is so far away.
func reasoned(t *testing.T, out Outcome, err error, want string, wait time.Duration) {
	t.Helper()
	var failed *Error
	switch {
	case want == "" && err != nil:
		t.Fatal(err)
	case want != "" && !errors.As(err, &failed):
		t.Fatalf("got %+v, %v, want a typed error", out.Result, err)
	case want != "" && (failed.Word() != want || out.State.Trouble.Reason != want || out.State.Trouble.Fails != 1 || !strings.Contains(err.Error(), failed.URL)):
		t.Errorf("%q, kept %+v: %v; want %q", failed.Word(), out.State.Trouble, err, want)
	}
	if got := out.State.NotBefore.Sub(out.State.Asked); got < wait || got > wait+wait/20+time.Second {
		t.Errorf("asked again after %v, want %v", got, wait)
	}
}

// Who cannot prove its name, and who has none, is told apart from who sends nonsense.
func TestNamesThatFail(t *testing.T) {
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	defer server.Close()
	at := server.Listener.Addr().String()
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	c := newClient(t, Config{RootCAs: roots, Resolve: []string{
		"other.example:443:" + at, "closed.example:80:" + closed.Addr().String(),
	}})
	answerWith(c, "private.example", "10.0.0.1")
	for url, want := range map[string]struct {
		reason string
		wait   time.Duration
	}{
		"https://other.example/":   {"TLS", 24 * time.Hour},
		"http://closed.example/":   {"connect", 5 * time.Minute},
		"http://nowhere.example/":  {"DNS", 5 * time.Minute},
		"http://private.example/":  {"refused", 24 * time.Hour},
		"http://169.254.169.254/":  {"refused", 24 * time.Hour},
		"gopher://nowhere.example": {"bad URL", 24 * time.Hour},
	} {
		out, err := c.Poll(t.Context(), Feed{URL: url}, nil)
		reasoned(t, out, err, want.reason, want.wait)
	}
}

// A clock that jumps by a day between two polls neither stops polling for a day nor
// makes it hurry.
func TestClockJumpsBetweenPolls(t *testing.T) {
	for _, jump := range []time.Duration{-24 * time.Hour, 24 * time.Hour} {
		a := asking(t, plain)
		a.must(nil)
		a.w.now = a.w.now.Add(jump)
		a.state = a.state.Settled(a.w.now)
		if left := a.state.NotBefore.Sub(a.w.now); left > time.Hour+3*time.Minute {
			t.Errorf("after a jump of %v it waits %v", jump, left)
		}
		before := a.w.now
		out := a.must(nil)
		if wait := out.State.NotBefore.Sub(a.w.now); wait < time.Hour || wait > time.Hour+3*time.Minute {
			t.Errorf("after a jump of %v the poll after the next comes %v later", jump, wait)
		}
		if jump < 0 && a.w.now.Sub(before) < time.Hour {
			t.Errorf("a clock set back makes it ask after %v", a.w.now.Sub(before))
		}
	}
}

// A caller that goes away has asked for nothing, as far as anybody remembers.
func TestAbandonedPoll(t *testing.T) {
	a := asking(t, plain)
	ctx, cancel := context.WithCancel(t.Context())
	a.w.before = func(*http.Request) { cancel() }
	state := polite.State{Seed: 3, Trouble: polite.Trouble{Fails: 2}}
	a.w.sites["news.example"].temper = func(*world, *site, *http.Request, http.Header) (int, string) { return 0, "" }
	out, err := a.Poll(ctx, Feed{URL: newsURL, State: state}, nil)
	var failed *Error
	if !errors.As(err, &failed) || failed.Reason != Canceled || out.State != state || out.Answer.Kind != polite.Abandoned {
		t.Errorf("%+v, %v", out, err)
	}
}
