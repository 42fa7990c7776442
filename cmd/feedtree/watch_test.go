package main

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Programs write files in different ways; each of them is noticed, and what
// happens to other files is not.
func TestChangesOf(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "feed.xml")
	put := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put("feed.xml", "1")
	changes, end, err := changesOf(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		do   func()
	}{
		{"written in place", func() { put("feed.xml", "2") }},
		{"replaced", func() {
			put("new", "3")
			if err := os.Rename(filepath.Join(dir, "new"), path); err != nil {
				t.Fatal(err)
			}
		}},
		{"made anew", func() {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
			put("feed.xml", "4")
		}},
	} {
		c.do()
		select {
		case <-changes:
		case <-time.After(5 * time.Second):
			t.Fatalf("not noticed: %s", c.name)
		}
		// A write is several events: the rest of them belongs to it.
		for within(changes, 50*time.Millisecond) {
		}
	}
	put("other", "5")
	if within(changes, 50*time.Millisecond) {
		t.Error("another file's change was taken for the feed's")
	}
	if err := end(); err != nil {
		t.Fatal(err)
	}
	if _, open := <-changes; open {
		t.Error("the watch does not end")
	}
}

// within reports whether something came within a time.
func within(c <-chan struct{}, d time.Duration) bool {
	select {
	case <-c:
		return true
	case <-time.After(d):
		return false
	}
}
