package packaging

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// process is the service, started as systemd starts it: as its user, in an
// environment of its own, with a state directory and a socket to be heard on.
type process struct {
	cmd    *exec.Cmd
	notify *net.UnixConn
	ended  chan error
}

func (s *setup) start(t *testing.T) *process {
	t.Helper()
	uid, gid := number(t, s.user.Uid), number(t, s.user.Gid)
	if err := os.MkdirAll(state, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(state, uid, gid); err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("/tmp", "feedtree-notify-") // where the user may go
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	socket := filepath.Join(dir, "notify")
	l, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: socket, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	for _, path := range []string{dir, socket} {
		if err := os.Chmod(path, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	p := &process{cmd: exec.Command(s.argv[0], s.argv[1:]...), notify: l, ended: make(chan error, 1)}
	p.cmd.Dir = "/"
	p.cmd.Env = []string{"PATH=/usr/bin:/bin", "LANG=C.UTF-8", "USER=feedtree", "STATE_DIRECTORY=" + state,
		"NOTIFY_SOCKET=" + socket, "WATCHDOG_USEC=" + strconv.Itoa(int((3 * time.Second).Microseconds()))}
	p.cmd.Stdout, p.cmd.Stderr = os.Stderr, os.Stderr
	p.cmd.SysProcAttr = &syscall.SysProcAttr{
		Pdeathsig: syscall.SIGKILL, Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)},
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { p.ended <- p.cmd.Wait() }()
	t.Cleanup(func() { _ = p.cmd.Process.Kill() })
	return p
}

// expect waits until the service says something.
func (p *process) expect(t *testing.T, what string) {
	t.Helper()
	b := make([]byte, 4096)
	if err := p.notify.SetReadDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	for {
		n, err := p.notify.Read(b)
		if err != nil {
			t.Fatalf("waiting for %s: %v", what, err)
		}
		if string(b[:n]) == what {
			return
		}
	}
}

// stop ends it as systemd does.
func (p *process) stop(t *testing.T) {
	t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	p.expect(t, "STOPPING=1")
	select {
	case err := <-p.ended:
		if err != nil {
			t.Fatalf("the service ended with %v", err)
		}
	case <-time.After(patience):
		t.Fatal("the service does not end")
	}
}

func number(t *testing.T, s string) int {
	t.Helper()
	n, err := strconv.Atoi(s)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
