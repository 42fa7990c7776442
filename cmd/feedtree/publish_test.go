package main

import (
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/feedtree/feedtree"
	"github.com/feedtree/feedtree/overlay/kad"
)

// However short the time, there is some left to push after others were looked
// for, and an end of it is told by the exit code.
func TestLittleTimeIsEnoughToPush(t *testing.T) {
	other, err := feedtree.New(t.Context(), feedtree.Config{Overlay: kad.Config{
		Network: "little-time", Listen: []string{"/ip4/127.0.0.1/udp/0/quic-v1"}, NoMDNS: true, NoRendezvous: true, NoNAT: true,
	}}) // it keeps nothing, so it never says that it holds anything
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	dir := t.TempDir()
	key, doc, nothing := filepath.Join(dir, "feed.key"), filepath.Join(dir, "feed.xml"), ""
	if err := (keygenCmd{Out: key}).Run(terminal{Out: io.Discard, Err: io.Discard}); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(doc, []byte(`<rss version="2.0"><channel><title>T</title><item><guid>1</guid></item></channel></rss>`), 0o600); err != nil {
		t.Fatal(err)
	}
	c := publishCmd{URL: "https://example.org/feed.xml", File: doc, Key: key, Data: &nothing, Timeout: 1200 * time.Millisecond}
	c.Network, c.P2PListen, c.Bootstrap = "little-time", []string{"/ip4/127.0.0.1/udp/0/quic-v1"}, other.Addrs()
	c.NoMDNS, c.NoRendezvous, c.NoNAT = true, true, true
	err = c.Run(t.Context(), terminal{Out: io.Discard, Err: io.Discard}, slog.New(slog.DiscardHandler))
	var code coded
	if !errors.As(err, &code) || code.code != exitNotHeld {
		t.Fatalf("%v; want exit code %d", err, exitNotHeld)
	}
}
