package tree_test

import (
	"bufio"
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/feedtree/feedtree/multicast/tree"
	"github.com/feedtree/feedtree/overlay"
	oversim "github.com/feedtree/feedtree/overlay/sim"
	"github.com/feedtree/feedtree/sim"
)

var rewrite = flag.Bool("rewrite", false, "rewrite the golden scripts' answers")

// TestScripts replays testdata/*.txt. A line that begins with "> " is a
// command; the lines below it, up to the next command, are what it must
// answer. Commands:
//
//	world NODES [children=N] [seed=N]
//	join|leave NODE…   crash|shut|restart NODE…   partition NODE…   heal
//	publish NODE   run DURATION   tree   roots   check   got NODE
func TestScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no scripts", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) { replay(t, file) })
	}
}

func replay(t *testing.T, file string) {
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var got bytes.Buffer
	s := &script{t: t}
	skip := false
	for sc := bufio.NewScanner(bytes.NewReader(want)); sc.Scan(); {
		line := sc.Text()
		command, isCommand := strings.CutPrefix(line, "> ")
		switch {
		case isCommand:
			fmt.Fprintln(&got, line)
			if answer := strings.TrimRight(s.do(strings.Fields(command)), "\n"); answer != "" {
				fmt.Fprintln(&got, answer)
			}
			skip = true
		case line == "" || strings.HasPrefix(line, "#"):
			fmt.Fprintln(&got, line)
			skip = false
		case !skip:
			t.Fatalf("%s: %q answers no command", file, line)
		}
	}
	switch {
	case *rewrite:
		if err := os.WriteFile(file, got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	case !bytes.Equal(got.Bytes(), want):
		t.Errorf("%s: got\n%s", file, got.String())
	}
}

type script struct {
	t *testing.T
	w *sim.Trees
}

func (s *script) do(words []string) string {
	args := words[1:]
	if words[0] == "world" {
		s.world(args)
		return ""
	}
	g := s.w.GroupNamed("feed")
	ids := make([]overlay.ID, len(args))
	for i, a := range args {
		ids[i] = overlay.ID(a)
	}
	each := func(f func(overlay.ID)) {
		for _, id := range ids {
			f(id)
		}
	}
	switch words[0] {
	case "join":
		s.w.Join(g, ids...)
	case "leave":
		s.w.Leave(g, ids...)
	case "crash":
		each(s.w.Crash)
	case "shut":
		each(s.w.Shut)
	case "restart":
		each(s.w.Restart)
	case "partition":
		s.w.Partition(ids)
	case "heal":
		s.w.Heal()
	case "publish":
		each(func(id overlay.ID) { s.w.Publish(g, id, 0) })
	case "run":
		d, err := time.ParseDuration(args[0])
		if err != nil {
			s.t.Fatal(err)
		}
		s.w.RunFor(d)
	case "tree":
		return s.w.Tree(g)
	case "roots":
		return fmt.Sprint(s.w.Roots(g))
	case "check":
		return s.check()
	case "got":
		var b strings.Builder
		for _, d := range s.w.Record(g, ids[0]).Deliveries {
			fmt.Fprintf(&b, "%d %v hops=%d\n", d.Stamp.Seq, d.Via, d.Hops)
		}
		return b.String()
	default:
		s.t.Fatalf("unknown command %q", words[0])
	}
	return ""
}

func (s *script) world(args []string) {
	cfg := sim.TreesConfig{Net: oversim.Config[*tree.Message]{Seed: 1}}
	for i, a := range args {
		name, value, _ := strings.Cut(a, "=")
		if i == 0 {
			value = a
		}
		n, err := strconv.Atoi(value)
		switch {
		case err != nil:
			s.t.Fatal(err)
		case i == 0:
			cfg.Nodes = n
		case name == "children":
			cfg.Tree.Children = n
		case name == "seed":
			cfg.Net.Seed = uint64(n)
		default:
			s.t.Fatalf("world: %q", a)
		}
	}
	s.w = sim.NewTrees(cfg)
	s.w.RunFor(2 * time.Second)
}

func (s *script) check() string {
	g := s.w.GroupNamed("feed")
	var b strings.Builder
	for _, f := range s.w.Faults(g) {
		fmt.Fprintln(&b, "fault:", f)
	}
	for _, h := range s.w.Missed(g, 0) {
		fmt.Fprintln(&b, "missed:", h)
	}
	for _, h := range s.w.Doubled(g) {
		fmt.Fprintln(&b, "doubled:", h)
	}
	if b.Len() == 0 {
		return "sound and whole"
	}
	return b.String()
}
