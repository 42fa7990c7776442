package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/feedtree/feedtree/overlay/kad"
)

var binary string // the command, built once by TestMain

func TestMain(m *testing.M) {
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "feedtree-e2e-")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(dir)
		binary = filepath.Join(dir, "feedtree")
		build := exec.Command("go", "build", "-o", binary, "../cmd/feedtree")
		build.Stderr = os.Stderr
		if err := build.Run(); err != nil {
			fmt.Fprintln(os.Stderr, "building the command:", err)
			return 1
		}
		return m.Run()
	}())
}

// process is one running command.
type process struct {
	cmd  *exec.Cmd
	log  *buffer
	done chan struct{} // closed when it ended; err is set then
	err  error
}

// buffer is a log that may be read while it is written.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// start runs the command with the arguments and prints its log if the test
// fails.
func start(t testing.TB, env []string, args ...string) *process {
	t.Helper()
	return launch(t, exec.Command(binary, args...), env)
}

func launch(t testing.TB, cmd *exec.Cmd, env []string) *process {
	t.Helper()
	p := &process{cmd: cmd, log: &buffer{}, done: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), env...)
	p.cmd.Stdout, p.cmd.Stderr = p.log, p.log
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		p.err = p.cmd.Wait()
		close(p.done)
	}()
	t.Cleanup(func() {
		p.kill()
		if t.Failed() {
			t.Logf("log of %s:\n%s", strings.Join(cmd.Args, " "), tail(p.log.String(), 40))
		}
	})
	return p
}

func tail(s string, lines int) string {
	all := strings.Split(strings.TrimRight(s, "\n"), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}

// kill ends the process as a power cut would.
func (p *process) kill() {
	p.cmd.Process.Kill()
	<-p.done
}

// stop ends it as its user would, and returns how long that took.
func (p *process) stop(t testing.TB) time.Duration {
	t.Helper()
	begin := time.Now()
	p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.done:
	case <-time.After(10 * time.Second):
		t.Fatalf("still running 10 s after SIGTERM:\n%s", tail(p.log.String(), 40))
	}
	return time.Since(begin)
}

// run runs the command to its end and returns its exit status and output.
func run(t testing.TB, env []string, args ...string) (status int, output string) {
	t.Helper()
	p := start(t, env, args...)
	<-p.done
	var exit *exec.ExitError
	if p.err != nil && !errors.As(p.err, &exit) {
		t.Fatal(p.err)
	}
	return p.cmd.ProcessState.ExitCode(), p.log.String()
}

// proxy is a running ftproxy.
type proxy struct {
	*process
	t      testing.TB
	args   []string
	env    []string
	data   string
	listen string
	client *http.Client // nil: any
	addr   string       // a full multiaddr others bootstrap from
}

// swarm starts proxies that know each other through the first.
type swarm struct {
	t       testing.TB
	network string
	env     []string
	args    []string
	proxies []*proxy
}

func newSwarm(t testing.TB, env []string, args ...string) *swarm {
	return &swarm{t: t, network: fmt.Sprintf("e2e-%d-%d", os.Getpid(), time.Now().UnixNano()), env: env, args: args}
}

// overlay are the flags by which any command joins the swarm.
func (s *swarm) overlay() []string {
	flags := []string{"--network", s.network, "--no-mdns", "--no-rendezvous", "--no-nat",
		"--p2p-listen", "/ip4/127.0.0.1/udp/0/quic-v1"}
	for i, p := range s.proxies {
		if i < 2 && p.addr != "" {
			flags = append(flags, "--bootstrap", p.addr)
		}
	}
	return flags
}

func (s *swarm) add(n int) {
	s.t.Helper()
	for range n {
		p := &proxy{t: s.t, data: filepath.Join(s.t.TempDir(), "data"), listen: freePort(s.t), env: s.env}
		p.args = append(append([]string{"proxy", "--listen", p.listen, "--data", p.data}, s.overlay()...), s.args...)
		p.start()
		s.proxies = append(s.proxies, p)
	}
}

func (p *proxy) start() {
	p.t.Helper()
	p.process = start(p.t, p.env, p.args...)
	eventually(p.t, 20*time.Second, "ready: "+p.listen, func() bool {
		st, err := p.status()
		if err != nil || len(st.Addrs) == 0 {
			return false
		}
		p.addr = st.Addrs[0]
		return true
	})
}

