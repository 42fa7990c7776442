package proxy

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"
)

// serving runs a proxy on a free port of the loopback interface.
func serving(t testing.TB, n *fakeNode) (addr string, stop func() error) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- newProxy(n, Config{}, time.Now).Serve(ctx, l) }()
	stop = func() error { cancel(); return <-ended }
	t.Cleanup(cancel)
	return l.Addr().String(), stop
}

// Over a real connection the URL in the path arrives as it was sent.
func TestServe(t *testing.T) {
	n := newFakeNode()
	n.add(t, "https://example.org/a//b?x=//y", rss("1"))
	addr, stop := serving(t, n)
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	fmt.Fprintf(c, "GET /feed/https://example.org/a//b?x=//y HTTP/1.1\r\nHost: %s\r\n\r\n", addr)
	r, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(r.Body)
	if err != nil || r.StatusCode != 200 || !strings.Contains(string(body), "Item 1") {
		t.Fatalf("%d %s %v", r.StatusCode, body, err)
	}
	if err := stop(); err != nil {
		t.Errorf("stopping: %v", err)
	}
}

// A request that hangs does not hold up the end for long.
func TestServeEndsSoon(t *testing.T) {
	n := newFakeNode()
	n.gate = make(chan struct{})
	n.add(t, example, rss("1"))
	addr, stop := serving(t, n)
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	fmt.Fprintf(c, "GET /feed/%s HTTP/1.1\r\nHost: %s\r\n\r\n", example, addr)
	for n.subscriptions(example) == 0 {
		select {
		case <-t.Context().Done():
		case <-time.After(time.Millisecond):
		}
	}
	begun := time.Now()
	if err := stop(); err != nil {
		t.Errorf("stopping: %v", err)
	}
	if took := time.Since(begun); took > 2*time.Second {
		t.Errorf("stopping took %v", took)
	}
	_ = c.SetReadDeadline(time.Now().Add(5 * time.Second))
	if _, err := c.Read(make([]byte, 1)); !errors.Is(err, io.EOF) && !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("the connection is still open: %v", err)
	}
	close(n.gate)
}

func benchmark(b *testing.B, want int, headers func(*http.Response) []string) {
	n := newFakeNode()
	var guids []string
	for i := range 30 {
		guids = append(guids, fmt.Sprintf("https://example.org/item/%d?with=a+guid+of+usual+length", i))
	}
	n.add(b, example, rss(guids...))
	addr, _ := serving(b, n)
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
	defer client.CloseIdleConnections()
	url := "http://" + addr + "/feed/" + example
	first, err := client.Get(url)
	if err != nil {
		b.Fatal(err)
	}
	drain(first)
	extra := headers(first)
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			r, _ := http.NewRequestWithContext(b.Context(), http.MethodGet, url, nil)
			for i := 0; i < len(extra); i += 2 {
				r.Header.Set(extra[i], extra[i+1])
			}
			got, err := client.Do(r)
			if err != nil || got.StatusCode != want {
				b.Errorf("%v, %v", got, err)
				return
			}
			drain(got)
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "req/s")
}

func drain(r *http.Response) {
	_, _ = io.Copy(io.Discard, r.Body)
	_ = r.Body.Close()
}

func BenchmarkServe200(b *testing.B) {
	benchmark(b, 200, func(*http.Response) []string { return nil })
}

func BenchmarkServe304(b *testing.B) {
	benchmark(b, 304, func(r *http.Response) []string { return []string{"If-None-Match", r.Header.Get("ETag")} })
}
