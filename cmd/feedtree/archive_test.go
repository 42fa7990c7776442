package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/feedtree/feedtree/feed/archive"
	"github.com/feedtree/feedtree/feed/store"
	"github.com/feedtree/feedtree/signing"
)

// kept makes a data directory with two items and returns it, still in use.
func kept(t *testing.T) (string, *dataDir) {
	t.Helper()
	dir := t.TempDir()
	data, err := openData(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { data.Close() })
	const url = "https://news.example/feed.xml"
	batch := store.Batch{Feed: &store.Feed{URL: url}}
	for n, title := range []string{"Trees &amp; roads", "News of the forest"} {
		batch.Items = append(batch.Items, store.Item{
			Feed: url, Key: title, Hash: [32]byte{byte(n)}, Trust: store.Signed, Published: time.Date(2026, 3, 1+n, 12, 0, 0, 0, time.UTC),
			Doc: []byte(`<rss version="2.0"><channel><title/><link>https://news.example/</link><description/><item><title>` + title +
				`</title><link>https://news.example/x</link><guid isPermaLink="false">id</guid><description>An oak in the café</description></item></channel></rss>`),
		})
	}
	if _, err := data.archive.Apply(t.Context(), batch); err != nil {
		t.Fatal(err)
	}
	return dir, data
}

func archiveTool(args ...string) (code int, out, errs string) {
	var o, e bytes.Buffer
	code = run(append([]string{"archive"}, args...), terminal{In: strings.NewReader(""), Out: &o, Err: &e})
	return code, o.String(), e.String()
}

// Beside a proxy that runs, an archive can be looked at and not changed.
func TestArchiveBesideAProxy(t *testing.T) {
	dir, _ := kept(t)
	for _, c := range []struct {
		args     []string
		code     int
		out, err string
	}{
		{[]string{"check", "--data", dir}, 0, "sound: 2 items of 1 feeds", ""},
		{[]string{"search", "--data", dir, "forest", "oak"}, 0, "News of the forest", ""},
		{[]string{"search", "--data", dir, "cafe"}, 0, "Trees & roads", ""},
		{[]string{"search", "--data", dir, "missing"}, 0, "", "nothing found"},
		{[]string{"export", "--data", dir, filepath.Join(dir, "out")}, 0, "", "items=2"},
		{[]string{"export", "--data", dir, filepath.Join(dir, "out")}, exitFailed, "", "is there already"},
		{[]string{"import", "--data", dir, filepath.Join(dir, "out")}, exitFailed, "", "in use by another feedtree: stop that one"},
		{[]string{"check", "--reindex", "--data", dir}, exitFailed, "", "in use by another feedtree"},
		{[]string{"check", "--data", t.TempDir()}, exitFailed, "", "there is no archive"},
		{[]string{"import", "--data", dir, filepath.Join(dir, "missing")}, exitFailed, "", "no such file"},
		{[]string{"search", "--data", dir}, exitUsage, "", "<words>"},
	} {
		code, out, errs := archiveTool(c.args...)
		if code != c.code || !strings.Contains(out, c.out) || !strings.Contains(errs, c.err) {
			t.Errorf("archive %v: exit %d, %q, %q; want %d, %q, %q", c.args, code, out, errs, c.code, c.out, c.err)
		}
	}
	if rest, _ := filepath.Glob(filepath.Join(dir, ".feedtree-export-*")); len(rest) > 0 {
		t.Errorf("left behind: %v", rest)
	}
}

// The names in the JSON are a promise to programs.
func TestArchiveSearchJSON(t *testing.T) {
	dir, _ := kept(t)
	_, out, _ := archiveTool("search", "--json", "--limit", "1", "--data", dir, "oak")
	var got foundItem
	if err := json.Unmarshal([]byte(out), &got); err != nil || got.Title != "News of the forest" || got.Link != "https://news.example/x" || got.ID != "id" ||
		got.Trust != "signed" || got.Feed != "https://news.example/feed.xml" || got.Snippet != "An oak in the café" || got.Published == nil {
		t.Errorf("%v: %s", err, out)
	}
	for _, name := range strings.Fields("feed id title link snippet published trust") {
		if !strings.Contains(out, `"`+name+`":`) {
			t.Errorf("no %s in %s", name, out)
		}
	}
}

