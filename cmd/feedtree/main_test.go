package main

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"feedtree": main})
}

// TestScripts runs the command as people do: each script in testdata is a
// session at a terminal.
func TestScripts(t *testing.T) {
	origin := httptest.NewServer(http.FileServer(http.Dir("testdata/site")))
	t.Cleanup(origin.Close)
	testscript.Run(t, testscript.Params{
		Dir: "testdata",
		Setup: func(e *testscript.Env) error {
			_, port, err := net.SplitHostPort(origin.Listener.Addr().String())
			if err != nil {
				return err
			}
			e.Setenv("ORIGIN", "http://feeds.example:"+port)
			e.Setenv("RESOLVE", "feeds.example:"+port+":127.0.0.1")
			site, err := filepath.Abs("testdata/site")
			if err != nil {
				return err
			}
			e.Setenv("SITE", site)
			e.Setenv("HOME", filepath.Join(e.WorkDir, "home"))
			// A port that is in use for as long as the script runs.
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				return err
			}
			e.Defer(func() { _ = l.Close() })
			e.Setenv("BUSY", l.Addr().String())
			if e.Vars, err = withFreePorts(e.Vars, "PORT1", "PORT2"); err != nil {
				return err
			}
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"mode": mode, "answers": answers},
	})
}

// mode checks the permissions of a file: mode -rw------- FILE.
func mode(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: mode -rw------- FILE")
	}
	info, err := os.Stat(ts.MkAbs(args[1]))
	ts.Check(err)
	if got := info.Mode().String(); got != args[0] {
		ts.Fatalf("%s has mode %s, want %s", args[1], got, args[0])
	}
}

// withFreePorts sets variables to addresses that nobody listens on.
func withFreePorts(vars []string, names ...string) ([]string, error) {
	for _, name := range names {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer func() { _ = l.Close() }() // at the end, so that they differ
		vars = append(vars, name+"="+l.Addr().String())
	}
	return vars, nil
}

// answers waits until a URL is answered with a status, and writes the body to
// a file: answers 200 URL FILE.
func answers(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: answers STATUS URL FILE")
	}
	last := "nothing"
	limit := time.Now().Add(20 * time.Second)
	for now := range time.Tick(20 * time.Millisecond) {
		if now.After(limit) {
			break
		}
		w, err := http.Get(args[1])
		if err != nil {
			last = err.Error()
			continue
		}
		body, err := io.ReadAll(w.Body)
		_ = w.Body.Close()
		if last = w.Status; err == nil && strings.HasPrefix(w.Status, args[0]) {
			ts.Check(os.WriteFile(ts.MkAbs(args[2]), body, 0o600))
			return
		}
	}
	ts.Fatalf("%s: %s", args[1], last)
}
