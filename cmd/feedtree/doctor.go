package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
)

type doctorCmd struct {
	Listen string        `help:"Where the proxy listens for readers." default:"127.0.0.1:8089" group:"Readers"`
	Data   string        `help:"Its directory. Default: as of feedtree proxy." type:"path" placeholder:"DIR"`
	Wait   time.Duration `help:"How long to look for other nodes where no proxy runs." default:"15s"`
	JSON   bool          `name:"json" help:"Print JSON." env:"-"`

	networkFlags
	originFlags
}

// Help teaches the command.
func (doctorCmd) Help() string {
	return `Looks at the proxy that runs, or if none does at what it would find, and says what works and what to do about the rest. It changes nothing and asks no site for a feed: their names are looked up and a connection is tried.

Exit codes: 0 if all works that has to; 1 if something does not.

Examples:

    feedtree doctor
    feedtree --config /etc/feedtree/feedtree.conf doctor
    feedtree doctor --json | jq -r '.findings[] | select(.state == "bad") | .do'`
}

// howWell is how good or bad a checked is.
type howWell string

const (
	fine howWell = "ok"
	note howWell = "note" // it could be better, or is worth knowing
	bad  howWell = "bad"  // it does not work
)

// checked is one thing that was looked at.
type checked struct {
	About string  `json:"about"`
	State howWell `json:"state"`
	Says  string  `json:"says"`
	Do    string  `json:"do"` // empty where there is nothing to do
}

// diagnosis is the JSON of doctor.
type diagnosis struct {
	OK       bool      `json:"ok"`
	Version  string    `json:"version"`
	Findings []checked `json:"findings"`
}

var errUnwell = errors.New("something does not work; what to do is said above")

// Run looks and tells.
func (c doctorCmd) Run(ctx context.Context, t terminal) error {
	if c.Wait < 0 {
		return coded{errors.New("--wait must not be negative"), exitUsage}
	}
	seen, err := c.examine(ctx, t)
	if err != nil {
		return err
	}
	d := diagnosis{Version: version(), Findings: seen.findings()}
	d.OK = worst(d.Findings) != bad
	if c.JSON {
		e := json.NewEncoder(t.Out)
		e.SetEscapeHTML(false)
		e.SetIndent("", "  ")
		err = e.Encode(d)
	} else {
		err = tellFindings(t.Out, d.Findings)
	}
	if err == nil && !d.OK {
		return errUnwell
	}
	return err
}

func worst(all []checked) howWell {
	worst := fine
	for _, f := range all {
		if f.State == bad || f.State == note && worst == fine {
			worst = f.State
		}
	}
	return worst
}

// tellFindings writes them for people.
func tellFindings(w io.Writer, all []checked) error {
	for _, f := range all {
		if _, err := fmt.Fprintf(w, "%-4s  %-9s  %s\n", f.State, f.About, oneLine(f.Says)); err != nil {
			return err
		}
		if f.Do == "" {
			continue
		}
		if _, err := fmt.Fprintf(w, "%-4s  %-9s  → %s\n", "", "", oneLine(f.Do)); err != nil {
			return err
		}
	}
	return nil
}
