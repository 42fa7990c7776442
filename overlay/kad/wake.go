package kad

import (
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	manet "github.com/multiformats/go-multiaddr/net"
)

// What a clock may be off between two looks before the machine was asleep, and how
// long a node that lost everybody looks for them often.
const (
	asleep    = 5 * time.Second
	lostFor   = 10 * time.Minute
	retryLost = 5 * time.Second
)

// A watch sees that the machine slept, moved to another network, or lost everybody.
type watch struct {
	last  time.Time // of the last look
	local string    // the addresses there were
	met   bool      // somebody was connected
}

// look returns why things may be different now, "" if they are not. A suspended
// machine's monotonic clock stops while the calendar goes on; a stopped process
// sees both jump.
func (w *watch) look(now time.Time, local string, connected bool) (why string) {
	was := *w
	*w = watch{last: now, local: local, met: connected}
	switch {
	case was.last.IsZero():
		return ""
	case now.Round(0).Sub(was.last.Round(0)) > asleep || now.Sub(was.last) > asleep:
		return "the machine was asleep"
	case local != was.local:
		return "the network is another"
	case was.met && !connected:
		return "all connections are lost"
	}
	return ""
}

// place is where the machine is in the network.
type place struct {
	addrs  string // as localAddrs names them
	public bool   // one of them is public
}

func home() place {
	at := place{addrs: localAddrs()}
	if all, err := manet.InterfaceMultiaddrs(); err == nil {
		at.public = slices.ContainsFunc(all, manet.IsPublicAddr)
	}
	return at
}

// localAddrs names the interfaces that are up, with their addresses.
func localAddrs() string {
	interfaces, err := net.Interfaces()
	if err != nil {
		return ""
	}
	var all []string
	for _, i := range interfaces {
		if i.Flags&net.FlagUp == 0 || i.Flags&net.FlagRunning == 0 {
			continue
		}
		addrs, _ := i.Addrs() // an interface that goes at this moment has none
		for _, a := range addrs {
			all = append(all, i.Name+" "+a.String())
		}
	}
	slices.Sort(all)
	return strings.Join(all, "\n")
}

// alarm wakes everybody who waits on it.
type alarm struct {
	mu sync.Mutex
	c  chan struct{}
}

func (a *alarm) wait() <-chan struct{} {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.c == nil {
		a.c = make(chan struct{})
	}
	return a.c
}

func (a *alarm) ring() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.c != nil {
		close(a.c)
		a.c = nil
	}
}

// wakeUp checks every connection at once, which libp2p would take half a minute
// to miss, and lets nobody wait any longer who looks for others.
func (n *Node) wakeUp(why string) {
	n.count.inc(wakes)
	n.table.owned.forget()
	n.set.Log.Info("looking for the others at once", "because", why)
	n.goes(n.announceLocally)
	n.goes(func() {
		n.closeDead(n.host.Network().Conns())
		n.woken.ring()
	})
	n.woken.ring()
}
