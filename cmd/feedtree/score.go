package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/klauspost/compress/gzip"

	"github.com/feedtree/feedtree/feed/score"
)

type scoreCmd struct {
	Logs []string `arg:"" name:"log" help:"Access log, combined or JSON, perhaps gzipped; - for standard input. Several are read in order." placeholder:"ACCESS.log"`
	Path string   `help:"Regular expression for the paths that are feeds." default:"(?i)(rss|atom|feed|\\.xml|\\.rdf|feed\\.json)"`
	Top  int      `help:"How many clients to show, the busiest first; 0 for all." default:"20"`
	JSON bool     `name:"json" help:"Print JSON." env:"-"`
}

// Help teaches the command.
func (scoreCmd) Help() string {
	return `Holds each client in the log to the eight criteria that people who run feeds ask of those who poll them, and says which it fails and why.

Reads the combined format of Apache and nginx, with the virtual host before it or not, and the JSON lines of Caddy. Only the latter show the validators, cookies and freshness that five of the criteria are about: what a log does not show is marked "?".

Examples:

    feedtree score /var/log/nginx/access.log
    feedtree score access.log.2.gz access.log.1 access.log
    feedtree score --path '^/index\.xml$' --json access.json | jq '.clients[] | select(.passed < 8)'`
}

// Validate refuses what cannot work.
func (c scoreCmd) Validate() error {
	if c.Top < 0 {
		return errors.New("--top must be 0 or more")
	}
	if _, err := regexp.Compile(c.Path); err != nil {
		return fmt.Errorf("--path: %w", err)
	}
	return nil
}

// Run reads the logs and prints the scores.
func (c scoreCmd) Run(ctx context.Context, t terminal) error {
	r := reading{feeds: regexp.MustCompile(c.Path), err: t.Err, told: time.Now()}
	for _, name := range c.Logs {
		if err := r.file(ctx, name, t.In); err != nil {
			return err
		}
	}
	r.sum()
	cards := r.judge.Cards()
	if len(cards) == 0 {
		return fmt.Errorf("no request for a feed in %s; --path says which paths are feeds, now %s", strings.Join(c.Logs, ", "), c.Path)
	}
	if c.Top > 0 && len(cards) > c.Top {
		fmt.Fprintf(t.Err, "the %d busiest of %d clients; --top 0 shows all\n", c.Top, len(cards))
		cards = cards[:c.Top]
	}
	if c.JSON {
		return printScores(t.Out, cards)
	}
	return score.Write(t.Out, cards)
}

// reading is the logs read so far.
type reading struct {
	judge      score.Judge
	feeds      *regexp.Regexp
	err        io.Writer
	told       time.Time
	lines, bad int
	firstBad   string
}

const (
	tellEvery  = 2 * time.Second
	tellBlock  = 10_000 // lines between two looks at the clock
	soundLines = 10     // a file with so many bad lines at its beginning, and no good one, is no log
)

func (r *reading) file(ctx context.Context, name string, stdin io.Reader) (err error) {
	in, label := stdin, "standard input"
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return err
		}
		defer f.Close() // only read
		in, label = f, name
	}
	if strings.HasSuffix(name, ".gz") {
		z, err := gzip.NewReader(in)
		if err != nil {
			return fmt.Errorf("%s: %w", label, err)
		}
		defer z.Close()
		in = z
	}
	good, bad := 0, 0
	for e, err := range score.Read(in) {
		r.lines++
		switch {
		case errors.Is(err, score.ErrLine):
			if bad++; r.firstBad == "" {
				r.firstBad = fmt.Sprintf("%s, %v", label, err)
			}
			if good == 0 && bad >= soundLines {
				return fmt.Errorf("%s is no access log in the combined format or Caddy's JSON: %w", label, err)
			}
		case err != nil:
			return fmt.Errorf("%s: %w", label, err)
		default:
			good++
			path, _, _ := strings.Cut(e.URI, "?")
			if r.feeds.MatchString(path) {
				r.judge.Add(e)
			}
		}
		if r.lines%tellBlock == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
			r.tell()
		}
	}
	r.bad += bad
	return nil
}

// tell shows that it goes on.
func (r *reading) tell() {
	if time.Since(r.told) >= tellEvery {
		r.told = time.Now()
		fmt.Fprintf(r.err, "%d lines read\n", r.lines)
	}
}

func (r *reading) sum() {
	if r.bad > 0 {
		fmt.Fprintf(r.err, "%d of %d lines cannot be read, the first: %s\n", r.bad, r.lines, oneLine(r.firstBad))
	}
}

// The JSON of score.
type scored struct {
	Client   string          `json:"client"`
	Agent    string          `json:"agent"`
	Requests int             `json:"requests"`
	Feeds    int             `json:"feeds"`
	Bytes    int64           `json:"bytes"`
	Passed   int             `json:"passed"`
	Criteria []scoredVerdict `json:"criteria"`
}

type scoredVerdict struct {
	Name    string `json:"name"`
	Outcome string `json:"outcome"` // "pass", "fail" or "unknown"
	Faults  int    `json:"faults"`
	Why     string `json:"why"`
}

func printScores(w io.Writer, cards []score.Card) error {
	out := struct {
		Clients []scored `json:"clients"`
	}{[]scored{}}
	for _, c := range cards {
		s := scored{c.Client, c.Agent, c.Requests, c.Documents, c.Bytes, c.Passed(), nil}
		for i, v := range c.Verdicts {
			word := map[score.Outcome]string{score.Pass: "pass", score.Fail: "fail", score.Unknown: "unknown"}[v.Outcome]
			s.Criteria = append(s.Criteria, scoredVerdict{score.Criterion(i).String(), word, v.Faults, v.Why})
		}
		out.Clients = append(out.Clients, s)
	}
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(out)
}
