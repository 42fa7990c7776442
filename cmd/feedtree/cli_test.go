package main

import (
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

// ownWay are flags that say what one run prints or where it reads its settings:
// they make no sense in an environment or a file that stays.
var ownWay = []string{"help", "config", "version", "json", "plot"}

// Every flag of a command that runs for long can be set in the environment, under
// the same name.
func TestFlagsInTheEnvironment(t *testing.T) {
	var c cli
	parser, err := kong.New(&c, kong.DefaultEnvars("FEEDTREE"), kong.Vars{"version": "x", "latency_file": "x"})
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	for _, node := range parser.Model.Children {
		if node.Name != "proxy" && node.Name != "publish" && node.Name != "follow" && node.Name != "doctor" {
			continue
		}
		for _, f := range append(parser.Model.Flags, node.Flags...) {
			own := false
			for _, name := range ownWay {
				own = own || f.Name == name
			}
			want := "FEEDTREE_" + strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_"))
			if checked++; !own && (len(f.Envs) != 1 || f.Envs[0] != want) {
				t.Errorf("feedtree %s --%s is %v in the environment, want %s", node.Name, f.Name, f.Envs, want)
			}
		}
	}
	if checked < 30 {
		t.Errorf("only %d flags were looked at", checked)
	}
}
