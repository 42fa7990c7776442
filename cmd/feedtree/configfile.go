package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
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
	name   string
}

func loadConfig(r io.Reader) (kong.Resolver, error) {
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
	return c, scanner.Err()
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
	known := make(map[string]bool)
	err := kong.Visit(app, func(node kong.Visitable, next kong.Next) error {
		if f, ok := node.(*kong.Flag); ok {
			known[f.Name] = true
		}
		return next(nil)
	})
	for flag, line := range c.lines {
		if !known[flag] {
			return fmt.Errorf("%s, line %d: there is no flag named %q", c.name, line, flag)
		}
	}
	return err
}

// Resolve gives a flag its value from the file unless the environment has one.
func (c *configFile) Resolve(_ *kong.Context, _ *kong.Path, flag *kong.Flag) (any, error) {
	for _, name := range flag.Envs {
		if _, ok := os.LookupEnv(name); ok {
			return nil, nil
		}
	}
	values := c.values[flag.Name]
	switch {
	case len(values) == 0:
		return nil, nil
	case flag.IsSlice():
		return values, nil
	case len(values) > 1:
		return nil, fmt.Errorf("%s, line %d: given more than once", c.name, c.lines[flag.Name])
	}
	return values[0], nil
}
