package main

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/feedtree/feedtree"
	"github.com/feedtree/feedtree/feed/store"
	"github.com/feedtree/feedtree/overlay/kad"
)

const (
	knock     = 5 * time.Second // for anything that answers at once if it works
	knockedAt = 3               // sites
	roomy     = 200 << 20       // bytes free on the disk
)

// examined is what doctor saw.
type examined struct {
	now     time.Time
	page    string // of the proxy
	version string // of the proxy that runs
	silence error  // why no proxy answers; nil: one runs
	unready string // what /readyz says if it is not ready
	data    dataSeen
	status  feedtree.Status // of the proxy, or of a node that was started to see
	sites   []siteSeen
	off     networkFlags
}

// dataSeen is the data directory.
type dataSeen struct {
	path string
	err  error // it cannot be used; not known while a proxy uses it
	free uint64
}

// siteSeen is a site that was knocked at.
type siteSeen struct {
	host string
	err  error
}

// examine looks at everything there is to see.
func (c doctorCmd) examine(ctx context.Context, t terminal) (*examined, error) {
	var err error
	if c.Data == "" {
		if c.Data, err = defaultData(); err != nil {
			return nil, err
		}
	}
	e := &examined{now: time.Now(), page: "http://" + reader(c.Listen), off: c.networkFlags}
	e.data.path = c.Data
	if e.silence = e.ask(ctx); e.silence != nil {
		fmt.Fprintf(t.Err, "No proxy answers at %s. Looking for other nodes, for up to %v …\n", e.page, c.Wait)
		if err := c.tryOut(ctx, e); err != nil {
			return nil, err
		}
	}
	e.data.free = freeSpace(c.Data)
	e.knock(ctx, c.Resolve)
	return e, ctx.Err()
}

// reader is where a reader on this machine finds an address to listen on.
func reader(listen string) string {
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		return listen
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port)
}

var errNotFeedtree = errors.New("something else answers there")

// ask asks the proxy how it is.
func (e *examined) ask(ctx context.Context) error {
	body, header, err := get(ctx, e.page+"/api/v1/status")
	if err != nil {
		return err
	}
	if err := json.Unmarshal(body, &e.status); err != nil || e.status.PeerID == "" {
		return errNotFeedtree
	}
	e.version = header.Get("X-FeedTree-Version")
	var refused *answerError
	if _, header, err = get(ctx, e.page+"/readyz"); errors.As(err, &refused) {
		e.unready = refused.text
	}
	if e.version == "" && header != nil {
		e.version = header.Get("X-FeedTree-Version")
	}
	return nil
}

// answerError is an answer that is no 200.
type answerError struct {
	status int
	text   string
}

func (a *answerError) Error() string { return fmt.Sprintf("it answers %d: %s", a.status, a.text) }

func get(ctx context.Context, url string) ([]byte, http.Header, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*knock)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, nil, err
	}
	w, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(r) // through no proxy of the environment
	if err != nil {
		return nil, nil, err
	}
	defer w.Body.Close()
	body, err := io.ReadAll(io.LimitReader(w.Body, 64<<20))
	if err == nil && w.StatusCode != http.StatusOK {
		text, _, _ := strings.Cut(strings.TrimSpace(string(body)), "\n")
		err = &answerError{w.StatusCode, text[:min(len(text), 300)]}
	}
	return body, w.Header, err
}

// tryOut opens the data directory and starts a node of its own for a moment, to
// see what a proxy would.
func (c doctorCmd) tryOut(ctx context.Context, e *examined) error {
	memory := store.NewMemory()
	if e.data.err = writable(c.Data); e.data.err == nil {
		if _, err := os.Stat(c.Data); err == nil {
			e.data.err = e.recall(ctx, memory)
		}
	}
	node, err := feedtree.New(ctx, feedtree.Config{Store: memory, Overlay: c.overlay(), Multicast: c.Multicast})
	if err != nil {
		return err
	}
	defer node.Close()
	feeds := e.status.Feeds
	deadline := time.NewTimer(c.Wait)
	defer deadline.Stop()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for waiting := true; waiting; {
		e.status = node.Status()
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-deadline.C:
			waiting = false
		case <-tick.C:
			waiting = e.status.Peers == 0 || e.status.Reach.State == kad.Unknown
		}
	}
	e.status.Feeds = feeds
	return nil
}

// recall takes from the archive what a proxy would start with.
func (e *examined) recall(ctx context.Context, memory *store.Memory) (err error) {
	data, err := openData(e.data.path)
	if err != nil {
		return err
	}
	defer closing(&err, data.Close)
	peers, err := data.archive.Peers(ctx, 256)
	if err == nil {
		err = memory.PutPeers(ctx, peers)
	}
	if err != nil {
		return err
	}
	feeds, err := data.archive.Feeds(ctx)
	for _, f := range feeds {
		e.status.Feeds = append(e.status.Feeds, feedtree.FeedStatus{URL: f.URL, Local: f.Local, Failure: f.Failure, LastFetch: f.Fetched})
	}
	return err
}

// knock finds out whether the sites of a few public feeds can be reached.
func (e *examined) knock(ctx context.Context, resolve []string) {
	known := map[string]bool{}
	for _, f := range e.status.Feeds {
		u, err := url.Parse(f.URL)
		if err != nil || f.Local != "" || known[u.Host] || len(e.sites) == knockedAt {
			continue
		}
		known[u.Host] = true
		e.sites = append(e.sites, siteSeen{u.Hostname(), knockAt(ctx, u, resolve)})
	}
}

// knockAt connects to a site as a poll would, and asks it nothing.
func knockAt(ctx context.Context, u *url.URL, resolve []string) error {
	ctx, cancel := context.WithTimeout(ctx, knock)
	defer cancel()
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	addr := net.JoinHostPort(u.Hostname(), port)
	for _, r := range resolve { // HOST:PORT:ADDR, or HOST:PORT:ADDR:PORT
		if rest, ok := strings.CutPrefix(r, u.Hostname()+":"+port+":"); ok {
			addr = net.JoinHostPort(strings.Trim(rest, "[]"), port)
		}
	}
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	defer conn.Close()
	if u.Scheme != "https" {
		return nil
	}
	return tls.Client(conn, &tls.Config{ServerName: u.Hostname()}).HandshakeContext(ctx)
}
