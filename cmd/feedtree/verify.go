package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/feedtree/feedtree"
	"github.com/feedtree/feedtree/feed/fetch"
)

type verifyCmd struct {
	Source string `arg:"" help:"URL of a feed, or file of a certificate."`
	Key    string `help:"Signing key that must be among those listed." type:"path" placeholder:"FILE"`

	originFlags
}

// Help teaches the command.
func (verifyCmd) Help() string {
	return `Asks for the feed and its certificate as a new subscriber does, and says whether what its publisher signs would be believed, and until when. Exit code 1 says that it would not.

Examples:

    feedtree verify https://example.org/feed.xml
    feedtree verify --key feed.key https://example.org/feed.xml
    feedtree verify feed.key.pem`
}

// Run verifies.
func (c verifyCmd) Run(ctx context.Context, t terminal) error {
	if !strings.Contains(c.Source, "://") {
		return c.file(t.Out)
	}
	client, err := fetch.New(c.originFlags.fetch())
	if err != nil {
		return err
	}
	defer client.Close()
	check, err := feedtree.CheckKeys(ctx, client, c.Source)
	if err != nil {
		return err
	}
	return c.report(t.Out, check)
}

func (c verifyCmd) file(out io.Writer) error {
	cert, err := readCertificate(c.Source)
	if err == nil && cert == nil {
		err = fmt.Errorf("%s: there is no such file; a URL begins with https://", c.Source)
	}
	if err != nil {
		return err
	}
	if err := describeCertificate(out, cert, time.Now()); err != nil {
		return err
	}
	state, key := cert.Latest(), ""
	for _, k := range state.Signing {
		key += " " + k.Key.Fingerprint().String()
	}
	if err := c.lists(strings.Fields(key)); err != nil {
		return err
	}
	if time.Now().After(state.Until()) {
		return errors.New(advice(state, time.Now()))
	}
	return nil
}

// report says what a subscriber makes of a feed.
func (c verifyCmd) report(out io.Writer, check feedtree.KeyCheck) error {
	if check.Pin == nil {
		return fmt.Errorf("%s announces no key that a subscriber believes: %s", check.URL, cmp.Or(check.Warning,
			"it has no ft:tree with a fingerprint; feedtree keygen --url prints one to paste into it"))
	}
	fmt.Fprintf(out, "Feed:         %s\nRoot keys:    %s, pinned at first sight over %s\n", check.URL, check.Pin.Fingerprint, strings.ToUpper(check.Pin.How))
	var listed []string
	for _, k := range check.Keys.Signing {
		fmt.Fprintf(out, "Signing key:  %s until %s\n", k.Fingerprint, day(k.Until))
		listed = append(listed, k.Fingerprint)
	}
	switch {
	case check.Warning != "":
		return errors.New(check.Warning)
	case check.Pin.How != "https":
		return errors.New("over plain HTTP anybody on the way could put another key there, so what the publisher signs is shown as unconfirmed: serve the feed over HTTPS")
	case check.Keys.State == feedtree.KeysSingle:
		listed = []string{check.Pin.Fingerprint}
		fmt.Fprintln(out, "It has a single key and no certificate. If that key is lost or stolen, subscribers must be told by hand: feedtree key rotate --url gives it one.")
	default:
		fmt.Fprintf(out, "Certificate:  %s, version %d\n", check.Keys.Place, check.Keys.Version)
	}
	if err := c.lists(listed); err != nil {
		return err
	}
	_, err := fmt.Fprintln(out, "All is well: subscribers believe what is signed with the keys above.")
	return err
}

// lists returns an error if the key that was named is not among fingerprints.
func (c verifyCmd) lists(fingerprints []string) error {
	if c.Key == "" {
		return nil
	}
	public, ok, err := publicOf(c.Key)
	if err == nil && !ok {
		err = errors.New("there is no such file")
	}
	if err != nil {
		return fmt.Errorf("--key %s: %w", c.Key, err)
	}
	if f := public.Fingerprint().String(); !slices.Contains(fingerprints, f) {
		return fmt.Errorf("--key %s: its fingerprint, %s, is not among them: upload the newest certificate, or publish with a key that is listed", c.Key, f)
	}
	return nil
}
