//go:build linux

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/feedtree/feedtree/overlay/kad"
)

// A household is one proxy somewhere on an internet.
func household(t testing.TB, namespace string, o *origin, flags ...string) *proxy {
	t.Helper()
	p := &proxy{t: t, data: filepath.Join(t.TempDir(), "data"), listen: "127.0.0.1:8089", client: clientIn(namespace)}
	args := append([]string{"proxy", "--listen", p.listen, "--data", p.data, "--no-rendezvous"}, o.resolve()...)
	p.process = startIn(t, namespace, o.env(), append(args, flags...)...)
	eventually(t, 20*time.Second, "ready: "+namespace, func() bool {
		st, err := p.status()
		if err != nil {
			return false
		}
		for _, addr := range st.Addrs {
			p.addr = addr
		}
		return true
	})
	return p
}

// addrAt is the proxy's address that begins so.
func (p *proxy) addrAt(prefix string) string {
	p.t.Helper()
	st, err := p.status()
	i := slices.IndexFunc(st.Addrs, func(a string) bool { return strings.HasPrefix(a, prefix) })
	if err != nil || i < 0 {
		p.t.Fatalf("no address %s… in %v, %v", prefix, st.Addrs, err)
	}
	return st.Addrs[i]
}

func (p *proxy) reach() kad.Reach {
	st, err := p.status()
	if err != nil {
		p.t.Error(err)
	}
	return st.Reach
}

// around is how many nodes a proxy is connected with, but over relays. Two that call
// each other at the same moment need no relay to introduce them.
func (p *proxy) around() int {
	l := p.reach().Links
	return l.Direct + l.Punched
}

// atSea is a reachable node, and two proxies behind NATs of their own that know
// nobody else.
type atSea struct {
	t         testing.TB
	origin    *origin
	hub       *proxy
	a, b      *proxy
	here      string   // a's namespace
	join      []string // flags by which a node there joins
	feed      *rss
	key, file string
}

func newAtSea(t testing.TB) *atSea {
	t.Helper()
	world := newInternet(t)
	s := &atSea{t: t, origin: originIn(t, world.plug("origin", "45.91.0.1"), "news.feedtree-test.org", "45.91.0.1")}
	network := []string{"--network", fmt.Sprintf("nat-%d", os.Getpid())}
	s.hub = household(t, world.plug("hub", "45.91.0.2"), s.origin,
		append(network, "--p2p-listen", "/ip4/45.91.0.2/udp/4001/quic-v1", "--p2p-listen", "/ip4/45.91.0.2/tcp/4001")...)
	s.join = append(network, "--bootstrap", s.hub.addr)
	s.here = world.behind("a", "45.91.0.11")
	s.a, s.b = household(t, s.here, s.origin, s.join...), household(t, world.behind("b", "45.91.0.12"), s.origin, s.join...)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("here: %+v\nthere: %+v", s.a.reach(), s.b.reach())
		}
	})
	s.feed = &rss{url: s.origin.base + "/signed.xml"}
	dir := t.TempDir()
	s.key, s.file = filepath.Join(dir, "key"), filepath.Join(dir, "feed.xml")
	s.feed.extra = keygen(t, s.key, s.feed.url)
	return s
}

// push writes what the publisher watches; the origin keeps the old.
func (s *atSea) push(guid string) time.Time {
	s.t.Helper()
	s.feed.add(guid)
	if err := os.WriteFile(s.file, []byte(s.feed.String()), 0o600); err != nil {
		s.t.Fatal(err)
	}
	return time.Now()
}

// publish starts a publisher beside a, and waits until all are in its tree.
func (s *atSea) publish() {
	s.t.Helper()
	s.push("first")
	s.origin.set("/signed.xml", s.feed.String())
	args := []string{"publish", "--watch", "--ttl", "1m", "--url", s.feed.url, "--file", s.file, "--key", s.key, "--data", "", "--no-rendezvous"}
	startIn(s.t, s.here, s.origin.env(), slices.Concat(args, s.origin.resolve(), s.join, []string{"--bootstrap", s.a.addrAt("/ip4/192.168.1.2/udp")})...)
	for _, p := range []*proxy{s.a, s.b, s.hub} {
		p.ask(s.feed.url)
	}
	eventually(s.t, time.Minute, "a tree of them all", func() bool {
		return !slices.ContainsFunc([]*proxy{s.a, s.b}, func(p *proxy) bool {
			f, ok := p.feed(s.feed.url)
			return !ok || !f.Attached || f.EventsReceived == 0
		})
	})
}

// read waits until b serves an item, and holds it to a limit where figures are
// asked for.
func (s *atSea) read(guid string, since time.Time, figure time.Duration) {
	s.t.Helper()
	eventually(s.t, 30*time.Second, guid+" is read behind the other NAT", func() bool { return s.b.holds(s.feed.url, guid) == 1 })
	took := time.Since(since)
	s.t.Logf("%s read behind the other NAT after %v", guid, took.Round(time.Millisecond))
	if *figures && took > figure {
		s.t.Errorf("%s took %v, want %v at most", guid, took, figure)
	}
}

// Two proxies behind NATs of their own and one reachable node: what is pushed by
// one is read from the other within two seconds, and goes on being read when the
// reachable node is gone, over the hole that was punched.
func TestBehindTwoNATs(t *testing.T) {
	t.Parallel()
	begin := time.Now()
	s := newAtSea(t)
	eventually(t, time.Minute, "both know that they are behind NATs and have a relay", func() bool {
		return s.hub.reach().State == kad.Public && !slices.ContainsFunc([]*proxy{s.a, s.b}, func(p *proxy) bool {
			r := p.reach()
			return r.State != kad.Private || len(r.Relays) != 1
		})
	})
	t.Logf("reachability known and relays found after %v", time.Since(begin).Round(time.Millisecond))
	s.publish()
	s.read("pushed", s.push("pushed"), 2*time.Second)
	eventually(t, time.Minute, "a hole is punched, and the publisher is known next door", func() bool {
		return s.b.around() > 1 && s.a.around() > 1
	})
	t.Logf("hole punched %v after the start", time.Since(begin).Round(time.Millisecond))

	s.read("both ways", s.push("both ways"), 2*time.Second) // by now the neighbours know each other

	s.hub.kill()
	for i := range 4 {
		guid := fmt.Sprint("alone-", i)
		s.read(guid, s.push(guid), 6*time.Second)
	}
	if !*figures {
		return // that a connection fell silent takes half a minute to be seen
	}
	eventually(t, 2*time.Minute, "they stand in for the node that is gone", func() bool {
		return s.b.reach().StandIn
	})
	s.read("adrift", s.push("adrift"), 10*time.Second)
}
