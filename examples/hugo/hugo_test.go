// Package hugo_test builds the example with the Hugo that is installed.
package hugo_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/feedtree/feedtree/feed"
	"github.com/feedtree/feedtree/multicast"
)

const url = "https://blog.example.org/index.xml"

// build makes the site and returns a file of it.
func build(t *testing.T, site, file string) []byte {
	t.Helper()
	cmd := exec.Command("hugo", "--quiet", "--source", site)
	cmd.Env = append(os.Environ(), "HUGO_CACHEDIR="+t.TempDir())
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("hugo: %v\n%s", err, out)
	}
	doc, err := os.ReadFile(filepath.Join(site, "public", file))
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

func parse(t *testing.T, doc []byte) *feed.Feed {
	t.Helper()
	f, err := feed.Parse(doc, "")
	if err != nil {
		t.Fatal(err)
	}
	if len(f.Defects) > 0 {
		t.Errorf("defects: %q in\n%s", f.Defects, doc)
	}
	return f
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// The site is built with what keygen prints, and clients find it in the feed that
// it is about and in no other.
func TestSite(t *testing.T) {
	if _, err := exec.LookPath("hugo"); err != nil {
		t.Skip("hugo is not installed: the example's template is not tested (apt-get install hugo)")
	}
	site := t.TempDir()
	for _, part := range []string{"layouts", "content"} {
		if err := os.CopyFS(filepath.Join(site, part), os.DirFS(part)); err != nil {
			t.Fatal(err)
		}
	}
	config, err := os.ReadFile("hugo.toml")
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(site, "hugo.toml"), string(config))

	if f := parse(t, build(t, site, "index.xml")); f.Tree != nil {
		t.Error("the example as it stands announces a tree")
	}
	tree := feed.Tree{
		Version: 1, Group: multicast.Group(multicast.GroupOf(url)).String(), Cert: "https://blog.example.org/.well-known/feedtree.pem",
		Fingerprint: "sha-256:" + strings.Repeat("a1", 32), Bootstrap: []string{"/dnsaddr/ft.example.org/p2p/12D3KooW"},
	}
	write(t, filepath.Join(site, "layouts/partials/feedtree.xml"), tree.XML())
	doc := build(t, site, "index.xml")
	f := parse(t, doc)
	if f.Tree == nil || !reflect.DeepEqual(*f.Tree, tree) {
		t.Errorf("clients see %+v, want %+v", f.Tree, tree)
	}
	if f.Self != url || f.Link != "https://blog.example.org/" || f.Title != "A blog" {
		t.Errorf("self %q, link %q, title %q", f.Self, f.Link, f.Title)
	}
	if len(f.Items) != 2 {
		t.Fatalf("%d items, want 2", len(f.Items))
	}
	hello := f.Items[1]
	if hello.Title != "Hello & welcome" || hello.GUID != "https://blog.example.org/posts/hello/" || hello.Link != hello.GUID ||
		hello.Published.IsZero() || !strings.Contains(hello.Summary+hello.Content, "<em>first</em>") ||
		!strings.Contains(hello.Summary+hello.Content, "<code>&lt;angle brackets&gt;</code>") {
		t.Errorf("the first post is %+v", hello)
	}
	if section := parse(t, build(t, site, "posts/index.xml")); section.Tree != nil || len(section.Items) != 2 {
		t.Error("the feed of a section announces the tree of another feed")
	}
	if again := build(t, site, "index.xml"); !bytes.Equal(again, doc) {
		t.Errorf("the same posts make another document:\n%s", again)
	}

	write(t, filepath.Join(site, "content/posts/third.md"), "---\ntitle: Third\ndate: 2026-11-03T09:00:00Z\n---\nNews.\n")
	known := map[string][32]byte{}
	for _, it := range f.Items {
		known[it.Key()] = it.Hash()
	}
	fresh := feed.Diff(func(key string) ([32]byte, bool) { h, ok := known[key]; return h, ok }, parse(t, build(t, site, "index.xml")))
	if len(fresh) != 1 || fresh[0].Title != "Third" {
		t.Errorf("after one more post %d items are new", len(fresh))
	}
}
