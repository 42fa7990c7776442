package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/feedtree/feedtree/feed"
	"github.com/feedtree/feedtree/feed/fetch"
	"github.com/feedtree/feedtree/feed/store"
)

type inspectCmd struct {
	Source string `arg:"" help:"File or URL of a feed, - for standard input; of a web page: the feed it announces."`
	JSON   bool   `name:"json" help:"Print JSON." env:"-"`

	originFlags
}

// Help teaches the command.
func (inspectCmd) Help() string {
	return `Reads RSS, Atom and JSON Feed as tolerantly as readers do, and says on standard error what it had to repair.

Examples:

    feedtree inspect https://example.org/feed.xml
    feedtree inspect --json feed.xml | jq -r '.items[].title'`
}

// The JSON of inspect. What a feed does not state is null, or "" for text.
type inspected struct {
	Format string          `json:"format"` // "rss2.0", "atom1.0", "json1.1"
	Title  string          `json:"title"`
	Link   string          `json:"link"`
	TTL    *int64          `json:"ttl"` // seconds
	Hubs   []string        `json:"hubs"`
	Tree   *inspectedTree  `json:"tree"`
	Items  []inspectedItem `json:"items"`
}

type inspectedTree struct {
	Version     int      `json:"version"`
	Group       string   `json:"group"`
	Cert        string   `json:"cert"`
	Fingerprint string   `json:"fingerprint"`
	TTL         int64    `json:"ttl"` // seconds
	Head        uint64   `json:"head"`
	Bootstrap   []string `json:"bootstrap"`
}

type inspectedItem struct {
	ID         string               `json:"id"`
	Title      string               `json:"title"`
	Link       string               `json:"link"`
	Published  *time.Time           `json:"published"`
	Updated    *time.Time           `json:"updated"`
	Author     string               `json:"author"`
	Summary    string               `json:"summary"`
	Content    string               `json:"content"`
	Enclosures []inspectedEnclosure `json:"enclosures"`
	Trust      string               `json:"trust"` // why it is believed; "" if nobody says
}

type inspectedEnclosure struct {
	URL    string `json:"url"`
	Type   string `json:"type"`
	Length int64  `json:"length"`
}

const longestDoc = 64 << 20 // of a file

// Run shows the feed.
func (c inspectCmd) Run(ctx context.Context, t terminal) error {
	doc, contentType, where, err := c.read(ctx, c.Source, t)
	if err != nil {
		return err
	}
	f, err := feed.Parse(doc, contentType)
	if found := announced(doc, where, err); found != "" {
		fmt.Fprintf(t.Err, "%s is a web page; it announces the feed %s\n", where, found)
		if doc, contentType, where, err = c.read(ctx, found, t); err != nil {
			return err
		}
		f, err = feed.Parse(doc, contentType)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", where, err)
	}
	for _, d := range f.Defects {
		fmt.Fprintf(t.Err, "%s: %s\n", where, d)
	}
	if c.JSON {
		e := json.NewEncoder(t.Out)
		e.SetEscapeHTML(false)
		e.SetIndent("", "  ")
		return e.Encode(inspectFeed(f, where))
	}
	return describeFeed(t.Out, inspectFeed(f, where))
}

// trustIn is why an item of a document is believed. One that was read from its site is
// fetched, whatever it says of itself; a proxy on this machine, or what was saved
// from one, says how it came there.
func trustIn(it feed.Item, where string) string {
	u, err := url.Parse(where)
	if err != nil || u.Host == "" {
		return it.Marked()
	}
	ip, err := netip.ParseAddr(u.Hostname())
	if u.Hostname() == "localhost" || err == nil && ip.IsLoopback() {
		return cmp.Or(it.Marked(), store.Fetched.String())
	}
	return store.Fetched.String()
}

