package main

import (
	"strings"
	"testing"

	"github.com/feedtree/feedtree/internal/fuzz"
)

func FuzzReadConfig(f *testing.F) {
	f.Add("# a comment\nlisten = 127.0.0.1:8089\nFEEDTREE_POLL_MIN=\"1h\"\n\nbootstrap='/ip4/x'")
	f.Add("=\n")
	f.Add("x")
	fuzz.Hold(f, func(t *testing.T, file string) {
		c, err := readConfig(strings.NewReader(file))
		if err != nil {
			return
		}
		for flag, values := range c.values {
			if line := c.lines[flag]; line < 1 || line > 1+strings.Count(file, "\n") || len(values) == 0 {
				t.Errorf("%q in line %d: %q", flag, line, values)
			}
		}
	})
}
