package tree

import (
	"fmt"
	"time"

	"github.com/feedtree/feedtree/multicast"
	"github.com/feedtree/feedtree/overlay"
)

// Type says what a message means.
type Type uint8

// The messages. "Edge" is the number a child chose for one attempt to hang
// below one parent; every message about that edge repeats it, so that what
// belongs to an older attempt is recognised and ignored.
const (
	Join   Type = iota + 1 // child → parent: adopt me. Edge, Ver (searches in vain before), Heads (cursor), Flags, Self, RTT, Peers (if moving: the parent left; the receiver's child above it)
	Ack                    // parent → child: adopted. Edge, Ver, Turn, Flags, Path (top first, the parent last), Heads, Peers (members met), Reason (with Confirm, Moved: who makes room, the first of Peers, goes to where you are now)
	Refuse                 // parent → child: not me. Edge, Reason, Peers (try these, best first)
	Leave                  // child → parent: I am gone. Edge, Flags (Confirm: Peers[0] was sent to my place)
	Drop                   // parent → child: you are no child of mine. Edge, Reason, Peers; Full, with Confirm: stay until another neighbour has you, with Crowded: until anybody has you; Moved, with Confirm: how would you stand below these? Posts: as they will stand; no Room: not meant, no Weight: it will have a place
	Path                   // parent → child: my way to the top changed, or your turn. Edge, Ver, Turn, Path (empty: I am detached)
	Data                   // an event. Event, Via, Hops, Want (receipts wanted), Flags
	Heads                  // what the sender has, for every group it lists. Entries; now and then Digest, Paths
	Pull                   // send me these. Span (Stamp: Source, Epoch); if Fresh, what is after its Stamp
	Lack                   // answer to Pull: I do not have these. Span
	Walk                   // a member looks for a lazy link. Peers[0] is the member, Hops the steps left
	Link                   // be my lazy link. Path, Heads
	Linked                 // I am yours now. Heads
	Unlink                 // I am not (any more)
	Ping                   // keep-alive of the pair of nodes: Digest, Paths, Known
	Pong                   // answer to a Ping
	Sync                   // digests differ: these are the edges I see between us. Entries
	Held                   // receipt: Peers hold the event of Span.Stamp durably
	Probe                  // how do you stand, and would you be my parent? As a Join that is Better, without Edge and Heads; without Self: who makes room asks
	Offer                  // answer to a Probe. Flags (Better: yes), Self, Turn (that the asker would have), Path, Peers (children near the asker; who has neither delay, height nor room as Posts say: a member to ask next)
	Load                   // child → parent: how I stand. Edge, Self, RTT; with Confirm, the answer to such a Drop: below Peers, best first, as in Posts; to a Drop that is Moved, without Peers: I stay, there is no place
	Crown                  // Peers[0] publishes and is the top: hang below it. Flags, Self (with Rendezvous)
	Fork                   // the source of Event's stamp said two things there. Event's body is the proof
)

var typeNames = [...]string{"?", "join", "ack", "refuse", "leave", "drop", "path", "data", "heads", "pull", "lack",
	"walk", "link", "linked", "unlink", "ping", "pong", "sync", "held", "probe", "offer", "load", "crown", "fork"}

func (t Type) String() string {
	if int(t) < len(typeNames) {
		return typeNames[t]
	}
	return fmt.Sprintf("type(%d)", uint8(t))
}

// Known reports whether t is a type this version speaks.
func (t Type) Known() bool { return t >= Join && t <= Fork }

// Flags qualify a message.
type Flags uint8

// The flags.
const (
	Detached   Flags = 1 << iota // Join: I have no parent now
	Fresh                        // Entry of Heads: tell me yours; Pull: whatever the epoch
	Replica                      // Data: keep it under a lease, you are near the root
	AsParent                     // Entry of a Sync: the sender is the parent of this edge
	Better                       // Join: I move because it is better for me, and say how much
	Confirm                      // Join, Crowded: but you are a neighbour: adopt me if you are a member. Ack: another child makes room for you; tell me once you are there. Drop: measure, and stay; Load: measured. Entry of Heads: answer me even if you have nothing (with Fresh); as you asked
	Rendezvous                   // Crown: the overlay's routes end at you; be found and pass joiners on
	Crowded                      // Join: I have neighbours enough; refuse me, and name those in the tree. Drop, Full: find another place while you still have this one
)

// Reason says why an edge was refused or dropped.
type Reason uint8

// The reasons.
const (
	Full     Reason = iota + 1 // the group's children or the node's are at their cap
	Loop                       // the joiner is on the way to the top
	Busy                       // the sender is moving; again in a moment
	Unknown                    // no such edge here (a restart, most likely)
	Closing                    // the sender is shutting down
	NoDirect                   // the sender is no parent: nobody can dial it
	Moved                      // Drop: somebody heavier takes the place; Peers have one for you
)

func (r Reason) String() string {
	return [...]string{"none", "full", "loop", "busy", "unknown edge", "closing", "not dialable", "moved", "?"}[min(r, 8)]
}

// Message is what one node sends another. It is a union: the type says which
// fields count. Nobody modifies one that was sent, nor what it points to: they
// are shared by all its receivers, and by its sender.
type Message struct {
	Type    Type
	Flags   Flags
	Reason  Reason
	Via     multicast.Via
	Hops    uint8
	Want    uint8
	Turn    uint8 // how many copies leave before the receiver's
	Others  int32 // who get this very message beside its receiver: not on the wire, for who uses messages again
	Group   multicast.Group
	Edge    uint64
	Ver     uint64
	Digest  uint64 // Ping, Pong: of the edges between the two,
	Paths   uint64 // of the versions of the paths told along them,
	Known   uint64 // and of the heads of the groups they share
	Span    *Span  // Pull, Lack, Held: what of a line
	Event   *multicast.Event
	Path    []overlay.ID
	Peers   []overlay.ID
	Posts   []Standing    // of the nodes of Path, then of Peers; shorter: the rest is unknown
	Self    *Standing     // the sender's own
	RTT     time.Duration // measured between the two; 0: unknown
	Heads   []multicast.Stamp
	Entries []Entry
}

// Span is a part of a line: few messages are about one, and all had to have room for it.
type Span struct {
	Stamp multicast.Stamp
	From  uint64
	To    uint64 // inclusive
}

// span is what m is about: of a hostile one that names nothing, a part of nobody's line.
func (m *Message) span() Span {
	if m.Span == nil {
		return Span{}
	}
	return *m.Span
}

// Entry is one group's line in a Heads or Sync message.
type Entry struct {
	Group multicast.Group
	Edge  uint64            // Sync
	Flags Flags             // Sync
	Heads []multicast.Stamp // Heads
}
