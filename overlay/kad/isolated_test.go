//go:build linux

package kad

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

const isolation = "KAD_TEST_ISOLATED"

// isolated runs a test in a network namespace of its own, whose loopback interface
// has the addresses 45.91.0.1 to 45.91.0.9: libp2p takes them for public, and nobody
// else is there. It reports whether the caller is inside.
func isolated(t *testing.T) bool {
	t.Helper()
	if os.Getenv(isolation) != "" {
		commands := []string{"link set lo up"}
		for i := 1; i < 10; i++ {
			commands = append(commands, fmt.Sprintf("addr add 45.91.0.%d/16 dev lo", i))
		}
		for _, c := range commands {
			if out, err := exec.Command("ip", strings.Fields(c)...).CombinedOutput(); err != nil {
				t.Fatalf("ip %s: %v\n%s", c, err, out)
			}
		}
		return true
	}
	t.Parallel()
	if _, err := exec.LookPath("ip"); err != nil || os.Geteuid() != 0 {
		t.Skip("this needs root and the program ip, which apt-get install iproute2 brings")
	}
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v", "-test.timeout=9m")
	cmd.Env = append(os.Environ(), isolation+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET, Pdeathsig: syscall.SIGKILL}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Skipf("network namespaces cannot be made here: %v", err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatalf("inside: %v\n%s", err, out.String())
	}
	t.Log(out.String())
	return false
}

// at is a configuration that listens at the i-th address, over QUIC and TCP.
func at(i int, c Config) Config {
	c.Key = seeded(i)
	c.Listen = []string{fmt.Sprintf("/ip4/45.91.0.%d/udp/4001/quic-v1", i), fmt.Sprintf("/ip4/45.91.0.%d/tcp/4001", i)}
	return c
}
