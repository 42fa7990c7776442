package house

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/feedtree/feedtree"

// layers lists the house from the ground up. A package may import packages of
// this module only from lower layers; where one layer has several packages,
// they do not know each other.
var layers = [][]string{
	{"overlay", "signing", "feed", "feed/store", "feed/schedule", "feed/witness", "feed/match", "feed/fetch/polite", "feed/score"},
	{"multicast", "overlay/kad", "overlay/sim", "feed/fetch", "feed/archive", "feed/opml", "feed/store/storetest"},
	{"multicast/tree", "multicast/exchange"},
	{"multicast/live/internal/wire", "multicast/internal/limbo"},
	{"multicast/live", "multicast/gossip"},
	{"multicast/conformance"},
	{"sim", "sim/polling", "sim/lies"},
	{"sim/scenario", "sim/forks"},
	{""},
	{"proxy"},
	{"cmd/feedtree", "examples/ftproxy", "examples/reader", "examples/publisher"},
}

// free are packages that hold tests and nothing anybody imports.
var free = []string{"internal/", "examples", "e2e", "packaging"}

// pure are the cores: standard library and each other, no I/O, no clock, no
// goroutine.
var pure = []string{"overlay", "overlay/sim", "multicast", "multicast/tree", "multicast/exchange", "feed/schedule", "feed/witness", "feed/match", "feed/fetch/polite"}

// impureImports are what a core must not import, each with its reason.
var impureImports = map[string]string{
	"context":      "a core has nothing to wait for",
	"crypto/rand":  "randomness comes from the generator the node owns",
	"io/ioutil":    "a core does no I/O",
	"log":          "a core reports through its outbox and counters",
	"log/slog":     "a core reports through its outbox and counters",
	"math/rand":    "use math/rand/v2 with the node's own seeded generator",
	"net":          "a core does no I/O",
	"net/http":     "a core does no I/O",
	"os":           "a core does no I/O",
	"sync":         "one goroutine owns a core",
	"sync/atomic":  "one goroutine owns a core",
	"time/tzdata":  "a core has no calendar",
	"unsafe":       "nothing here is worth it",
	"runtime":      "a core does not know what runs it",
	"os/signal":    "a core does no I/O",
	"syscall":      "a core does no I/O",
	"database/sql": "a core does no I/O",
}

// exempt are imports that a core may have all the same, each with its reason.
var exempt = map[[2]string]string{
	{"multicast", "context"}: "the interface of those who carry events, which wait; nothing here does",
}

// impureCalls are functions of allowed packages that a core must not call.
var impureCalls = map[string]string{
	"time.Now":       "time is an argument",
	"time.Since":     "time is an argument",
	"time.Until":     "time is an argument",
	"time.Sleep":     "a core does not wait",
	"time.After":     "a core does not wait: it has a Deadline",
	"time.AfterFunc": "a core does not wait: it has a Deadline",
	"time.NewTimer":  "a core does not wait: it has a Deadline",
	"time.NewTicker": "a core does not wait: it has a Deadline",
	"time.Tick":      "a core does not wait: it has a Deadline",
	"fmt.Print":      "a core does no I/O",
	"fmt.Printf":     "a core does no I/O",
	"fmt.Println":    "a core does no I/O",
}

// globalRand are the functions of math/rand/v2 that do not draw from the
// process's generator.
var globalRand = []string{"New", "NewPCG", "NewChaCha8", "NewZipf", "Rand", "PCG", "Source", "ChaCha8", "Zipf"}

type pkg struct {
	ImportPath string
	Dir        string
	GoFiles    []string
	Imports    []string
}

