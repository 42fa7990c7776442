package packaging

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

var install = flag.Bool("install", false, "install the package on this machine, and take it away again")

const (
	mostBytes    = 45_000_000 // of the binary
	mostExposure = 20         // of 100, by systemd-analyze security
	state        = "/var/lib/feedtree"
	config       = "/etc/feedtree/feedtree.conf"
	unit         = "/lib/systemd/system/feedtree.service"
	article      = "urn:feedtree:packaged"
)

// TestPackage is the life of a package on one machine: built, installed, run as
// its user, upgraded in place, removed, purged.
func TestPackage(t *testing.T) {
	if !*install {
		t.Skip("installs a package, as root on Debian: go test ./packaging -install -v")
	}
	needs(t)
	old := build(t, "..", "1.0.0")
	again := build(t, copied(t), "1.0.0")
	new := build(t, "..", "1.1.0")
	t.Run("the same bytes from another place", func(t *testing.T) {
		for _, name := range []string{"feedtree", filepath.Base(old.deb)} {
			if a, b := sum(t, filepath.Join(old.dir, name)), sum(t, filepath.Join(again.dir, name)); a != b {
				t.Errorf("%s: %x and %x", name, a, b)
			}
		}
	})
	if size := fileSize(t, filepath.Join(new.dir, "feedtree")); size > mostBytes {
		t.Errorf("the binary has %d bytes, want at most %d", size, mostBytes)
	} else {
		t.Logf("the binary has %d bytes, the package %d", size, fileSize(t, new.deb))
	}
	t.Cleanup(func() { _, _ = command("dpkg", "--purge", "feedtree") })
	must(t, "dpkg", "-i", old.deb)
	t.Run("the unit", checkUnit)
	s := configure(t)
	t.Run("under systemd", s.underSystemd)
	p := s.start(t)
	p.expect(t, "READY=1")
	s.answers(t, "/healthz", "1.0.0")
	if body := s.get(t, "/feed/"+s.feed); !strings.Contains(body, article) {
		t.Fatalf("the feed is not served:\n%s", body)
	}
	p.expect(t, "WATCHDOG=1")
	must(t, "dpkg", "-i", new.deb) // while it runs
	p.stop(t)
	s.origin.Close() // from here on only what was kept can be served
	p = s.start(t)
	p.expect(t, "READY=1")
	s.answers(t, "/healthz", "1.1.0")
	if body := s.get(t, "/feed/"+s.feed); !strings.Contains(body, article) {
		t.Errorf("after the upgrade the feed is not served:\n%s", body)
	}
	s.follows(t)
	p.stop(t)
	must(t, "dpkg", "--remove", "feedtree")
	exists(t, map[string]bool{"/usr/bin/feedtree": false, unit: false, config: true, state + "/feedtree.db": true})
	must(t, "dpkg", "--purge", "feedtree")
	exists(t, map[string]bool{config: false, state: false, "/etc/feedtree": false})
	if _, err := user.Lookup("feedtree"); err == nil {
		t.Error("the user is still there")
	}
}

// needs skips where the test cannot run, or would take somebody's package away.
func needs(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("not root")
	}
	for _, tool := range []string{"dpkg", "systemd-analyze", "adduser", "git"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip("not here: ", err)
		}
	}
	if out, err := command("dpkg-query", "-W", "-f", "${db:Status-Status}", "feedtree"); err == nil && out != "not-installed" {
		t.Skip("feedtree is installed on this machine already")
	}
	if _, err := os.Stat(state); err == nil {
		t.Skip(state, " is there already")
	}
}

// built is what packaging/build made.
type built struct{ dir, deb string }

func build(t *testing.T, tree, version string) built {
	t.Helper()
	b := built{dir: t.TempDir()}
	c := exec.Command(filepath.Join(tree, "packaging/build"), b.dir)
	c.Env = append(os.Environ(), "VERSION="+version, "COMMIT=0123456789ab", "SOURCE_DATE_EPOCH=1700000000")
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("packaging/build: %v\n%s", err, out)
	}
	debs, _ := filepath.Glob(filepath.Join(b.dir, "*.deb"))
	if len(debs) != 1 {
		t.Fatalf("packages %v\n%s", debs, out)
	}
	b.deb = debs[0]
	return b
}

// copied is the tree in another place, without its history.
func copied(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "elsewhere")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	must(t, "sh", "-c", fmt.Sprintf("cd .. && git ls-files -z --cached --others --exclude-standard | "+
		"xargs -0 cp --parents --no-dereference --target-directory %s", dir))
	return dir
}

