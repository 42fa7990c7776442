package main

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/feedtree/feedtree"
	"github.com/feedtree/feedtree/feed"
	"github.com/feedtree/feedtree/signing"
)

type publishCmd struct {
	URL  string `name:"url" help:"The feed's address, as readers know it." required:"" placeholder:"FEED_URL"`
	File string `help:"The feed's document, - for standard input." required:"" placeholder:"FEED.xml"`
	Key  string `help:"The publisher's private key: of feedtree keygen, or an Ed25519 key of OpenSSH." required:"" type:"path" placeholder:"FILE"`

	Cert string `help:"The feed's certificate. Default: FILE.pem beside the key, if it is there; a single key needs none." type:"path" placeholder:"FILE.pem"`

	Once    bool          `help:"Push, wait until the news is held by 3 other nodes, exit. This is the default." xor:"mode"`
	Watch   bool          `help:"Go on: push whenever the file changes, and send heartbeats." xor:"mode"`
	Timeout time.Duration `help:"How long to wait for others to hold what was pushed." default:"30s"`
	TTL     time.Duration `name:"ttl" help:"With --watch: how often to be heard at least." default:"15m"`
	Data    *string       `help:"Directory that remembers what was pushed; empty: nothing is remembered. Default: one per key, in feedtree in $XDG_STATE_HOME or ~/.local/state." placeholder:"DIR"`

	passphraseFlags
	networkFlags
	originFlags
}

// Help teaches the command.
func (publishCmd) Help() string {
	return `Pushes what is new in the file since it was last run, signed with the key that the feed announces (feedtree keygen prints the announcement).

Exit codes of --once: 0 when 3 other nodes, or all where there are fewer, hold it durably; 3 if too few did in time, and running it again does no harm; 2 for wrong flags; 1 for anything else. It needs nothing from the run before: without it, all of the file is pushed again, and those who have it notice. --data DIR, kept from run to run, spares that.

With --watch, the file may be written in any way: it is read when it was left alone for 0.2s, and pushed if it is whole.

Examples:

    feedtree publish --url https://example.org/feed.xml --file public/feed.xml --key feed.key --once
    feedtree publish --url https://example.org/feed.xml --file public/feed.xml --key feed.key --watch`
}

// Run publishes.
func (c publishCmd) Run(ctx context.Context, t terminal, log *slog.Logger) (err error) {
	if c.Watch && c.File == "-" {
		return errors.New("--watch needs a file: standard input cannot be watched")
	}
	doc, err := c.read(t.In)
	if err != nil {
		return err
	}
	ring := keyring{key: c.Key}
	if err := ring.settle(); err != nil {
		return err
	}
	id, err := c.readKey(c.Key, t)
	if err != nil {
		return err
	}
	cert, err := c.certificate(ring, id)
	if err != nil {
		return err
	}
	node, end, err := c.node(ctx, cert, id, log)
	if err != nil {
		return err
	}
	defer closing(&err, end)
	if cert != nil {
		if err := node.LearnKeys(ctx, c.URL, cert.MarshalPEM()); err != nil {
			return err
		}
	}
	if c.Watch {
		return c.watch(ctx, node, id, doc, log)
	}
	return c.once(ctx, node, id, doc, t.Out)
}

// certificate reads the certificate beside the key, if there is one, and sees to
// it that it lists the key.
func (c publishCmd) certificate(ring keyring, id *signing.Identity) (signing.Certificate, error) {
	path := cmp.Or(c.Cert, ring.certificate())
	cert, err := readCertificate(path)
	switch {
	case err != nil:
		return nil, err
	case cert == nil && c.Cert != "":
		return nil, fmt.Errorf("--cert %s: there is no such file", c.Cert)
	case cert == nil:
		return nil, nil
	}
	state := cert.Latest()
	if !state.Lists(id.Public()) {
		return nil, fmt.Errorf("%s lists other signing keys than %s (%v): feedtree key show %[1]s", path, c.Key, id.Public().Fingerprint())
	}
	if now := time.Now(); now.After(state.Until()) {
		return nil, fmt.Errorf("%s: %s", path, advice(state, now))
	}
	return cert, nil
}

// read reads the document, and refuses what is none before anything is sent.
func (c publishCmd) read(stdin io.Reader) ([]byte, error) {
	doc, err := c.readFile(stdin)
	if err != nil {
		return nil, err
	}
	f, err := feed.Parse(doc, "")
	if err != nil {
		return nil, fmt.Errorf("--file %s: %w", c.File, err)
	}
	// Readers make the best of a document that is cut off. A publisher has the
	// whole one, or is about to.
	if i := slices.IndexFunc(f.Defects, func(d string) bool { return strings.HasPrefix(d, cutOff) }); i >= 0 {
		return nil, fmt.Errorf("--file %s: it is %s: wait until it is written to its end", c.File, f.Defects[i])
	}
	return doc, nil
}

