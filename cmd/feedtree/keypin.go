package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"syscall"

	"github.com/feedtree/feedtree"
)

type keyPinCmd struct {
	URL         string `arg:"" optional:"" name:"url" help:"The feed's address. Without it the pins of all feeds are listed."`
	Fingerprint string `arg:"" optional:"" help:"Of the root keys to go by, as the publisher tells it elsewhere."`
	Forget      bool   `help:"Take a pin back: what the feed announces next decides, as when it was new."`
	Proxy       string `help:"The running proxy." default:"http://127.0.0.1:8089" placeholder:"URL"`
}

// Help teaches the command.
func (keyPinCmd) Help() string {
	return `A feed's first announcement of its root keys over HTTPS is remembered as a pin, and nothing but their own signature, or three days of another announcement that others see too, moves it. A pin that is set here never moves by itself. It asks a proxy that is running.

Examples:

    feedtree key pin
    feedtree key pin https://example.org/feed.xml sha-256:…
    feedtree key pin https://example.org/feed.xml --forget`
}

// Run lists pins or sets one.
func (c keyPinCmd) Run(ctx context.Context, t terminal) error {
	c.Proxy = strings.TrimSuffix(c.Proxy, "/")
	switch {
	case c.URL == "":
		return c.list(ctx, t.Out)
	case (c.Fingerprint == "") != c.Forget:
		return errors.New("give a fingerprint, or --forget")
	}
	var answer struct {
		Token string `json:"token"`
	}
	if err := c.ask(ctx, http.MethodGet, "/api/v1/token", nil, "", &answer); err != nil {
		return err
	}
	form := url.Values{"url": {c.URL}, "fingerprint": {c.Fingerprint}}
	if err := c.ask(ctx, http.MethodPost, "/api/v1/pins", form, answer.Token, nil); err != nil {
		return err
	}
	_, err := fmt.Fprintf(t.Out, "Done: %s\n", c.URL)
	return err
}

func (c keyPinCmd) list(ctx context.Context, out io.Writer) error {
	var pins []feedtree.Pin
	if err := c.ask(ctx, http.MethodGet, "/api/v1/pins", nil, "", &pins); err != nil {
		return err
	}
	for _, p := range pins {
		fmt.Fprintf(out, "%s\n  %s, %s, since %s\n", p.URL, p.Fingerprint, p.How, day(p.Since))
		if p.MovedFrom != "" {
			fmt.Fprintf(out, "  moved from %s on %s: %s\n", p.MovedFrom, day(*p.MovedAt), p.MovedWhy)
		}
		if p.Rival != "" {
			fmt.Fprintf(out, "  the feed announces %s since %s\n", p.Rival, day(*p.RivalSince))
		}
	}
	return nil
}

const longestAnswer = 16 << 20

// ask asks the proxy, and reads its answer into a value unless that is nil.
func (c keyPinCmd) ask(ctx context.Context, method, path string, form url.Values, token string, into any) error {
	r, err := http.NewRequestWithContext(ctx, method, c.Proxy+path, strings.NewReader(form.Encode()))
	if err != nil {
		return fmt.Errorf("--proxy: %w", err)
	}
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("X-FeedTree-Token", token)
	}
	w, err := http.DefaultClient.Do(r)
	if errors.Is(err, syscall.ECONNREFUSED) {
		return fmt.Errorf("no proxy answers at %s: start it with feedtree proxy, or say where it is with --proxy", c.Proxy)
	}
	if err != nil {
		return err
	}
	defer w.Body.Close()
	body, err := io.ReadAll(io.LimitReader(w.Body, longestAnswer))
	switch {
	case err != nil:
		return err
	case w.StatusCode != http.StatusOK:
		return fmt.Errorf("the proxy says: %s", oneLine(string(body)))
	case into == nil:
		return nil
	}
	if err := json.Unmarshal(body, into); err != nil {
		return fmt.Errorf("%s%s is not a feedtree proxy's: %w", c.Proxy, path, err)
	}
	return nil
}
