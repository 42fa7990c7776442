package sim

import (
	"fmt"
	"slices"
	"time"
)

// A link is one node's end of a connection. The other end exists too, unless
// that node is down, was restarted, or the link is being dialled in vain.
//
// Nodes have a hundred of them: one takes twelve bytes, not sixteen.
type link struct {
	peer int32
	low  uint32 // of when the next message on it may arrive; the rest of that,
	high uint32 // and above it the life of the peer that is connected; dialling: nobody is
}

const (
	dialling = 0       // lives count from one
	lifeBits = 12      // and a node has fewer than 4,096,
	runMost  = 1 << 52 // in the 52 days that a run may go on
)

func linkTo(peer int32, life uint32, next time.Duration) link {
	if life >= 1<<lifeBits || next >= runMost {
		panic(fmt.Sprintf("sim: life %d of a node, at %v: too many, or too late", life, next))
	}
	return link{peer, uint32(next), life<<(32-lifeBits) | uint32(next>>32)}
}

// life is that of the peer.
func (l link) life() uint32 { return l.high >> (32 - lifeBits) }

// next is when the next message may arrive: after the last one.
func (l link) next() time.Duration {
	return time.Duration(l.high<<lifeBits>>lifeBits)<<32 | time.Duration(l.low)
}

// after notes when the last message sent on it arrives.
func (l *link) after(last time.Duration) { *l = linkTo(l.peer, l.life(), last+1) }

const (
	linksUsual = 96   // connections that there is room for at once,
	linksMore  = 32   // and for so many more, or a quarter, when there are as many: lists of such lengths fill what they take
	linksNear  = 8    // how far from where its number says one is sought first
	linksMost  = 4096 // in one list; those of a node that has more lie in pages
	pageMost   = 512
)

// listOf is the list in which i's end of a connection is, or is to be.
func (n *Net[M]) listOf(i, peer int32) *[]link {
	nd := &n.nodes[i]
	if nd.pages == nil {
		return &nd.links
	}
	return &nd.pages[nd.pages.of(peer)]
}

// linkAt is where that is in the list. Peers are from everywhere: in the only list of a node
// one stands about where its number says, and what is looked at there is near by in memory.
func (n *Net[M]) linkAt(i, peer int32) (list *[]link, at int, found bool) {
	list = n.listOf(i, peer)
	links := *list
	guess := n.guess(i, peer)
	from, to := max(min(guess-linksNear, len(links)), 0), min(guess+linksNear, len(links))
	if from > 0 && links[from-1].peer >= peer {
		from, to = 0, from
	} else if to < len(links) && links[to].peer <= peer {
		from, to = to, len(links)
	}
	at, found = slices.BinarySearchFunc(links[from:to], peer, func(l link, p int32) int { return int(l.peer) - int(p) })
	return list, from + at, found
}

// guess is about where a peer stands in i's list, if it does.
func (n *Net[M]) guess(i, peer int32) int {
	return len(n.nodes[i].links) * int(peer) / len(n.nodes)
}

// linkOf is i's end of a connection, nil if there is none. It stays where it is until another
// is made or dropped.
func (n *Net[M]) linkOf(i, peer int32) *link {
	if list, at, found := n.linkAt(i, peer); found {
		return &(*list)[at]
	}
	return nil
}

// setLink makes i's end of a connection what it is to be.
func (n *Net[M]) setLink(i int32, l link) *link {
	n.nodes[i].makePages(l.peer)
	list, at, found := n.linkAt(i, l.peer)
	if found {
		own := &(*list)[at]
		*own = linkTo(l.peer, l.life(), max(l.next(), own.next()))
		return own
	}
	if links := *list; len(links) == cap(links) {
		more := make([]link, len(links), max(len(links)+max(len(links)/4, linksMore), linksUsual))
		copy(more, links)
		*list = more
	}
	*list = slices.Insert(*list, at, l)
	return &(*list)[at]
}

func (n *Net[M]) dropLink(i, peer int32) {
	if list, at, found := n.linkAt(i, peer); found {
		*list = slices.Delete(*list, at, at+1)
		n.nodes[i].dropPage()
	}
}
