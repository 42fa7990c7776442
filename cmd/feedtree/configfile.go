package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// configFile is a file of lines like
//
//	# where readers find the proxy
//	listen = 127.0.0.1:8089
//	bootstrap = /ip4/203.0.113.7/udp/4001/quic-v1/p2p/12D3Koo…
//
// A key is the name of a flag, or of its environment variable, so that a file for
// systemd's EnvironmentFile serves as well. A flag that can be repeated is given in
// several lines. Flags and environment outrank the file.
type configFile struct {
	values map[string][]any // by flag
	lines  map[string]int   // where each key stood first
	used   []string         // flags that have their value from here
	name   string
}

// configFiles are those that were read, to say where a bad value stands.
type configFiles []*configFile

func (all *configFiles) load(r io.Reader) (kong.Resolver, error) {
	c, err := readConfig(r)
	if err != nil {
		return nil, err
	}
	*all = append(*all, c)
	return c, nil
}

// locate adds to an error about flags where in a file these were set.
func (all configFiles) locate(err error) error {
	for _, c := range all {
		for _, flag := range c.used {
			if mentions(err.Error(), "--"+flag) {
				return fmt.Errorf("%w; it is set in %s, line %d", err, c.name, c.lines[flag])
			}
		}
	}
	return err
}

// mentions reports whether text holds the flag, and not only a longer one.
func mentions(text, flag string) bool {
	for {
		_, rest, found := strings.Cut(text, flag)
		if !found {
			return false
		}
		if rest == "" || rest[0] != '-' && (rest[0] < 'a' || rest[0] > 'z') {
			return true
		}
		text = rest
	}
}

func readConfig(r io.Reader) (*configFile, error) {
	c := &configFile{values: make(map[string][]any), lines: make(map[string]int), name: "config file"}
	if f, ok := r.(*os.File); ok {
		c.name = f.Name()
	}
	scanner := bufio.NewScanner(r)
	for n := 1; scanner.Scan(); n++ {
		line := strings.TrimSpace(scanner.Text())
		if line == "" || line[0] == '#' {
			continue
		}
		key, value, ok := strings.Cut(line, "=")
		if !ok {
			return nil, fmt.Errorf("%s, line %d: %q is not KEY = VALUE", c.name, n, line)
		}
		flag := flagName(strings.TrimSpace(key))
		c.values[flag] = append(c.values[flag], unquote(strings.TrimSpace(value)))
		if c.lines[flag] == 0 {
			c.lines[flag] = n
		}
	}
	if err := scanner.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", c.name, err)
	}
	return c, nil
}

// flagName turns FEEDTREE_POLL_MIN into poll-min, and leaves poll-min as it is.
func flagName(key string) string {
	key = strings.ToLower(strings.ReplaceAll(key, "_", "-"))
	return strings.TrimPrefix(key, "feedtree-")
}

func unquote(s string) string {
	if len(s) >= 2 && (s[0] == '"' || s[0] == '\'') && s[len(s)-1] == s[0] {
		return s[1 : len(s)-1]
	}
	return s
}

// Validate refuses keys that are no flag of any command: a typo must not pass.
func (c *configFile) Validate(app *kong.Application) error {
	var known []string
	err := kong.Visit(app, func(node kong.Visitable, next kong.Next) error {
		if f, ok := node.(*kong.Flag); ok {
			known = append(known, f.Name)
		}
		return next(nil)
	})
	var unknown []string
	for flag := range c.lines {
		if !slices.Contains(known, flag) {
			unknown = append(unknown, flag)
		}
	}
	if len(unknown) == 0 {
		return err
	}
	first := slices.MinFunc(unknown, func(a, b string) int { return c.lines[a] - c.lines[b] })
	advice := "feedtree proxy --help lists those there are"
	if meant := nearest(first, known); meant != "" {
		advice = fmt.Sprintf("did you mean %q?", meant)
	}
	return fmt.Errorf("%s, line %d: there is no setting named %q; %s", c.name, c.lines[first], first, advice)
}

// Resolve gives a flag its value from the file unless the environment has one.
func (c *configFile) Resolve(_ *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
	for _, name := range flag.Envs {
		if _, ok := os.LookupEnv(name); ok {
			return nil, nil
		}
	}
	values := c.values[flag.Name]
	if len(values) == 0 {
		return nil, nil
	}
	c.used = append(c.used, flag.Name)
	switch {
	case flag.IsSlice():
		return values, nil
	case len(values) > 1:
		return nil, fmt.Errorf("--%s is given more than once", flag.Name)
	}
	return values[0], nil
}