// read gets a document from a file, standard input or a URL.
func (c inspectCmd) read(ctx context.Context, source string, t terminal) (doc []byte, contentType, where string, err error) {
	switch {
	case source == "-":
		doc, err = readLimited(t.In, "standard input")
		return doc, "", "standard input", err
	case strings.Contains(source, "://"):
		return c.fetch(ctx, source)
	}
	f, err := os.Open(source)
	if err != nil {
		return nil, "", source, fmt.Errorf("%w; a URL begins with https:// or http://", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	doc, err = readLimited(f, source)
	return doc, "", source, err
}

func (c inspectCmd) fetch(ctx context.Context, source string) (doc []byte, contentType, where string, err error) {
	canonical, err := feed.Canonical(source)
	if err != nil {
		return nil, "", source, fmt.Errorf("%s: %w", source, err)
	}
	client, err := fetch.New(c.originFlags.fetch())
	if err != nil {
		return nil, "", source, err
	}
	got, err := client.Get(ctx, fetch.Request{URL: canonical, Local: true})
	if err != nil {
		return nil, "", canonical, err
	}
	return got.Body, got.ContentType, got.URL, nil
}

func readLimited(r io.Reader, name string) ([]byte, error) {
	doc, err := io.ReadAll(io.LimitReader(r, longestDoc+1))
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", name, err)
	}
	if len(doc) > longestDoc {
		return nil, fmt.Errorf("%s is longer than %d MiB: not a feed that anybody would read", name, longestDoc>>20)
	}
	return doc, nil
}

// announced returns the first feed that a web page announces, if err says that
// it is one and it stands at a URL.
func announced(doc []byte, where string, err error) string {
	var page *feed.HTMLPage
	if !errors.As(err, &page) || !strings.Contains(where, "://") {
		return ""
	}
	if found := feed.Discover(doc, where); len(found) > 0 {
		return found[0].URL
	}
	return ""
}

func inspectFeed(f *feed.Feed, where string) inspected {
	out := inspected{
		Format: shortFormat(f), Title: f.Title, Link: f.Link, TTL: secondsOrNull(f.TTL),
		Hubs: append([]string{}, f.Hubs...), Tree: inspectTree(f.Tree), Items: make([]inspectedItem, 0, len(f.Items)),
	}
	for _, it := range f.Items {
		item := inspectItem(it)
		item.Trust = trustIn(it, where)
		out.Items = append(out.Items, item)
	}
	return out
}

// shortFormat is "rss2.0" and the like.
func shortFormat(f *feed.Feed) string {
	switch f.Format {
	case feed.Atom:
		return "atom" + f.Version
	case feed.JSONFeed:
		return "json" + f.Version
	}
	return "rss" + f.Version
}

func secondsOrNull(d time.Duration) *int64 {
	if d <= 0 {
		return nil
	}
	n := int64(d / time.Second)
	return &n
}

func inspectTree(t *feed.Tree) *inspectedTree {
	if t == nil {
		return nil
	}
	return &inspectedTree{
		Version: t.Version, Group: t.Group, Cert: t.Cert, Fingerprint: t.Fingerprint,
		TTL: int64(t.TTL / time.Second), Head: t.Head, Bootstrap: append([]string{}, t.Bootstrap...),
	}
}

func inspectItem(it feed.Item) inspectedItem {
	out := inspectedItem{
		ID: it.GUID, Title: it.Title, Link: it.Link,
		Published: dateOrNull(it.Published), Updated: dateOrNull(it.Updated),
		Author: authors(it.Authors), Summary: it.Summary, Content: it.Content,
		Enclosures: make([]inspectedEnclosure, 0, len(it.Enclosures)),
	}
	for _, e := range it.Enclosures {
		out.Enclosures = append(out.Enclosures, inspectedEnclosure{URL: e.URL, Type: e.Type, Length: e.Length})
	}
	return out
}

func dateOrNull(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	u := t.UTC().Truncate(time.Second)
	return &u
}

func authors(people []feed.Person) string {
	var names []string
	for _, p := range people {
		name := p.Name
		if name == "" {
			name = p.Email
		}
		if name != "" {
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ")
}

// describeFeed writes the feed for people.
func describeFeed(out io.Writer, f inspected) error {
	w := bufio.NewWriter(out)
	fmt.Fprintf(w, "%s\n  %s, %d items, %s\n", oneLine(f.Title), f.Format, len(f.Items), f.Link)
	for _, hub := range f.Hubs {
		fmt.Fprintf(w, "  hub %s\n", hub)
	}
	if f.Tree != nil {
		fmt.Fprintf(w, "  pushed by FeedTree: group %s\n  key %s\n  certificate %s\n", f.Tree.Group, f.Tree.Fingerprint, f.Tree.Cert)
	}
	for _, it := range f.Items {
		date := "no date"
		if d := it.Published; d != nil {
			date = d.Format("2006-01-02 15:04")
		} else if d := it.Updated; d != nil {
			date = d.Format("2006-01-02 15:04")
		}
		fmt.Fprintf(w, "\n%-16s  %s\n                  %s\n", date, oneLine(it.Title), it.Link)
		if it.ID != "" && it.ID != it.Link {
			fmt.Fprintf(w, "                  id %s\n", oneLine(it.ID))
		}
		if it.Trust != "" {
			fmt.Fprintf(w, "                  %s\n", oneLine(it.Trust))
		}
	}
	return w.Flush()
}

// oneLine keeps text from elsewhere from moving the cursor.
func oneLine(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r < 0xa0 {
			return ' '
		}
		return r
	}, s)
	return strings.Join(strings.Fields(s), " ")
}
