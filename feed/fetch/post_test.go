package fetch_test

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/feedtree/feedtree/feed/fetch"
)

// hubAt is a client and the address of a server under a public-looking name.
func hubAt(t *testing.T, h http.HandlerFunc) (*fetch.Client, string) {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	_, port, err := net.SplitHostPort(s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	c, err := fetch.New(fetch.Config{Resolve: []string{"hub.example.org:" + port + ":127.0.0.1"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c, "http://hub.example.org:" + port
}

func TestPost(t *testing.T) {
	c, at := hubAt(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		switch r.URL.Path {
		case "/moved": // WebSub §5.1: the request is made again at the new place
			http.Redirect(w, r, "/hub", http.StatusPermanentRedirect)
		case "/elsewhere":
			http.Redirect(w, r, "http://127.0.0.1:1/hub", http.StatusTemporaryRedirect)
		case "/other":
			http.Redirect(w, r, "/hub", http.StatusSeeOther)
		case "/busy":
			w.Header().Set("Retry-After", "120")
			w.WriteHeader(http.StatusServiceUnavailable)
		default:
			w.WriteHeader(http.StatusAccepted)
			_, _ = io.WriteString(w, r.Method+" "+r.Header.Get("Content-Type")+" "+string(body)+strings.Repeat(".", 100_000))
		}
	})
	form := url.Values{"hub.mode": {"subscribe"}}
	for _, path := range []string{"/hub", "/moved"} {
		got, err := c.Post(t.Context(), at+path, form)
		if err != nil {
			t.Fatal(err)
		}
		if want := "POST application/x-www-form-urlencoded hub.mode=subscribe"; got.Status != 202 || !strings.HasPrefix(got.Text, want) || len(got.Text) > 8<<10 {
			t.Errorf("%s: %d %.100q, %d bytes", path, got.Status, got.Text, len(got.Text))
		}
	}
	for path, want := range map[string]fetch.Reason{"/elsewhere": fetch.Refused, "/other": fetch.Status, "/busy": fetch.Status} {
		var failed *fetch.Error
		if _, err := c.Post(t.Context(), at+path, form); !errors.As(err, &failed) || failed.Reason != want {
			t.Errorf("%s: %v, want %v", path, err, want)
		}
		if path == "/busy" && failed.RetryAfter != 2*time.Minute {
			t.Errorf("%s: again in %v", path, failed.RetryAfter)
		}
	}
	for _, to := range []string{"http://127.0.0.1:1/", "http://hub.lan/", "ftp://hub.example.org/", "http://10.0.0.1/"} {
		var failed *fetch.Error
		if _, err := c.Post(t.Context(), to, form); !errors.As(err, &failed) || failed.Reason != fetch.Refused && failed.Reason != fetch.BadURL {
			t.Errorf("%s: %v, want it refused", to, err)
		}
	}
}
