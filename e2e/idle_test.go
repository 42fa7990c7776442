//go:build linux

package e2e

import (
	"cmp"
	"flag"
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/feedtree/feedtree/overlay/kad"
)

var idle = flag.Duration("idle", 0, "measure for this long what a proxy with 50 feeds and 20 peers sends while nothing happens; 15m is good")

const (
	idlePeers = 20
	idleFeeds = 50

	// idleInterval is a third of what feeds that say nothing get, for the time
	// measured to have each polled once, rather than none.
	idleInterval = 20 * time.Minute

	// idleSettle is when what follows a start is over: nodes that came together look
	// for each other more often than later, and who was the first to fetch a feed
	// tells its items to everybody, within half an interval.
	idleSettle = 12 * time.Minute
)

// What a proxy spends that has 50 feeds and 20 peers, all with the same feeds, at
// addresses of their own: it is what a metered line pays for nothing. The bytes are
// those of its network interface, in and out, Ethernet included, and the mean of all
// proxies is what must hold: who stands high in many trees sends more. Which protocol
// they are of is what one of them says.
func TestIdle(t *testing.T) {
	if *idle == 0 {
		t.Skip("takes long: go test ./e2e -run TestIdle -idle 15m -timeout 1h -v")
	}
	world := newInternet(t)
	o := originIn(t, world.plug("origin", "45.91.0.1"), "news.feedtree-test.org", "45.91.0.1")
	network := []string{"--network", fmt.Sprintf("idle-%d", os.Getpid()), "--no-mdns",
		"--poll-min", idleInterval.String(), "--poll-max", idleInterval.String()}
	urls := make([]string, idleFeeds)
	for i := range urls {
		doc := &rss{url: fmt.Sprintf("%s/%d.xml", o.base, i)}
		for k := range 30 {
			doc.add(fmt.Sprintf("item-%d-%d", i, k))
		}
		o.set(fmt.Sprintf("/%d.xml", i), doc.String())
		urls[i] = doc.url
	}
	all := make([]*proxy, 1+idlePeers)
	spaces := make([]string, len(all))
	for i := range all {
		addr := fmt.Sprintf("45.91.0.%d", 10+i)
		spaces[i] = world.plug(fmt.Sprint("n", i), addr)
		flags := slices.Concat(network, []string{"--p2p-listen", "/ip4/" + addr + "/udp/4001/quic-v1", "--p2p-listen", "/ip4/" + addr + "/tcp/4001"})
		if i > 0 {
			flags = append(flags, "--bootstrap", all[0].addr)
		}
		all[i] = household(t, spaces[i], o, flags...)
	}
	var asking sync.WaitGroup
	for _, p := range all {
		asking.Go(func() {
			for _, url := range urls {
				if code, body := p.get("/feed/" + url); code != http.StatusOK {
					t.Errorf("%s: %d %s", url, code, body)
				}
			}
		})
	}
	asking.Wait()
	p := all[idlePeers]
	eventually(t, 2*time.Minute, "it knows them all", func() bool {
		st, err := p.status()
		return err == nil && st.Peers == idlePeers && !slices.ContainsFunc(st.Feeds, func(f feedStatus) bool { return !f.Attached })
	})
	t.Logf("%d feeds, %d peers; settling for %v", idleFeeds, idlePeers, idleSettle)
	wait(t, idleSettle)
	from, countFrom := spending(t, p)
	wiresFrom := interfaces(t, spaces)
	wait(t, *idle)
	to, countTo := spending(t, p)
	wiresTo := interfaces(t, spaces)
	rate := func(a, b uint64) float64 { return float64(b-a) / idle.Seconds() }
	t.Logf("over %v, in bytes a second:", *idle)
	t.Logf("%-45s %8s %8s", "", "sent", "received")
	row := func(name string, a, b kad.Traffic) {
		t.Logf("%-45s %8.1f %8.1f", name, rate(a.Sent, b.Sent), rate(a.Received, b.Received))
	}
	row("the interface, sites included", wiresFrom[idlePeers], wiresTo[idlePeers])
	row("to and from other nodes, by its own meter", from.Traffic, to.Traffic)
	names := slices.SortedFunc(maps.Keys(to.Protocols), func(a, b string) int {
		return cmp.Compare(to.Protocols[b].Sent-from.Protocols[b].Sent, to.Protocols[a].Sent-from.Protocols[a].Sent)
	})
	for _, name := range names {
		row("  "+name, from.Protocols[name], to.Protocols[name])
	}
	for _, name := range slices.Sorted(maps.Keys(countTo)) {
		if d := countTo[name] - countFrom[name]; d > 0 && !strings.HasPrefix(name, "bytes_") {
			t.Logf("%-45s %8.2f a second", name, float64(d)/idle.Seconds())
		}
	}
	rates := make([]float64, len(all))
	var sum float64
	for i := range rates {
		rates[i] = rate(wiresFrom[i].Sent+wiresFrom[i].Received, wiresTo[i].Sent+wiresTo[i].Received)
		sum += rates[i]
	}
	mean := sum / float64(len(rates))
	slices.Sort(rates)
	t.Logf("in and out, B/s: mean %.0f, of all: %.0f", mean, rates)
	t.Logf("resident: %s", memoryOf(t, p))
	if mean > 1024 {
		t.Errorf("%.0f bytes a second with %d peers while nothing happens, want 1024 at most", mean, idlePeers)
	}
}

// wait waits for a measurement, and ends with the test.
func wait(t testing.TB, d time.Duration) {
	select {
	case <-time.After(d):
	case <-t.Context().Done():
	}
}

// spending is what a proxy says that it spent and did.
func spending(t testing.TB, p *proxy) (kad.Spending, map[string]uint64) {
	t.Helper()
	st, err := p.status()
	if err != nil {
		t.Fatal(err)
	}
	return st.Spending, st.Counts
}

// interfaces is what passed the interfaces of namespaces.
func interfaces(t testing.TB, spaces []string) []kad.Traffic {
	t.Helper()
	passed := make([]kad.Traffic, len(spaces))
	for i, space := range spaces {
		passed[i] = interfaceBytes(t, space)
	}
	return passed
}

// interfaceBytes is what passed a namespace's interface to the outside.
func interfaceBytes(t testing.TB, namespace string) kad.Traffic {
	t.Helper()
	read := func(name string) uint64 {
		out, err := exec.Command("ip", "netns", "exec", namespace, "cat", "/sys/class/net/wan/statistics/"+name).Output()
		if err != nil {
			t.Fatal(err)
		}
		n, err := strconv.ParseUint(strings.TrimSpace(string(out)), 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	return kad.Traffic{Sent: read("tx_bytes"), Received: read("rx_bytes")}
}

// memoryOf is what the kernel says of a proxy's memory.
func memoryOf(t testing.TB, p *proxy) string {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	var said []string
	for line := range strings.Lines(string(b)) {
		name, value, _ := strings.Cut(line, ":")
		if slices.Contains([]string{"VmHWM", "VmRSS", "RssAnon", "RssFile"}, name) {
			said = append(said, name+" "+strings.TrimSpace(value))
		}
	}
	return strings.Join(said, ", ")
}
