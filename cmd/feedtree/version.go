package main

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"
)

// What a packager's build says of itself, by -ldflags "-X main.release=1.2.3
// -X main.commit=…"; without these the module and version control know.
var release, commit string

type versionCmd struct{}

// Run prints it.
func (versionCmd) Run(t terminal) error {
	_, err := fmt.Fprintln(t.Out, version())
	return err
}

// version is what the build says of itself, on one line.
func version() string {
	name, revision := release, commit
	if info, ok := debug.ReadBuildInfo(); ok {
		name = cmp.Or(name, info.Main.Version)
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				revision = cmp.Or(revision, s.Value)
			}
		}
	}
	const enough = 12 // digits of a revision
	return fmt.Sprintf("feedtree %s (commit %s, %s, %s/%s)", cmp.Or(name, "(unknown version)"),
		cmp.Or(revision[:min(len(revision), enough)], "unknown"), runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
