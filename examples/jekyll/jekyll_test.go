// Package jekyll_test builds the example with the Jekyll that is installed.
package jekyll_test

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

const url = "https://blog.example.org/feed.xml"

// build makes the site and returns its feed, parsed and as it is.
func build(t *testing.T, site string) (*feed.Feed, []byte) {
	t.Helper()
	cmd := exec.Command("jekyll", "build", "--quiet", "--disable-disk-cache", "--source", site, "--destination", filepath.Join(site, "_site"))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("jekyll: %v\n%s", err, out)
	}
	doc, err := os.ReadFile(filepath.Join(site, "_site/feed.xml"))
	if err != nil {
		t.Fatal(err)
	}
	f, err := feed.Parse(doc, "")
	if err != nil {
		t.Fatal(err)
	}
	if len(f.Defects) > 0 {
		t.Errorf("defects: %q in\n%s", f.Defects, doc)
	}
	return f, doc
}

// The site is built with what keygen prints, and clients find it in the feed.
func TestSite(t *testing.T) {
	if _, err := exec.LookPath("jekyll"); err != nil {
		t.Skip("jekyll is not installed: the example's template is not tested (apt-get install jekyll)")
	}
	site := t.TempDir()
	if err := os.CopyFS(site, os.DirFS(".")); err != nil {
		t.Fatal(err)
	}
	if f, _ := build(t, site); f.Tree != nil {
		t.Error("the example as it stands announces a tree")
	}
	tree := feed.Tree{
		Version: 1, Group: multicast.Group(multicast.GroupOf(url)).String(), Cert: "https://blog.example.org/.well-known/feedtree.pem",
		Fingerprint: "sha-256:" + strings.Repeat("a1", 32), Bootstrap: []string{"/dnsaddr/ft.example.org/p2p/12D3KooW"},
	}
	if err := os.WriteFile(filepath.Join(site, "_includes/feedtree.xml"), []byte(tree.XML()), 0o600); err != nil {
		t.Fatal(err)
	}
	f, doc := build(t, site)
	if f.Tree == nil || !reflect.DeepEqual(*f.Tree, tree) {
		t.Errorf("clients see %+v, want %+v", f.Tree, tree)
	}
	if f.Self != url || f.Link != "https://blog.example.org/" || f.Title != "A blog" || len(f.Items) != 2 {
		t.Fatalf("self %q, link %q, title %q, %d items", f.Self, f.Link, f.Title, len(f.Items))
	}
	hello := f.Items[1]
	if hello.Title != "Hello & welcome" || hello.GUID != "https://blog.example.org/2026/11/01/hello/" || hello.Link != hello.GUID ||
		hello.Published.IsZero() || !strings.Contains(hello.Content, "<em>first</em>") || !strings.Contains(hello.Content, "&lt;angle brackets&gt;") {
		t.Errorf("the first post is %+v", hello)
	}
	if _, again := build(t, site); !bytes.Equal(again, doc) {
		t.Errorf("the same posts make another document:\n%s", again)
	}
}
