package e2e

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// While the disk is full what is held is served, status and readiness say what is
// wrong, and the process goes on; with room again it keeps what it missed.
func TestFullDisk(t *testing.T) {
	disk := t.TempDir()
	if err := syscall.Mount("feedtree-test", disk, "tmpfs", 0, "size=8m,mode=700"); err != nil {
		t.Skip("no small disk to fill (that takes root): ", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(disk, syscall.MNT_DETACH) })
	o := newOrigin(t, "news.feedtree-test.org", false)
	doc := &rss{url: o.base + "/feed.xml"}
	doc.add("before")
	o.set("/feed.xml", doc.String())
	s := newSwarm(t, nil, append(o.resolve(), "--poll-min", "1s", "--poll-max", "1s")...)
	p := &proxy{t: t, data: filepath.Join(disk, "data"), listen: freePort(t)}
	p.args = append(append([]string{"proxy", "--listen", p.listen, "--data", p.data}, s.overlay()...), s.args...)
	p.start()
	p.ask(doc.url)

	filler := filepath.Join(disk, "filler")
	fill(t, filler)
	doc.add("meanwhile")
	o.set("/feed.xml", doc.String())
	eventually(t, 30*time.Second, "a word about the full disk", func() bool {
		st, err := p.status()
		return err == nil && strings.Contains(st.Health.Store, "room")
	})
	if n := p.holds(doc.url, "before"); n != 1 {
		t.Errorf("while the disk is full the feed holds what it held %d times", n)
	}
	if code, body := p.get("/readyz"); code != http.StatusServiceUnavailable || !strings.Contains(body, "room") {
		t.Errorf("ready while the disk is full: %d\n%s", code, body)
	}
	if code, _ := p.get("/healthz"); code != http.StatusOK {
		t.Errorf("a full disk is no reason to restart: %d", code)
	}
	if code, out := run(t, nil, append([]string{"doctor", "--listen", p.listen}, o.resolve()...)...); code != 1 || !strings.Contains(out, "room") {
		t.Errorf("doctor: exit %d\n%s", code, out)
	}

	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	eventually(t, 30*time.Second, "what came meanwhile, with room again", func() bool {
		st, err := p.status()
		return err == nil && st.Health.Store == "" && p.holds(doc.url, "meanwhile") == 1
	})
	if code, body := p.get("/readyz"); code != http.StatusOK {
		t.Errorf("with room again: %d\n%s", code, body)
	}
	p.stop(t)
}

// fill takes all the room there is.
func fill(t *testing.T, path string) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if n, err := io.Copy(f, zeros{}); err == nil || n == 0 {
		t.Fatalf("%d bytes did not fill it: %v", n, err)
	}
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) { return len(b), nil }
