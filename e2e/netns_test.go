//go:build linux

package e2e

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// An internet is a switch of network namespaces, reachable from nowhere else:
// hosts with public addresses, and hosts behind routers that translate addresses.
// The addresses look public because libp2p asks for that.
type internet struct {
	t    testing.TB
	name string // of the namespace with the switch, and the front of all others
}

// newInternet skips the test where namespaces and nftables are not to be had.
func newInternet(t testing.TB) *internet {
	t.Helper()
	for _, tool := range []string{"ip", "nft"} {
		if _, err := exec.LookPath(tool); err != nil || os.Geteuid() != 0 {
			t.Skipf("this needs root and the programs ip and nft, which apt-get install iproute2 nftables brings")
		}
	}
	i := &internet{t: t, name: fmt.Sprintf("ft%d-%d", os.Getpid(), time.Now().UnixNano()%1_000_000)}
	i.make(i.name)
	i.do(i.name, "ip link add switch type bridge", "ip link set switch up", "ip link set lo up")
	return i
}

// make makes a namespace for as long as the test runs.
func (i *internet) make(namespace string) {
	i.t.Helper()
	if out, err := exec.Command("ip", "netns", "add", namespace).CombinedOutput(); err != nil {
		i.t.Skipf("network namespaces cannot be made here: %s", out)
	}
	i.t.Cleanup(func() { _ = exec.Command("ip", "netns", "del", namespace).Run() })
}

// do runs commands in a namespace.
func (i *internet) do(namespace string, commands ...string) {
	i.t.Helper()
	for _, c := range commands {
		words := strings.Fields(c)
		if _, rules, ok := strings.Cut(c, "nft "); ok {
			words = []string{"nft", rules}
		}
		enter := []string{"netns", "exec", namespace}
		if words[0] == "ip" {
			enter, words = []string{"-n", namespace}, words[1:]
		}
		out, err := exec.Command("ip", append(enter, words...)...).CombinedOutput()
		if err != nil {
			i.t.Fatalf("%s: %s: %v\n%s", namespace, c, err, out)
		}
	}
}

// plug makes a namespace with one interface on the switch.
func (i *internet) plug(host, addr string) string {
	i.t.Helper()
	ns := i.name + host
	i.make(ns)
	i.do(i.name, "ip link add "+host+" type veth peer name wan netns "+ns, "ip link set "+host+" master switch up")
	i.do(ns, "ip link set lo up", "ip addr add "+addr+"/16 dev wan", "ip link set wan up")
	return ns
}

// behind makes a host behind a router with a public address. Like any home router
// it lets nothing in that nobody inside asked for.
func (i *internet) behind(host, addr string) string {
	i.t.Helper()
	router := i.plug(host+"gw", addr)
	ns := i.name + host
	i.make(ns)
	i.do(router, "ip link add lan type veth peer name eth netns "+ns,
		"ip addr add 192.168.1.1/24 dev lan", "ip link set lan up", "sysctl -qw net.ipv4.ip_forward=1",
		"nft add table ip nat", "nft add chain ip nat out { type nat hook postrouting priority 100 ; }",
		"nft add rule ip nat out oifname wan masquerade",
		"nft add table ip filter",
		"nft add chain ip filter in { type filter hook input priority 0 ; }", "nft add rule ip filter in iifname wan ct state new drop",
		"nft add chain ip filter through { type filter hook forward priority 0 ; }", "nft add rule ip filter through iifname wan ct state new drop")
	i.do(ns, "ip link set lo up", "ip addr add 192.168.1.2/24 dev eth", "ip link set eth up", "ip route add default via 192.168.1.1")
	return ns
}

// within runs f on a thread in a namespace; what sockets f makes stay there. The
// thread comes back: processes that it started would die with it.
func within(namespace string, f func() error) error {
	failed := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		home, err := os.Open(fmt.Sprintf("/proc/self/task/%d/ns/net", unix.Gettid()))
		if err != nil {
			failed <- err
			return
		}
		defer home.Close()
		at, err := os.Open(filepath.Join("/run/netns", namespace))
		if err != nil {
			failed <- err
			return
		}
		defer at.Close()
		if err = unix.Setns(int(at.Fd()), unix.CLONE_NEWNET); err == nil {
			err = f()
		}
		if back := unix.Setns(int(home.Fd()), unix.CLONE_NEWNET); back != nil {
			panic("a thread is lost in a namespace: " + back.Error())
		}
		runtime.UnlockOSThread()
		failed <- err
	}()
	return <-failed
}

// clientIn reads from a namespace.
func clientIn(namespace string) *http.Client {
	return &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{
		DialContext: func(_ context.Context, network, addr string) (conn net.Conn, err error) {
			err = within(namespace, func() error { conn, err = net.DialTimeout(network, addr, 5*time.Second); return err })
			return conn, err
		},
	}}
}

// startIn runs the command in a namespace.
func startIn(t testing.TB, namespace string, env []string, args ...string) *process {
	t.Helper()
	return launch(t, exec.Command("ip", append([]string{"netns", "exec", namespace, binary}, args...)...), env)
}

// originIn serves feeds at a public address.
func originIn(t testing.TB, namespace, host, addr string) *origin {
	t.Helper()
	var l net.Listener
	err := within(namespace, func() (err error) { l, err = net.Listen("tcp", net.JoinHostPort(addr, "0")); return err })
	if err != nil {
		t.Fatal(err)
	}
	return serveOrigin(t, host, true, l)
}