// cutOff is how feed.Parse calls a document whose end is missing.
const cutOff = "cut off "

func (c publishCmd) readFile(stdin io.Reader) ([]byte, error) {
	if c.File == "-" {
		return readLimited(stdin, "standard input")
	}
	f, err := os.Open(c.File)
	if err != nil {
		return nil, fmt.Errorf("--file: %w", err)
	}
	defer f.Close() // only read
	return readLimited(f, c.File)
}

// node starts a node that remembers in the data directory what was pushed.
func (c publishCmd) node(ctx context.Context, cert signing.Certificate, id *signing.Identity, log *slog.Logger) (*feedtree.Node, func() error, error) {
	config := feedtree.Config{
		Overlay: c.overlay(), Multicast: c.Multicast, Fetch: c.fetch(), Polling: feedtree.Polling{Off: true}, Log: log,
	}
	dir, err := publisherDir(c.Data, cert, id.Public())
	if err != nil {
		return nil, nil, err
	}
	end := func() error { return nil }
	if dir != "" {
		data, err := openData(dir)
		if err != nil {
			return nil, nil, err
		}
		config.Dir, config.Store, end = data.path, data.archive, data.Close
	}
	node, err := feedtree.New(ctx, config)
	if err != nil {
		return nil, nil, errors.Join(err, end())
	}
	return node, func() error { return errors.Join(node.Close(), end()) }, nil
}

// publisherDir is where a publisher's state is, one directory for all keys of a
// feed, as they write it one after the other: one process at a time may speak.
func publisherDir(given *string, cert signing.Certificate, key signing.PublicKey) (string, error) {
	if given != nil {
		return *given, nil
	}
	base, err := xdgDir("XDG_STATE_HOME", ".local/state")
	if err != nil {
		return "", err
	}
	f := key.Fingerprint()
	if len(cert) > 0 {
		f = cert[0].Fingerprint()
	}
	return filepath.Join(base, "publish-"+hex.EncodeToString(f[:8])), nil
}

// once pushes and waits until the news is held.
func (c publishCmd) once(ctx context.Context, node *feedtree.Node, id *signing.Identity, doc []byte, out io.Writer) error {
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	if err := meet(ctx, node, min(settled, c.Timeout/4)); err != nil {
		return err
	}
	got, err := node.Publish(ctx, id, c.URL, doc)
	if errors.Is(err, context.DeadlineExceeded) {
		return coded{fmt.Errorf("not all was pushed within %v: run the same command again, longer with --timeout", c.Timeout), exitNotHeld}
	}
	if errors.Is(err, feedtree.ErrNotHeld) {
		return coded{fmt.Errorf("%d of %d nodes hold it after %v: it may still arrive; run the same command again to be sure",
			got.Holders, got.Wanted, c.Timeout), exitNotHeld}
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(out, outcome(got))
	return err
}

// outcome says what was pushed, and who holds it.
func outcome(r feedtree.Receipt) string {
	holders := plural(r.Holders, "other node")
	switch {
	case r.Stamp.Seq == 0:
		return "nothing to push: the feed has no items"
	case r.Items == 0:
		return fmt.Sprintf("nothing new; what was pushed last (seq %d) is held by %s", r.Stamp.Seq, holders)
	}
	return fmt.Sprintf("%s pushed (seq %d), held by %s", plural(r.Items, "new item"), r.Stamp.Seq, holders)
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

const (
	enoughPeers = 3
	settled     = 2 * time.Second        // the number of peers stays what it is; less where time is short
	lookEvery   = 100 * time.Millisecond // how often it is looked at
)

// meet waits for other nodes: for as many as shall hold the news, or until no
// more turn up.
func meet(ctx context.Context, node *feedtree.Node, settled time.Duration) error {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	peers, since := 0, time.Now()
	for {
		if now := node.Status().Peers; now != peers {
			peers, since = now, time.Now()
		}
		if peers >= enoughPeers || peers > 0 && time.Since(since) >= settled {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
				return ctx.Err()
			}
			if peers > 0 {
				return nil
			}
			return coded{errors.New("no other node was found in time, so nobody would hold the news: " +
				"name one with --bootstrap, or give it longer with --timeout"), exitNotHeld}
		}
	}
}
