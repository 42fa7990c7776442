package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/feedtree/feedtree/feed"
	"github.com/feedtree/feedtree/feed/opml"
	"github.com/feedtree/feedtree/proxy"
)

type opmlCmd struct {
	Wrap   opmlWrapCmd   `cmd:"" help:"Put the proxy's address in front of every feed of a reader's list."`
	Unwrap opmlUnwrapCmd `cmd:"" help:"Give the feeds of a list their own addresses back."`
}

// opmlFlags say which list, and which proxy.
type opmlFlags struct {
	File string `arg:"" help:"List of feeds as your reader exports it (OPML), - for standard input."`
	Base string `help:"Address of the proxy as your reader uses it." default:"http://127.0.0.1:8089" placeholder:"URL"`
}

type opmlWrapCmd struct{ opmlFlags }

type opmlUnwrapCmd struct{ opmlFlags }

// Help teaches the command.
func (opmlWrapCmd) Help() string {
	return `Export the list from your reader, wrap it, import the result, and delete the feeds as they were before. Lists that are not well-formed are read as readers read them; what is left out is said on standard error.

Examples:

    feedtree opml wrap feeds.opml > wrapped.opml
    feedtree opml wrap --base http://nas.local:8089 - < feeds.opml

` + proxy.ReadersText()
}

// Help teaches the command.
func (opmlUnwrapCmd) Help() string {
	return `The way out: what your reader exports, with the feeds' own addresses.

Examples:

    feedtree opml unwrap wrapped.opml > feeds.opml`
}

// Validate refuses a proxy that no reader could ask.
func (f opmlFlags) Validate() error {
	if _, err := feed.Canonical(f.Base); err != nil {
		return fmt.Errorf("--base %s: it must begin with http:// or https:// and a name", f.Base)
	}
	return nil
}

// Run wraps.
func (c opmlWrapCmd) Run(t terminal) error {
	l, err := c.read(t)
	if err != nil {
		return err
	}
	feeds, _ := l.Feeds()
	if err := write(t.Out, opml.Wrap(l, c.Base)); err != nil {
		return err
	}
	fmt.Fprintf(t.Err, "%d feeds are behind %s now. %s\n", len(feeds), c.Base, proxy.ReadersText())
	return nil
}

// Run unwraps.
func (c opmlUnwrapCmd) Run(t terminal) error {
	l, err := c.read(t)
	if err != nil {
		return err
	}
	return write(t.Out, opml.Unwrap(l, c.Base))
}

// read reads the list and says what is wrong with it.
func (f opmlFlags) read(t terminal) (l *opml.List, err error) {
	in, name := t.In, "standard input"
	if f.File != "-" {
		file, err := os.Open(f.File)
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, file.Close()) }()
		in, name = file, f.File
	}
	if l, err = opml.Read(in); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	for _, d := range l.Defects {
		fmt.Fprintf(t.Err, "%s: repaired: %s\n", name, d)
	}
	feeds, refused := l.Feeds()
	for _, r := range refused {
		fmt.Fprintf(t.Err, "%s: %s\n", name, oneLine(r.Error()))
	}
	if len(feeds) == 0 {
		return nil, fmt.Errorf("%s: there is no feed in this list", name)
	}
	return l, nil
}

func write(w io.Writer, l *opml.List) error {
	_, err := w.Write(l.Bytes())
	return err
}
