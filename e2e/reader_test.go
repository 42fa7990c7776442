package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// The readers that Debian ships see what the proxy serves, and see an item
// that came through the tree without anybody polling for it twice.
func TestReaders(t *testing.T) {
	st := newStage(t, 2)
	st.subscribe(st.legacy.url)
	last := st.proxies[1]
	local := "http://" + last.listen + "/feed/" + st.legacy.url
	st.legacy.add("for-readers")
	st.put()
	st.spread(st.legacy.url, "for-readers", time.Now(), 20*time.Second)
	const title = "Title of for-readers"

	t.Run("newsboat", func(t *testing.T) {
		need(t, "newsboat")
		dir := t.TempDir()
		urls, cache, config := filepath.Join(dir, "urls"), filepath.Join(dir, "cache.db"), filepath.Join(dir, "config")
		write(t, urls, local+"\n")
		write(t, config, "")
		reader(t, dir, "newsboat", "-q", "-u", urls, "-c", cache, "-C", config, "-x", "reload")
		db := reader(t, dir, "newsboat", "-q", "-u", urls, "-c", cache, "-C", config, "-x", "print-unread")
		if !strings.Contains(db, "2 unread") {
			t.Errorf("newsboat says %q, want 2 unread articles", db)
		}
	})

	t.Run("sfeed", func(t *testing.T) {
		need(t, "sfeed_update")
		dir := t.TempDir()
		rc := filepath.Join(dir, "sfeedrc")
		write(t, rc, fmt.Sprintf("sfeedpath=%q\nfeeds() {\n\tfeed 'test' '%s'\n}\n", dir, local))
		reader(t, dir, "sfeed_update", rc)
		got, err := os.ReadFile(filepath.Join(dir, "test"))
		if err != nil || !strings.Contains(string(got), title) || !strings.Contains(string(got), "for-readers") {
			t.Errorf("sfeed has %q (%v)", got, err)
		}
	})

	t.Run("rsstail", func(t *testing.T) {
		need(t, "rsstail")
		if out := reader(t, t.TempDir(), "rsstail", "-1", "-u", local); !strings.Contains(out, title) {
			t.Errorf("rsstail prints %q", out)
		}
	})
}

func need(t *testing.T, program string) {
	t.Helper()
	if _, err := exec.LookPath(program); err != nil {
		t.Skipf("%s is not installed (Debian: apt install newsboat sfeed rsstail)", program)
	}
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func reader(t *testing.T, home string, program string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = append(os.Environ(), "HOME="+home, "XDG_CONFIG_HOME="+home, "XDG_DATA_HOME="+home, "TERM=dumb", "LC_ALL=C.UTF-8")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", program, err, out)
	}
	return string(out)
}
