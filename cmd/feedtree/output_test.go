package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/feedtree/feedtree"
	"github.com/feedtree/feedtree/feed"
	"github.com/feedtree/feedtree/feed/store"
)

// What follow prints is a promise to programs: one object a line, these names,
// RFC 3339 in UTC.
func TestFollowPrints(t *testing.T) {
	at := time.Date(2026, 11, 20, 13, 0, 0, 123456789, time.FixedZone("", 3600))
	u := feedtree.Update{
		Feed: "https://example.org/feed.xml", Trust: store.Signed, Seq: 7, Received: at,
		Item: feed.Item{GUID: " urn:<1>&\u2028", Title: "A\nB\x1b[2J", Link: "https://example.org/1?a=b&c", Published: at},
	}
	u.Ways = []feedtree.Way{{How: feedtree.FromLazy, From: "peer", At: at.UTC().Truncate(time.Second), Asked: 2}}
	var out bytes.Buffer
	if err := (followCmd{JSON: true}).print(&out, u); err != nil {
		t.Fatal(err)
	}
	want := `{"feed":"https://example.org/feed.xml","id":" urn:<1>&\u2028","title":"A\nB\u001b[2J","link":"https://example.org/1?a=b&c",` +
		`"published":"2026-11-20T12:00:00Z","received":"2026-11-20T12:00:00.123456789Z","trust":"signed","doubt":"","seq":7,"ways":[{"how":"lazy link","from":"peer","at":"2026-11-20T12:00:00Z","asked":2,"why":""}]}` + "\n"
	if out.String() != want {
		t.Errorf("got  %swant %s", out.String(), want)
	}
	out.Reset()
	u.Item.Published = time.Time{}
	if err := (followCmd{JSON: true}).print(&out, u); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), `"published":null`) {
		t.Errorf("no date became %s", out.String())
	}
	out.Reset()
	if err := (followCmd{}).print(&out, u); err != nil {
		t.Fatal(err)
	}
	if got := out.String(); strings.Count(got, "\n") != 1 || strings.Contains(got, "\x1b") || !strings.Contains(got, "signed") {
		t.Errorf("for people: %q", got)
	}
}

func TestOutcome(t *testing.T) {
	r := feedtree.Receipt{}
	if got := outcome(r); got != "nothing to push: the feed has no items" {
		t.Error(got)
	}
	r.Stamp.Seq, r.Holders = 4, 3
	if got := outcome(r); got != "nothing new; what was pushed last (seq 4) is held by 3 other nodes" {
		t.Error(got)
	}
	r.Items, r.Holders = 1, 1
	if got := outcome(r); got != "1 new item pushed (seq 4), held by 1 other node" {
		t.Error(got)
	}
}

// Without anybody to hold it, publish says so, with an exit code of its own.
func TestPublishToNobody(t *testing.T) {
	dir := t.TempDir()
	key := dir + "/key"
	var out bytes.Buffer
	term := terminal{In: strings.NewReader(atomDoc), Out: &out, Err: &out}
	if code := run([]string{"keygen", "--out", key}, term); code != 0 {
		t.Fatalf("keygen: exit %d: %s", code, &out)
	}
	code := run([]string{"publish", "--url", "https://example.org/feed.xml", "--file", "-", "--key", key, "--data", "",
		"--timeout", "200ms", "--network", "test-nobody", "--no-mdns", "--no-nat", "--no-rendezvous",
		"--p2p-listen", "/ip4/127.0.0.1/udp/0/quic-v1"}, term)
	if code != exitNotHeld || !strings.Contains(out.String(), "--bootstrap") {
		t.Errorf("exit %d: %s", code, &out)
	}
}

const atomDoc = `<feed xmlns="http://www.w3.org/2005/Atom"><title>T</title><id>urn:t</id><updated>2026-01-01T00:00:00Z</updated>` +
	`<entry><title>E</title><id>urn:e</id><updated>2026-01-01T00:00:00Z</updated></entry></feed>`

// Who is proved to lie is a line of its own, with the proof in it.
func TestFollowPrintsForks(t *testing.T) {
	at := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	f := feedtree.Fork{Source: "sha-256:00", Publisher: true, Epoch: 5, Place: 2, Seen: at, Proof: []byte{1, 2}}
	var out bytes.Buffer
	if err := (followCmd{JSON: true}).printFork(&out, "https://example.org/feed.xml", f); err != nil {
		t.Fatal(err)
	}
	want := `{"feed":"https://example.org/feed.xml","fork":{"source":"sha-256:00","publisher":true,"epoch":5,"place":2,"seen":"2026-11-20T12:00:00Z","proof":"AQI="}}` + "\n"
	if out.String() != want {
		t.Errorf("got  %swant %s", out.String(), want)
	}
	out.Reset()
	if err := (followCmd{}).printFork(&out, "", f); err != nil {
		t.Fatal(err)
	}
	if got := out.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, "the publisher (sha-256:00)") {
		t.Errorf("for people: %q", got)
	}
}
