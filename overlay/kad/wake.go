package kad

import (
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	manet "github.com/multiformats/go-multiaddr/net"
)

// What a clock may be off between two looks before the machine was asleep, how long
// this process may have stood still without having been stopped, and how long a node
// that lost everybody looks for them often.
const (
	asleep    = 5 * time.Second
	stopped   = 25 * time.Second
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
// sees both jump, and so does one on a machine that is too busy to let it run: its
// connections stand, and would not survive that all of them are tried at once.
func (w *watch) look(now time.Time, local string, connected bool) (why string) {
	was := *w
	*w = watch{last: now, local: local, met: connected}
	switch {
	case was.last.IsZero():
		return ""
	case now.Round(0).Sub(was.last.Round(0))-now.Sub(was.last) > asleep || now.Sub(was.last) > stopped:
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
	addrs  string // the interfaces that are up, and all addresses
	public bool   // one of them is public
}

// home asks the system twice, however many interfaces there are: for each of them by
// itself it would name the addresses of all.
func home() place {
	interfaces, err := net.Interfaces()
	if err != nil {
		return place{}
	}
	addrs, _ := net.InterfaceAddrs() // an interface that goes at this moment has none
	var at place
	var all []string
	for _, i := range interfaces {
		if i.Flags&net.FlagUp != 0 && i.Flags&net.FlagRunning != 0 {
			all = append(all, i.Name)
		}
	}
	for _, a := range addrs {
		all = append(all, a.String())
		if ma, err := manet.FromNetAddr(a); err == nil && manet.IsPublicAddr(ma) {
			at.public = true
		}
	}
	slices.Sort(all)
	at.addrs = strings.Join(all, "\n")
	return at
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