func packages(t *testing.T) []pkg {
	t.Helper()
	out, err := exec.Command("go", "list", "-json=ImportPath,Dir,GoFiles,Imports", module+"/...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var all []pkg
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p pkg
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
}

func short(path string) (string, bool) {
	if path == module {
		return "", true
	}
	return strings.CutPrefix(path, module+"/")
}

func layer(name string) int {
	return slices.IndexFunc(layers, func(l []string) bool { return slices.Contains(l, name) })
}

func TestImportsRunDownward(t *testing.T) {
	for _, p := range packages(t) {
		name, _ := short(p.ImportPath)
		if slices.ContainsFunc(free, func(f string) bool { return strings.HasPrefix(name, f) && layer(name) < 0 }) {
			continue
		}
		own := layer(name)
		if own < 0 {
			t.Errorf("%s stands in no layer: give it a place in house_test.go", p.ImportPath)
			continue
		}
		for _, imp := range p.Imports {
			if dep, ours := short(imp); ours && layer(dep) >= own {
				t.Errorf("%s imports %s, which does not stand below it", name, dep)
			}
		}
	}
}

func TestCoresArePure(t *testing.T) {
	for _, p := range packages(t) {
		name, _ := short(p.ImportPath)
		if !slices.Contains(pure, name) {
			continue
		}
		for _, imp := range p.Imports {
			if why, no := impureImports[imp]; no && exempt[[2]string{name, imp}] == "" {
				t.Errorf("%s imports %q: %s", name, imp, why)
			}
			if dep, ours := short(imp); ours && !slices.Contains(pure, dep) {
				t.Errorf("%s imports %s, which is not pure", name, dep)
			} else if !ours && strings.Contains(strings.Split(imp, "/")[0], ".") {
				t.Errorf("%s imports %s: a core has the standard library only", name, imp)
			}
		}
		for _, file := range p.GoFiles {
			for _, fault := range impurities(t, filepath.Join(p.Dir, file)) {
				t.Errorf("%s/%s", name, fault)
			}
		}
	}
}

// impurities reads one file for calls and statements a core must not have.
func impurities(t *testing.T, path string) []string {
	t.Helper()
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, path, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	return inspect(fset, f)
}

func inspect(fset *token.FileSet, f *ast.File) []string {
	var faults []string
	add := func(n ast.Node, what, why string) {
		pos := fset.Position(n.Pos())
		faults = append(faults, fmt.Sprintf("%s:%d: %s: %s", filepath.Base(pos.Filename), pos.Line, what, why))
	}
	rand := ""
	for _, imp := range f.Imports {
		if path, _ := strconv.Unquote(imp.Path.Value); path == "math/rand/v2" {
			if rand = "rand"; imp.Name != nil {
				rand = imp.Name.Name
			}
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			add(n, "go statement", "a core has no goroutine")
		case *ast.SelectStmt, *ast.SendStmt, *ast.ChanType:
			add(n, "channel", "a core has no goroutine")
		case *ast.SelectorExpr:
			x, ok := n.X.(*ast.Ident)
			if !ok || x.Obj != nil {
				return true
			}
			call := x.Name + "." + n.Sel.Name
			if why, no := impureCalls[call]; no {
				add(n, call, why)
			}
			if x.Name == rand && !slices.Contains(globalRand, n.Sel.Name) {
				add(n, call, "randomness comes from the generator the node owns")
			}
		}
		return true
	})
	return faults
}

// The rules themselves must be able to fail.
func TestImpurityIsSeen(t *testing.T) {
	const src = `package p
import ("time"; "math/rand/v2")
func f(c chan int, r *rand.Rand) { go f(c, r); _ = time.Now(); _ = rand.IntN(3); _ = r.IntN(3); c <- 1 }`
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, "p.go", src, 0)
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Join(inspect(fset, f), "\n")
	for _, want := range []string{"go statement", "time.Now", "rand.IntN", "channel"} {
		if !strings.Contains(got, want) {
			t.Errorf("%s not seen in\n%s", want, got)
		}
	}
	if strings.Contains(got, "r.IntN") {
		t.Errorf("the node's own generator is refused:\n%s", got)
	}
}
