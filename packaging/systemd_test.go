package packaging

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A machine is a systemd of its own: process 1 of namespaces, over the programs of this
// machine, with directories to write to that vanish with it.
type machine struct {
	t    *testing.T
	root string
	init int // as seen from here
}

// bootScript lays out the machine's root and becomes its systemd, which has nothing to
// start but what the test asks for.
const bootScript = `set -e
R=$1
mount -t tmpfs tmpfs "$R"
mkdir -p "$R"/usr "$R"/etc "$R"/proc "$R"/sys "$R"/dev "$R"/run "$R"/tmp "$R"/root "$R"/home \
	"$R"/var/lib "$R"/var/log "$R"/var/cache "$R"/var/tmp
for l in bin sbin lib lib64; do
	if [ -L /$l ]; then cp -a /$l "$R"/; else mkdir -p "$R"/$l; mount --bind /$l "$R"/$l; fi
done
mount --bind /usr "$R"/usr
cp -a /etc/. "$R"/etc/
rm -rf "$R"/etc/systemd/system/*
: > "$R"/etc/machine-id
mkdir -p "$R"/etc/systemd/system/feedtree.service.d
printf '[Unit]\nDescription=nothing but what is asked for\n' > "$R"/etc/systemd/system/bare.target
printf '[Service]\nWatchdogSec=3\nRestartSec=0\n' > "$R"/etc/systemd/system/feedtree.service.d/test.conf
mount -t proc proc "$R"/proc
mount --rbind /dev "$R"/dev
mount -t tmpfs tmpfs "$R"/run
mount -t sysfs -o ro sysfs "$R"/sys
mount -t cgroup2 none "$R"/sys/fs/cgroup
mkdir "$R"/old
cd "$R"
pivot_root . old # in a mere chroot, PrivateUsers= would fail
umount -l /old
exec /lib/systemd/systemd --system --unit=bare.target --log-target=console --show-status=no`

// boot starts a machine that ends with the test, and skips where that cannot be.
func boot(t *testing.T) *machine {
	t.Helper()
	for _, tool := range []string{"unshare", "nsenter", "pivot_root", "/lib/systemd/systemd"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip("not here: ", err)
		}
	}
	m := &machine{t: t, root: t.TempDir()}
	c := exec.Command("unshare", "--pid", "--fork", "--kill-child=KILL", "--mount", "--uts", "--ipc", "--cgroup",
		"bash", "-c", bootScript, "bash", m.root)
	c.Env = append(os.Environ(), "container=feedtree-test")
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	said, err := os.Create(filepath.Join(t.TempDir(), "console"))
	if err != nil {
		t.Fatal(err)
	}
	c.Stdout, c.Stderr = said, said
	if err := c.Start(); err != nil {
		t.Skip("no machine can be made here: ", err)
	}
	t.Cleanup(func() {
		if m.init != 0 {
			_ = syscall.Kill(m.init, syscall.SIGKILL)
		}
		_ = c.Process.Kill()
		_ = c.Wait()
		if text, _ := os.ReadFile(said.Name()); t.Failed() {
			t.Logf("the machine said:\n%s", text)
		}
		said.Close()
	})
	up := func() bool {
		children, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%[1]d/children", c.Process.Pid))
		m.init, _ = strconv.Atoi(strings.TrimSpace(string(children)))
		return m.init != 0 && strings.TrimSpace(m.try("systemctl", "is-system-running")) == "running"
	}
	for end := time.Now().Add(20 * time.Second); !up(); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(end) {
			text, _ := os.ReadFile(said.Name())
			t.Skipf("systemd does not run in namespaces here:\n%s", text)
		}
	}
	return m
}

// try runs a program of the machine's and returns what it says.
func (m *machine) try(argv ...string) string {
	out, _ := command("nsenter", append([]string{"-t", strconv.Itoa(m.init), "-m", "-p", "-u", "-i", "-C", "-r", "-w"}, argv...)...)
	return out
}

func (m *machine) show(property string) string {
	return strings.TrimSpace(m.try("systemctl", "show", "--value", "-p", property, "feedtree"))
}

// fed is when the watchdog heard last from the proxy, since the machine began.
func (m *machine) fed() time.Duration {
	us, err := strconv.Atoi(m.show("WatchdogTimestampMonotonic"))
	if err != nil {
		m.t.Fatal("the watchdog's time: ", err)
	}
	return time.Duration(us) * time.Microsecond
}

func (m *machine) await(what string, ok func() bool) {
	m.t.Helper()
	for end := time.Now().Add(patience); !ok(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			m.t.Fatalf("waited in vain: %s\n%s", what, m.try("systemctl", "status", "--no-pager", "feedtree"))
		}
	}
}

// underSystemd runs the unit as it is installed: systemctl start returns when the proxy
// says that it is ready, the watchdog ends one that hangs, and it stops in time. Only the
// time that the watchdog waits is another.
func (s *setup) underSystemd(t *testing.T) {
	m := boot(t)
	if out := m.try("systemctl", "start", "feedtree"); m.show("ActiveState") != "active" {
		t.Fatalf("start: %s\n%s", out, m.try("systemctl", "status", "--no-pager", "feedtree"))
	}
	s.answers(t, "/healthz", "1.0.0") // at once: Type=notify
	if body := s.get(t, "/feed/"+s.feed); !strings.Contains(body, article) {
		t.Fatalf("the feed is not served:\n%s", body)
	}
	pid := m.show("MainPID")
	if who := strings.TrimSpace(m.try("stat", "-c", "%U", "/proc/"+pid)); who != "feedtree" {
		t.Errorf("it runs as %q", who)
	}
	if owner := strings.TrimSpace(m.try("stat", "-c", "%U %a", state)); owner != "feedtree 700" {
		t.Errorf("its state directory: %q", owner)
	}
	fed := m.fed()
	m.await("the watchdog is fed for longer than it waits", func() bool { return m.fed() > fed+3*time.Second })
	if m.show("MainPID") != pid || m.show("NRestarts") != "0" {
		t.Errorf("one that is well was restarted: %s times", m.show("NRestarts"))
	}
	m.try("kill", "-STOP", pid)
	m.await("the watchdog ends one that hangs, and another is ready", func() bool {
		return m.show("NRestarts") == "1" && m.show("ActiveState") == "active"
	})
	s.follows(t)
	begin := time.Now()
	m.try("systemctl", "stop", "feedtree")
	took := time.Since(begin)
	t.Logf("systemctl stop took %v", took.Round(time.Millisecond))
	if m.show("ActiveState") != "inactive" || m.show("Result") != "success" || took > 2*time.Second {
		t.Errorf("after stop, in %v: %s, %s", took, m.show("ActiveState"), m.show("Result"))
	}
	if r, err := http.Get("http://" + s.listen + "/healthz"); err == nil {
		r.Body.Close()
		t.Error("it still answers")
	}
}
