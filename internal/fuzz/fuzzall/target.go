package main

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// target is a fuzz target and what was run of it.
type target struct {
	dir      string // of its package, from the module's root
	function string
	plain    string // its test program, and the same made for Go's engine
	engine   string

	perSeed int // mutations of each seed in the next slice
	guided  int
	mutated int
	took    time.Duration
	failed  bool
}

func (t *target) name() string { return t.dir + "." + t.function }

// speed is executions for each second so far.
func (t *target) speed() float64 {
	return float64(t.guided+t.mutated) / max(t.took.Seconds(), 1e-3)
}

var fuzzFunction = regexp.MustCompile(`(?m)^func (Fuzz\w+)\(`)

// own has a target that does nothing.
var own = filepath.Join("internal", "fuzz")

// find returns the targets below root that match, in the order of their names.
func find(root string, match *regexp.Regexp) (all []*target, err error) {
	err = filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") || filepath.Dir(path) == own {
			return err
		}
		source, err := os.ReadFile(path)
		for _, m := range fuzzFunction.FindAllSubmatch(source, -1) {
			t := &target{dir: filepath.Dir(path), function: string(m[1]), perSeed: 100}
			if match.MatchString(t.name()) {
				all = append(all, t)
			}
		}
		return err
	})
	if err == nil && len(all) == 0 {
		err = fmt.Errorf("no fuzz target below this directory: run it at the root of the module")
	}
	return all, err
}

// build makes the test programs of each package: a second one if the engine is to run.
func build(ctx context.Context, s settings, targets []*target) error {
	made := make(map[string]bool)
	for _, t := range targets {
		base := filepath.Join(s.dir, strings.ReplaceAll(t.dir, string(filepath.Separator), "-"))
		t.plain, t.engine = base+".test", base+".fuzz"
		if made[t.dir] {
			continue
		}
		made[t.dir] = true
		fmt.Fprintf(os.Stderr, "building %s\n", t.dir)
		programs := [][]string{{"-o", t.plain}, {"-fuzz", ".", "-o", t.engine}}
		if s.guided <= 0 {
			programs = programs[:1]
		}
		for _, args := range programs {
			c := exec.CommandContext(ctx, "go", append(append([]string{"test", "-c"}, args...), "./"+t.dir)...)
			if out, err := c.CombinedOutput(); err != nil {
				return fmt.Errorf("build the tests of %s: %w\n%s", t.dir, err, out)
			}
		}
	}
	return nil
}

// found is where the engine keeps what it found for the target.
func (t *target) found(s settings) string { return filepath.Join(s.dir, "corpus", t.dir) }

var executions = regexp.MustCompile(`execs: (\d+)`)

// guide lets Go's engine look for inputs.
func (t *target) guide(ctx context.Context, s settings, slice time.Duration) {
	if slice <= 0 {
		return
	}
	out := t.run(ctx, t.engine, "-test.run", "xxx", "-test.fuzz", "^"+t.function+"$", "-test.fuzztime", slice.String(),
		"-test.fuzzminimizetime", "100x", "-test.parallel", "1", "-test.fuzzcachedir", t.found(s))
	if all := executions.FindAllSubmatch(out, -1); len(all) > 0 {
		n, _ := strconv.Atoi(string(all[len(all)-1][1]))
		t.guided += n
	}
}

var mutationsMade = regexp.MustCompile(`mutations: (\d+) executions`)

// mutate tries mutations of what was found, as many as the last slice promises to
// take the time.
func (t *target) mutate(ctx context.Context, s settings, seed uint64, slice time.Duration) {
	if t.failed || ctx.Err() != nil {
		return
	}
	began := time.Now()
	out := t.run(ctx, t.plain, "-test.v", "-test.run", "^"+t.function+"$", "-mutations", strconv.Itoa(t.perSeed),
		"-mutations.seed", strconv.FormatUint(seed, 10), "-mutations.corpus", filepath.Join(t.found(s), t.function))
	for _, m := range mutationsMade.FindAllSubmatch(out, -1) {
		n, _ := strconv.Atoi(string(m[1]))
		t.mutated += n
	}
	faster := float64(slice) / float64(max(time.Since(began), time.Millisecond))
	t.perSeed = max(1, int(float64(t.perSeed)*min(faster, 20)))
}

// run runs a test program in its package's directory.
func (t *target) run(ctx context.Context, program string, args ...string) []byte {
	began := time.Now()
	c := exec.CommandContext(ctx, program, append(args, "-test.timeout", "0")...)
	c.Dir = t.dir
	c.Cancel = func() error { return c.Process.Signal(os.Interrupt) }
	c.WaitDelay = 10 * time.Second
	var out bytes.Buffer
	c.Stdout, c.Stderr = &out, &out
	err := c.Run()
	t.took += time.Since(began)
	if err != nil && ctx.Err() == nil {
		t.failed = true
		fmt.Fprintf(os.Stderr, "%s FAILED: %v\n%s\n", t.name(), err, out.Bytes())
	}
	return out.Bytes()
}
