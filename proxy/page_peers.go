package proxy

import (
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/feedtree/feedtree"
	"github.com/feedtree/feedtree/overlay/kad"
)

const (
	peersShown  = 50
	sharedShown = 3
)

// neighbour is a node connected, in words.
type neighbour struct {
	ID    string // all of it
	Where string
	How   string
	Feeds string // those shared, by name; "" if none is known
}

// neighboursOf puts the first of the nodes connected into words.
func neighboursOf(s feedtree.Status, now time.Time) []neighbour {
	names := map[string]string{}
	for _, f := range s.Feeds {
		names[f.URL] = nameOf(f)
	}
	all := make([]neighbour, 0, min(len(s.Neighbours), peersShown))
	for _, n := range s.Neighbours[:cap(all)] {
		all = append(all, neighbour{ID: n.Peer, Where: whereIs(n.Conn), How: howIs(n, now), Feeds: sharedWith(n.Feeds, names)})
	}
	return all
}

// whereIs says where a node is and how it came to be connected.
func whereIs(c kad.Conn) string {
	if c.Kind == kad.Relayed {
		return "through a relay, until a direct way is found"
	}
	if c.Kind == kad.Punched {
		return "at " + hostPort(c.Addr) + ", introduced by a relay"
	}
	return "at " + hostPort(c.Addr)
}

// hostPort is the address and port of a multiaddr, as people write them.
func hostPort(addr string) string {
	parts := strings.Split(addr, "/")
	for i := 1; i+3 < len(parts); i += 2 {
		if parts[i] == "ip4" || parts[i] == "ip6" {
			return net.JoinHostPort(parts[i+1], parts[i+3])
		}
	}
	return clip(addr)
}

func howIs(n feedtree.Neighbour, now time.Time) string {
	says := "connected " + ago(now, n.Since)
	if n.RTT > 0 {
		says += " · " + roundTrip(n.RTT) + " there and back"
	}
	return says + " · " + bytesText(int64(n.Sent)) + " sent, " + bytesText(int64(n.Received)) + " received"
}

// roundTrip writes a short time in milliseconds.
func roundTrip(d time.Duration) string {
	if d < 10*time.Millisecond {
		return strconv.FormatFloat(float64(d)/float64(time.Millisecond), 'f', 1, 64) + " ms"
	}
	return thousands(int(d/time.Millisecond)) + " ms"
}

// sharedWith names some of the feeds that two nodes are next to each other for.
func sharedWith(urls []string, names map[string]string) string {
	var some []string
	for _, url := range urls[:min(len(urls), sharedShown)] {
		some = append(some, names[url])
	}
	says := strings.Join(some, ", ")
	if more := len(urls) - len(some); more > 0 {
		says += " and " + plural(more, "other feed", "other feeds")
	}
	return says
}