// What a stolen key said is found, and called what it is.
func TestArchiveSearchTellsRevocations(t *testing.T) {
	dir, data := kept(t)
	const url = "https://news.example/feed.xml"
	root, _ := signing.Generate(rand.Reader)
	now, stolen := [32]byte{9}, [32]byte{7}
	state, err := signing.SignKeyState(signing.KeyState{
		Version: 1, URL: url, Issued: time.Now(), Roots: signing.RootSet{Keys: []signing.PublicKey{root.Public()}, Threshold: 1},
		Signing: []signing.SigningKey{{Key: now, Until: time.Now().Add(time.Hour)}},
		Revoked: []signing.Revocation{{Key: stolen, Epoch: 1, Seq: 5}},
	}, root)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := json.Marshal(map[string]string{"pem": string(signing.Certificate{state}.MarshalPEM())})
	if err != nil {
		t.Fatal(err)
	}
	batch := store.Batch{Feed: &store.Feed{URL: url, Cert: cert}}
	for seq, title := range []string{4: "before theft", 6: "after theft"} {
		if title != "" {
			batch.Items = append(batch.Items, store.Item{Feed: url, Key: title, Trust: store.Signed, Source: stolen, Epoch: 1, Seq: uint64(seq),
				Doc: []byte(`<rss><channel><item><title>` + title + `</title></item></channel></rss>`)})
		}
	}
	if _, err := data.archive.Apply(t.Context(), batch); err != nil {
		t.Fatal(err)
	}
	_, out, errs := archiveTool("search", "--json", "--data", dir, "theft")
	trust := map[string]string{}
	for lines := json.NewDecoder(strings.NewReader(out)); lines.More(); {
		var found foundItem
		if err := lines.Decode(&found); err != nil {
			t.Fatal(err)
		}
		trust[found.Title] = found.Trust
	}
	if trust["before theft"] != "signed" || trust["after theft"] != "revoked" {
		t.Errorf("%v\n%s%s", trust, out, errs)
	}
}

// What is exported can be imported elsewhere, twice, and be searched there.
func TestArchiveMoves(t *testing.T) {
	dir, _ := kept(t)
	file, other := filepath.Join(dir, "backup"), t.TempDir()
	archiveTool("export", "--data", dir, file)
	if info, err := os.Stat(file); err != nil || info.Mode().Perm()&0o077 != 0 {
		t.Errorf("others may read the export: %v, %v", info, err)
	}
	for range 2 {
		if code, _, errs := archiveTool("import", "--data", other, file); code != 0 || !strings.Contains(errs, "items=2") {
			t.Fatalf("exit %d: %s", code, errs)
		}
	}
	if _, out, errs := archiveTool("check", "--data", other); !strings.Contains(out, "sound: 2 items of 1 feeds") {
		t.Error(out, errs)
	}
	if code, _, errs := archiveTool("check", "--reindex", "--data", other); code != 0 {
		t.Error(errs)
	}
	if _, out, _ := archiveTool("search", "--data", other, "forest"); !strings.Contains(out, "News of the forest") {
		t.Error("after a new index:", out)
	}
}

// A damaged record is listed, and the exit code says so.
func TestArchiveCheckFinds(t *testing.T) {
	dir, data := kept(t)
	data.Close()
	path := filepath.Join(dir, archiveName)
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	at := bytes.Index(b, []byte("News of the forest")) // its key
	b[at] ^= 1
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, errs := archiveTool("check", "--file", path)
	if code != exitFailed || !strings.Contains(out, "items, row 2: it is not as it was written") || !strings.Contains(errs, "feedtree archive export") {
		t.Errorf("exit %d: %s%s", code, out, errs)
	}
	if code, out, _ := archiveTool("search", "--file", path, "oak"); code != 0 || strings.Contains(out, "forest") || !strings.Contains(out, "Trees") {
		t.Errorf("exit %d, found: %s", code, out)
	}
}

// Items are let go while the proxy runs, every hour.
func TestKeep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, err := archive.Open(filepath.Join(t.TempDir(), "archive.db"))
		if err != nil {
			t.Fatal(err)
		}
		defer a.Close()
		const url = "https://news.example/"
		old := store.Item{Feed: url, Key: "old", Received: time.Now()}
		if _, err := a.Apply(t.Context(), store.Batch{Feed: &store.Feed{URL: url}, Items: []store.Item{old}}); err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		var out bytes.Buffer
		go func() {
			defer close(done)
			keep(ctx, a, keepFlags{KeepDays: 2}.retention(), slog.New(slog.NewTextHandler(&out, nil)))
		}()
		for _, want := range []int{1, 0} {
			time.Sleep(30 * time.Hour)
			if n, err := a.Count(t.Context(), url); err != nil || n != want {
				t.Errorf("%d items, %v, want %d", n, err, want)
			}
		}
		stop()
		<-done
		if !strings.Contains(out.String(), "Age:1") {
			t.Errorf("the log says %q", &out)
		}
	})
}