// checkUnit has systemd read the unit and say what a break-in could reach.
func checkUnit(t *testing.T) {
	// Verifying runs man for each page named; a machine may have none.
	out, err := command("systemd-analyze", "verify", "--man=no", unit)
	if err != nil || strings.TrimSpace(out) != "" {
		t.Errorf("verify: %v\n%s", err, out)
	}
	out, err = command("systemd-analyze", "security", "--offline=true", "--no-pager", "--threshold="+strconv.Itoa(mostExposure), unit)
	if err != nil {
		t.Errorf("security: %v\n%s", err, out)
	}
	lines := strings.Split(strings.TrimSpace(out), "\n")
	t.Log(lines[len(lines)-1])
}

// setup is the service as its administrator set it up, and a site to read.
type setup struct {
	origin *httptest.Server
	feed   string
	listen string
	argv   []string
	user   *user.User
}

// configure edits the configuration as an administrator would, for a machine
// without a network.
func configure(t *testing.T) *setup {
	t.Helper()
	s := &setup{argv: execStart(t), listen: freePort(t)}
	s.origin = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/rss+xml")
		fmt.Fprintf(w, `<rss version="2.0"><channel><title>T</title><item><title>A</title><guid isPermaLink="false">%s</guid></item></channel></rss>`, article)
	}))
	t.Cleanup(s.origin.Close)
	_, port, err := net.SplitHostPort(s.origin.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	const host = "news.feedtree-test.org"
	s.feed = "http://" + host + ":" + port + "/feed.xml"
	conf, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	conf = fmt.Appendf(conf, "listen = %s\nresolve = %s:%s:127.0.0.1\np2p-listen = /ip4/127.0.0.1/udp/0/quic-v1\n"+
		"no-mdns = true\nno-rendezvous = true\nno-nat = true\n", s.listen, host, port)
	if err := os.WriteFile(config, conf, 0o644); err != nil {
		t.Fatal(err)
	}
	if s.user, err = user.Lookup("feedtree"); err != nil {
		t.Fatal(err)
	}
	return s
}

// execStart is the unit's command, as its user.
func execStart(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile(unit)
	if err != nil {
		t.Fatal(err)
	}
	line := regexp.MustCompile(`(?m)^ExecStart=(.*)$`).FindSubmatch(text)
	if line == nil || !bytes.Contains(text, []byte("\nUser=feedtree\n")) || !bytes.Contains(text, []byte("\nStateDirectory=feedtree\n")) {
		t.Fatalf("the unit:\n%s", text)
	}
	return strings.Fields(string(line[1]))
}

// answers checks that a path is answered by a version.
func (s *setup) answers(t *testing.T, path, version string) {
	t.Helper()
	r, err := http.Get("http://" + s.listen + path)
	if err != nil {
		t.Fatal(err)
	}
	r.Body.Close()
	if got := r.Header.Get("X-FeedTree-Version"); r.StatusCode != http.StatusOK || !strings.Contains(got, version) {
		t.Errorf("%s: %s by %q, want %s", path, r.Status, got, version)
	}
	if body := s.get(t, "/"); !strings.Contains(body, "<html") {
		t.Errorf("the page:\n%s", body)
	}
}

func (s *setup) get(t *testing.T, path string) string {
	t.Helper()
	r, err := http.Get("http://" + s.listen + path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	if err != nil || r.StatusCode != http.StatusOK {
		t.Fatalf("GET %s: %s %v\n%s", path, r.Status, err, body)
	}
	return string(body)
}

// follows checks that the feed is subscribed to, with its items.
func (s *setup) follows(t *testing.T) {
	t.Helper()
	var status struct {
		Feeds []struct {
			URL   string
			Items int
		}
	}
	if err := json.Unmarshal([]byte(s.get(t, "/api/v1/status")), &status); err != nil {
		t.Fatal(err)
	}
	if len(status.Feeds) != 1 || status.Feeds[0].URL != s.feed || status.Feeds[0].Items != 1 {
		t.Errorf("after the upgrade: %+v", status.Feeds)
	}
}

func sum(t *testing.T, path string) [32]byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return sha256.Sum256(b)
}

func fileSize(t *testing.T, path string) int64 {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

func exists(t *testing.T, want map[string]bool) {
	t.Helper()
	for path, there := range want {
		if _, err := os.Stat(path); (err == nil) != there {
			t.Errorf("%s: there: %v, want %v", path, !there, there)
		}
	}
}

func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func command(name string, args ...string) (string, error) {
	c := exec.Command(name, args...)
	c.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive", "LC_ALL=C", "SYSTEMD_COLORS=0")
	out, err := c.CombinedOutput()
	return string(out), err
}

func must(t *testing.T, name string, args ...string) {
	t.Helper()
	if out, err := command(name, args...); err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
}

const patience = 30 * time.Second
