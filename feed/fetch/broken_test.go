package fetch_test

import (
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

	"github.com/feedtree/feedtree/feed/fetch"
)

// Servers that answer what no server should, byte by byte.
func TestBrokenAnswers(t *testing.T) {
	for name, c := range map[string]struct {
		answer string
		want   fetch.Reason
	}{
		"nothing":                  {"", fetch.Truncated},
		"half a header":            {"HTTP/1.1 200 OK\r\nContent-Le", fetch.Protocol},
		"shorter than it says":     {"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n" + doc, fetch.Truncated},
		"a chunk without its end":  {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n40\r\n<rss>", fetch.Truncated},
		"another protocol":         {"SSH-2.0-OpenSSH_9.9\r\n", fetch.Protocol},
		"two lengths":              {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n<rss/>", fetch.Protocol},
		"a length that is no size": {"HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\n<rss/>", fetch.Protocol},
		"an endless header":        {"HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", 1<<20), fetch.Protocol},
	} {
		t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
			at := raw(t, func(conn net.Conn) { io.WriteString(conn, c.answer) })
			fails(t, client(t, fetch.Config{Resolve: []string{"news.example:80:" + at}}), fetch.Request{URL: feedURL}, c.want)
		})
	}
	// Longer than it says: the rest is not part of the answer.
	at := raw(t, func(conn net.Conn) {
		io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n<rss/>and more")
	})
	if r := get(t, client(t, fetch.Config{Resolve: []string{"news.example:80:" + at}}), fetch.Request{URL: feedURL}); string(r.Body) != "<rss/>" {
		t.Errorf("body %q", r.Body)
	}
}

// raw serves one answer to each connection, after its request, and hangs up.
func raw(t *testing.T, answer func(net.Conn)) (address string) {
	t.Helper()
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
				conn.Read(make([]byte, 4096))
				answer(conn)
			}()
		}
	}()
	return l.Addr().String()
}

func TestSlow(t *testing.T) {
	release := make(chan struct{})
	gzipped := compress(t, "gzip", []byte(doc))
	c := origin(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/body":
			fmt.Fprint(w, doc)
			w.(http.Flusher).Flush()
		case "/gzip":
			w.Header().Set("Content-Encoding", "gzip")
			w.Write(gzipped[:len(gzipped)/2])
			w.(http.Flusher).Flush()
		}
		select {
		case <-release:
		case <-r.Context().Done():
		}
	}, func(c *fetch.Config) { c.Timeout = 50 * time.Millisecond })
	defer close(release)
	for _, path := range []string{"header", "body", "gzip"} {
		start := time.Now()
		fails(t, c, fetch.Request{URL: "http://news.example/" + path}, fetch.Timeout)
		if took := time.Since(start); took > 20*time.Second {
			t.Errorf("%s: gave up after %v", path, took)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := c.Get(ctx, fetch.Request{URL: feedURL})
	var failed *fetch.Error
	if !errors.As(err, &failed) || failed.Reason != fetch.Canceled || !errors.Is(err, context.Canceled) {
		t.Errorf("after the caller gave up: %v", err)
	}
}

func TestUnreachable(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	fails(t, client(t, fetch.Config{Resolve: []string{"news.example:80:" + l.Addr().String()}}), fetch.Request{URL: feedURL}, fetch.Connect)
	c := client(t, fetch.Config{})
	for _, bad := range []string{"", "news.example/feed", "ftp://news.example/", "http:///feed", "http://[::1", "http://news.example:99999/", "file:///etc/passwd"} {
		_, err := c.Get(t.Context(), fetch.Request{URL: bad})
		var failed *fetch.Error
		if !errors.As(err, &failed) || failed.Reason != fetch.BadURL && failed.Reason != fetch.Refused {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestTLS(t *testing.T) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, r.Proto)
	}))
	server.EnableHTTP2 = true
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	defer server.Close()
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	hangsUp := raw(t, func(net.Conn) {})
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	config := fetch.Config{RootCAs: roots, Resolve: []string{
		"example.com:443:" + server.Listener.Addr().String(), "news.example:443:" + server.Listener.Addr().String(),
		"plain.example:443:" + plain.Listener.Addr().String(), "rude.example:443:" + hangsUp,
	}}
	c := client(t, config)
	if r := get(t, c, fetch.Request{URL: "https://example.com/feed"}); string(r.Body) != "HTTP/2.0" {
		t.Errorf("protocol %s", r.Body)
	}
	fails(t, c, fetch.Request{URL: "https://news.example/feed"}, fetch.TLS)  // a certificate for another name
	fails(t, c, fetch.Request{URL: "https://plain.example/feed"}, fetch.TLS) // no TLS at all
	fails(t, c, fetch.Request{URL: "https://rude.example/feed"}, fetch.TLS)
	config.RootCAs = x509.NewCertPool()
	failed := fails(t, client(t, config), fetch.Request{URL: "https://example.com/feed"}, fetch.TLS)
	var unknown x509.UnknownAuthorityError
	if !errors.As(failed, &unknown) {
		t.Errorf("the cause is lost: %v", failed)
	}
}
