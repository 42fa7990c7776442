package house

import (
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// everywhere are the packages of which the same seed gives the same run, whatever the
// processor.
var everywhere = []string{"overlay", "overlay/sim", "multicast/tree", "sim", "sim/scenario"}

// pictures are their files that only draw what was run.
var pictures = []string{"figure.go", "plot.go"}

// fused is an instruction that adds a product that nobody rounded, and where it is from.
var fused = regexp.MustCompile(`/(\w+\.go):(\d+)\)\t(FN?M(?:ADD|SUB)[SD])`)

// Some processors multiply and add in one step, and round once instead of twice. Where Go
// may let them is decided by how a sum is written: what is made a float64 is rounded. Of two
// thousand nodes that draw when to do something, one would do it a nanosecond later, and from
// then on it would be another run. (What the standard library computes, a logarithm or a
// sine, may differ in its last digit, too, and is used only where that decides nothing.)
func TestRunsAreTheSameOnEveryProcessor(t *testing.T) {
	for _, name := range everywhere {
		for _, m := range fused.FindAllStringSubmatch(onARM(t, module+"/"+name), -1) {
			if !slices.Contains(pictures, m[1]) {
				t.Errorf("%s/%s:%s: a product is added before it is rounded (%s): make it a float64", name, m[1], m[2], m[3])
			}
		}
	}
}

// The rule itself must be able to fail.
func TestFusedIsSeen(t *testing.T) {
	dir := t.TempDir()
	const src = "package p\n\nfunc F(a, b, c float64) float64 { return a*b + c }\n\nfunc G(a, b, c float64) float64 { return float64(a*b) + c }\n"
	if err := os.WriteFile(dir+"/p.go", []byte(src), 0o600); err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, m := range fused.FindAllStringSubmatch(onARM(t, dir+"/p.go"), -1) {
		lines = append(lines, m[2])
	}
	if !slices.Contains(lines, "3") || slices.Contains(lines, "5") {
		t.Errorf("seen in the lines %v, want it in 3 and not in 5", lines)
	}
}

// onARM compiles a package for a processor that has such instructions and returns them.
func onARM(t *testing.T, what string) string {
	t.Helper()
	cmd := exec.Command("go", "build", "-gcflags=-S", "-o", os.DevNull, what)
	cmd.Env = append(os.Environ(), "GOARCH=arm64", "GOOS=linux", "CGO_ENABLED=0")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(cmd.Args, " "), err, out)
	}
	return string(out)
}