// status is what GET /api/v1/status promises.
type status struct {
	PeerID   string            `json:"peer_id"`
	Addrs    []string          `json:"addrs"`
	Peers    int               `json:"peers"`
	Refused  map[string]uint64 `json:"refused"`
	Counts   map[string]uint64 `json:"counts"`
	Reach    kad.Reach         `json:"reach"`
	Spending kad.Spending      `json:"spending"`
	Feeds    []feedStatus      `json:"feeds"`
	Health   health            `json:"health"`
}

type health struct {
	Store string `json:"store"`
	Clock string `json:"clock"`
}

type feedStatus struct {
	URL            string            `json:"url"`
	Role           string            `json:"role"`
	Parent         string            `json:"parent"`
	Children       any               `json:"children"`
	Items          int               `json:"items"`
	EventsReceived int               `json:"events_received"`
	OriginRequests int               `json:"origin_requests"`
	LastEvent      string            `json:"last_event"`
	Attached       bool              `json:"attached"`
	Root           bool              `json:"root"`
	Refused        map[string]uint64 `json:"refused"`
}

func (f feedStatus) childCount() int {
	switch c := f.Children.(type) {
	case float64:
		return int(c)
	case []any:
		return len(c)
	}
	return 0
}

var client = &http.Client{Timeout: 10 * time.Second}

func (p *proxy) reader() *http.Client {
	if p.client != nil {
		return p.client
	}
	return client
}

func (p *proxy) status() (status, error) {
	var st status
	resp, err := p.reader().Get("http://" + p.listen + "/api/v1/status")
	if err != nil {
		return st, err
	}
	defer resp.Body.Close()
	return st, json.NewDecoder(resp.Body).Decode(&st)
}

func (p *proxy) feed(url string) (feedStatus, bool) {
	st, err := p.status()
	if err != nil {
		return feedStatus{}, false
	}
	for _, f := range st.Feeds {
		if f.URL == url {
			return f, true
		}
	}
	return feedStatus{}, false
}

// get reads a path of the proxy's as any reader would.
func (p *proxy) get(path string) (code int, body string) {
	resp, err := p.reader().Get("http://" + p.listen + path)
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, err.Error()
	}
	return resp.StatusCode, string(b)
}

// ask subscribes the proxy to a feed the way a reader does.
func (p *proxy) ask(url string) {
	p.t.Helper()
	if code, body := p.get("/feed/" + url); code != http.StatusOK {
		p.t.Fatalf("GET /feed/%s: %d\n%s", url, code, body)
	}
}

// holds counts how often a guid stands in what the proxy serves.
func (p *proxy) holds(url, guid string) int {
	code, body := p.get("/feed/" + url)
	if code != http.StatusOK {
		return 0
	}
	return strings.Count(body, ">"+guid+"</guid>")
}

// attached waits until the proxies' trees for the feed are one.
func (s *swarm) attached(url string) {
	s.t.Helper()
	eventually(s.t, 40*time.Second, "one tree for "+url, func() bool {
		roots := 0
		for _, p := range s.proxies {
			f, ok := p.feed(url)
			if !ok || !f.Attached {
				return false
			}
			if f.Root {
				roots++
			}
		}
		return roots <= 1
	})
}

// spread waits until every proxy serves the item exactly once and fails if
// that takes longer than within.
func (s *swarm) spread(url, guid string, since time.Time, within time.Duration) time.Duration {
	s.t.Helper()
	for i, p := range s.proxies {
		eventually(s.t, time.Until(since.Add(within)), fmt.Sprintf("%s at proxy %d", guid, i), func() bool {
			return p.holds(url, guid) == 1
		})
	}
	took := time.Since(since)
	for i, p := range s.proxies {
		if n := p.holds(url, guid); n != 1 {
			s.t.Errorf("proxy %d serves %s %d times", i, guid, n)
		}
	}
	return took
}

// eventually waits for a condition.
func eventually(t testing.TB, limit time.Duration, what string, cond func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	tick := time.NewTicker(25 * time.Millisecond)
	defer tick.Stop()
	for !cond() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			if !cond() {
				t.Fatalf("not within %v: %s", limit.Round(time.Millisecond), what)
			}
			return
		}
	}
}

func freePort(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}
