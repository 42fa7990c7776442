package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/feedtree/feedtree"
	"github.com/feedtree/feedtree/overlay/kad"
)

// Programs write files in different ways; each of them is noticed, and what
// happens to other files is not.
func TestChangesOf(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "feed.xml")
	put := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put("feed.xml", "1")
	changes, end, err := changesOf(path, time.Hour, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		do   func()
	}{
		{"written in place", func() { put("feed.xml", "2") }},
		{"replaced", func() {
			put("new", "3")
			if err := os.Rename(filepath.Join(dir, "new"), path); err != nil {
				t.Fatal(err)
			}
		}},
		{"made anew", func() {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
			put("feed.xml", "4")
		}},
	} {
		c.do()
		select {
		case <-changes:
		case <-time.After(5 * time.Second):
			t.Fatalf("not noticed: %s", c.name)
		}
		// A write is several events: the rest of them belongs to it.
		for within(changes, 50*time.Millisecond) {
		}
	}
	put("other", "5")
	if within(changes, 50*time.Millisecond) {
		t.Error("another file's change was taken for the feed's")
	}
	if err := end(); err != nil {
		t.Fatal(err)
	}
	if _, open := <-changes; open {
		t.Error("the watch does not end")
	}
}

// within reports whether something came within a time.
func within(c <-chan struct{}, d time.Duration) bool {
	select {
	case <-c:
		return true
	case <-time.After(d):
		return false
	}
}

// What no event tells of is seen all the same: a directory that is made anew, as
// generators that clean up do, and a link that leads elsewhere now, as those do
// that put a whole site in place at once.
func TestChangesWithoutEvents(t *testing.T) {
	base := t.TempDir()
	site := filepath.Join(base, "site")
	path := filepath.Join(site, "feed.xml")
	build := func(dir, text string) {
		t.Helper()
		if err := errors.Join(os.MkdirAll(dir, 0o700), os.WriteFile(filepath.Join(dir, "feed.xml"), []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	build(site, "1")
	changes, end, err := changesOf(path, 20*time.Millisecond, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := end(); err != nil {
			t.Error(err)
		}
	}()
	for _, c := range []struct {
		name string
		do   func() error
	}{
		{"made anew", func() error {
			build(filepath.Join(base, "next"), "22")
			return errors.Join(os.RemoveAll(site), os.Rename(filepath.Join(base, "next"), site))
		}},
		{"written in the new directory", func() error { return os.WriteFile(path, []byte("333"), 0o600) }},
		{"a link instead", func() error {
			build(filepath.Join(base, "a"), "4444")
			build(filepath.Join(base, "b"), "55555")
			return errors.Join(os.RemoveAll(site), os.Symlink("a", site))
		}},
		{"the link leads elsewhere", func() error {
			return errors.Join(os.Symlink("b", filepath.Join(base, "link")), os.Rename(filepath.Join(base, "link"), site))
		}},
	} {
		if err := c.do(); err != nil {
			t.Fatal(err)
		}
		if !within(changes, time.Minute) {
			t.Fatalf("not noticed: %s", c.name)
		}
		for within(changes, 100*time.Millisecond) {
		}
	}
}

const (
	wholeRSS = `<?xml version="1.0"?><rss version="2.0"><channel><title>T</title><link>https://example.org/</link>` +
		`<description>d</description><item><guid>1</guid><title>One</title></item><item><guid>2</guid><title>Two</title></item></channel></rss>`
	wholeAtom = `<feed xmlns="http://www.w3.org/2005/Atom"><title>A</title><id>urn:a</id><updated>2026-01-01T00:00:00Z</updated>` +
		`<entry><title>E</title><id>urn:a:1</id><updated>2026-01-01T00:00:00Z</updated></entry></feed>`
	wholeJSON = `{"version":"https://jsonfeed.org/version/1.1","title":"J","items":[{"id":"j1","url":"https://example.org/j"}]}`
)

// Readers repair what is cut off; to publish it would sign what nobody wrote.
func TestNoPartOfADocumentIsPublished(t *testing.T) {
	for _, doc := range []string{wholeRSS, wholeAtom, wholeJSON} {
		for end := range len(doc) {
			c := publishCmd{File: "-"}
			if _, err := c.read(strings.NewReader(doc[:end])); err == nil {
				t.Fatalf("published: %s", doc[:end])
			}
		}
		c := publishCmd{File: "-"}
		if _, err := c.read(strings.NewReader(doc + "\n<!-- made in 0.2s -->\n")); err != nil && doc != wholeJSON {
			t.Error(err)
		}
	}
}

// notes is a log that is read while it is written.
type notes struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (n *notes) Write(p []byte) (int, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.b.Write(p)
}

func (n *notes) has(t *testing.T, text string) {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		n.mu.Lock()
		log := n.b.String()
		n.mu.Unlock()
		if strings.Contains(log, text) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%q does not come in\n%s", text, log)
		}
		<-tick.C
	}
}

// A file that is written slowly is pushed when it is whole, once.
func TestAHalfWrittenFileWaits(t *testing.T) {
	quietly := kad.Config{Network: "half-written", Listen: []string{"/ip4/127.0.0.1/udp/0/quic-v1"}, NoMDNS: true, NoRendezvous: true, NoNAT: true}
	other, err := feedtree.New(t.Context(), feedtree.Config{Overlay: quietly})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	dir := t.TempDir()
	key, doc, nothing := filepath.Join(dir, "feed.key"), filepath.Join(dir, "feed.xml"), ""
	if err := (keygenCmd{Out: key}).Run(terminal{Out: io.Discard, Err: io.Discard}); err != nil {
		t.Fatal(err)
	}
	put := func(text string) {
		t.Helper()
		if err := os.WriteFile(doc, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put(strings.Replace(wholeRSS, "<item>", "<x/><!--", 1) + "--></channel></rss>") // no items yet
	c := publishCmd{URL: "https://example.org/feed.xml", File: doc, Key: key, Data: &nothing, Timeout: time.Second, TTL: time.Minute, Watch: true}
	c.Network, c.P2PListen, c.Bootstrap = quietly.Network, quietly.Listen, other.Addrs()
	c.NoMDNS, c.NoRendezvous, c.NoNAT = true, true, true
	ctx, stop := context.WithCancel(t.Context())
	log, ended := &notes{}, make(chan error, 1)
	go func() {
		ended <- c.Run(ctx, terminal{Out: io.Discard, Err: io.Discard}, slog.New(slog.NewTextHandler(log, nil)))
	}()
	log.has(t, "msg=watching")
	put(wholeRSS[:len(wholeRSS)-30])
	log.has(t, "cut off")
	if err := os.Remove(doc); err != nil {
		t.Fatal(err)
	}
	log.has(t, "the file is gone")
	put(wholeRSS)
	log.has(t, "items=2")
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if n := strings.Count(log.b.String(), "items=2"); n != 1 {
		t.Errorf("pushed %d times:\n%s", n, log.b.String())
	}
}
