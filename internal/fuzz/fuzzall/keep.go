package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// keepAll adds to each target's testdata/fuzz what covers most.
func keepAll(ctx context.Context, s settings, targets []*target) error {
	made := make(map[string]string)
	for _, t := range targets {
		program := made[t.dir]
		if program == "" {
			program = filepath.Join(s.dir, strings.ReplaceAll(t.dir, string(filepath.Separator), "-")+".cover")
			c := exec.CommandContext(ctx, "go", "test", "-c", "-cover", "-o", program, "./"+t.dir)
			if out, err := c.CombinedOutput(); err != nil {
				return fmt.Errorf("build the tests of %s: %w\n%s", t.dir, err, out)
			}
			made[t.dir] = program
		}
		kept, of, err := t.keep(ctx, s, program)
		if err != nil {
			return fmt.Errorf("%s: %w", t.name(), err)
		}
		fmt.Printf("%-45s %4d of %5d\n", t.name(), kept, of)
	}
	return nil
}

const mostKept = 16 << 10 // bytes of a file

// keep looks at what the engine found, the shortest first, and keeps what covers
// something that nothing kept before covers.
func (t *target) keep(ctx context.Context, s settings, program string) (kept, of int, err error) {
	files, err := filepath.Glob(filepath.Join(t.found(s), t.function, "*"))
	if err != nil {
		return 0, 0, err
	}
	size := func(name string) int64 {
		info, err := os.Stat(name)
		if err != nil {
			return 0
		}
		return info.Size()
	}
	slices.SortStableFunc(files, func(a, b string) int { return int(size(a) - size(b)) })
	dir := filepath.Join(t.dir, "testdata", "fuzz", t.function)
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return 0, 0, err
	}
	known, err := t.covered(ctx, s, program, "^"+t.function+"$") // by what stands there already
	if err != nil {
		return 0, 0, err
	}
	for _, name := range files {
		if size(name) > mostKept || kept >= s.keep {
			continue
		}
		to := filepath.Join(dir, filepath.Base(name))
		if _, err := os.Stat(to); err == nil {
			continue
		}
		if err := copyFile(to, name); err != nil {
			return kept, len(files), err
		}
		blocks, err := t.covered(ctx, s, program, "^"+t.function+"$/^"+filepath.Base(name)+"$")
		if err != nil {
			return kept, len(files), err
		}
		if news := fresh(known, blocks); news {
			kept++
		} else if err := os.Remove(to); err != nil {
			return kept, len(files), err
		}
	}
	_ = os.Remove(dir) // if it is empty
	return kept, len(files), nil
}

// fresh takes in what is covered, and reports whether some of it is new.
func fresh(known, blocks map[string]bool) (news bool) {
	for b := range blocks {
		if !known[b] {
			known[b], news = true, true
		}
	}
	return news
}

// covered runs seeds of the target, and returns which parts of the package these
// reach.
func (t *target) covered(ctx context.Context, s settings, program, seeds string) (map[string]bool, error) {
	profile := filepath.Join(s.dir, "profile")
	c := exec.CommandContext(ctx, program, "-test.run", seeds, "-test.coverprofile", profile)
	c.Dir = t.dir
	if out, err := c.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("seeds %s: %w\n%s", seeds, err, out)
	}
	text, err := os.ReadFile(profile)
	if err != nil {
		return nil, err
	}
	blocks := make(map[string]bool)
	for line := range strings.Lines(string(text)) {
		if where, count, ok := strings.Cut(strings.TrimSpace(line), " "); ok && !strings.HasSuffix(count, " 0") {
			blocks[where] = true
		}
	}
	return blocks, nil
}

func copyFile(to, from string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	if closed := out.Close(); err == nil {
		err = closed
	}
	return err
}
