package tree

import (
	"slices"
	"time"

	"github.com/feedtree/feedtree/multicast"
	"github.com/feedtree/feedtree/overlay"
)

// Kind says what happened.
type Kind uint8

// What can happen to a node.
const (
	Receive    Kind = iota + 1 // Msg came from From; its Event, if any, is verified
	Gone                       // the connection to From is lost, or dialling it failed
	Routes                     // the routing table or the set of connected peers changed
	Looked                     // a lookup ended: Nearest, nearest first, without self; OK false if it failed
	JoinGroup                  // the application joins: Group, Cursor, Recent
	LeaveGroup                 // the application leaves: Group
	Lease                      // the application still holds Recent of Group for others, from before a restart
	Publish                    // the application publishes Event; Want receipts are asked for
	Convict                    // Event is not one but the proof, verified, that Stamp's source said two things there
	Ask                        // the application wants to know what Nearest, members or not, hold of Group: each that answers is a Told
	Stored                     // the application holds the event of Stamp in Group durably
	Spare                      // from now on send nothing for others (OK), or do again: Config.Sparing changes
	Dialable                   // others can dial this node from now on (OK), or nobody can: Config.Leaf changes
	Tick                       // the deadline is reached
	Close                      // the node shuts down: tell the neighbours
)

// Input is one thing that happened. It is a union: Kind says which fields count.
type Input struct {
	Kind    Kind
	From    overlay.ID
	Msg     *Message
	Group   multicast.Group
	Event   multicast.Event
	Stamp   multicast.Stamp
	Want    int
	Cursor  []multicast.Stamp // JoinGroup: up to where each line is held without a hole; nil: never a member before
	Recent  []multicast.Event // JoinGroup, Lease: latest events held, oldest first, to serve others from
	Nearest []overlay.ID
	OK      bool
}

// Outbox collects what a Step wants done. The caller owns it, carries it out
// in order (sends, then lookups, then deliveries and notices) and resets it.
type Outbox struct {
	Sends      []Send
	Lookups    []multicast.Group
	Deliveries []multicast.Delivery
	Kept       []multicast.Event // events to hold durably under a lease, this node being near the root
	Notices    []Notice

	// Spent are messages to be used again, and Inquiries those that have lists and room for a
	// Standing of their own: see Spend.
	Spent, Inquiries []*Message

	groups []*group // touched by the step at hand
	pairs  []*pair
	pair   *pair // found last by that step
	// To be used again, no more than usedAgain of each.
	searches []*search // over,
	parted   []*pair   // with nothing in common any more
}

// Spend takes a message that nobody will read any more, if the caller knows of one: all its
// receivers have. It is used again, one that came from inquiry with its lists and what it says
// of its sender. The others hold nothing, for many wait where many were once on their way.
func (o *Outbox) Spend(m *Message) {
	if m.inquires() {
		*m = Message{Peers: m.Peers[:0], Posts: m.Posts[:0], Self: m.Self}
		o.Inquiries = append(o.Inquiries, m)
		return
	}
	*m = Message{}
	o.Spent = append(o.Spent, m)
}

// inquires reports whether a message came from inquiry: nobody keeps what it points to.
func (m *Message) inquires() bool {
	return (m.Type == Probe || m.Type == Offer || m.Type == Ping || m.Type == Pong) && m.Self != nil
}

// inquiry returns an empty message of one of those types that says how its sender stands. Its
// lists are its own.
func (o *Outbox) inquiry(t Type, own Standing) *Message {
	m := again(&o.Inquiries)
	if m.Self == nil {
		m.Self = new(Standing)
	}
	m.Type, *m.Self = t, own
	return m
}

// Twin returns a copy of the message, for a network that delivers it twice: what is used
// again once it is spent is the copy's own.
func (m *Message) Twin() *Message {
	twin := *m
	twin.Others = 0
	if m.inquires() {
		own := *m.Self
		twin.Peers, twin.Posts, twin.Self = slices.Clone(m.Peers), slices.Clone(m.Posts), &own
	}
	return &twin
}

// What an offer names, mostly: with room for that, hardly a list is made anew.
const (
	peersUsual = offerPeers + nearTold
	postsUsual = peersUsual + 8 // and the way to the top
)

// search returns an empty one.
func (o *Outbox) search() *search { return again(&o.searches) }

// again takes what was used before, or makes one.
func again[T any](used *[]*T) *T {
	last := len(*used) - 1
	if last < 0 {
		return new(T)
	}
	x := (*used)[last]
	*used = (*used)[:last]
	return x
}

// searched takes a search that is over, if there was one.
func (o *Outbox) searched(s *search) {
	if s == nil || len(o.searches) >= usedAgain {
		return
	}
	clear(s.out)
	clear(s.pool)
	*s = search{out: s.out[:0], pool: s.pool[:0], shorts: s.shorts[:0]}
	o.searches = append(o.searches, s)
}

// parts takes a pair that has nothing in common any more.
func (o *Outbox) parts(p *pair) {
	if len(o.parted) < usedAgain {
		*p = pair{}
		o.parted = append(o.parted, p)
	}
}

// usedAgain bounds the memory that waits to be used again.
const usedAgain = 1024

// Send is a message to put on the way. If To is not connected it is dialled;
// if that fails a Gone input says so.
type Send struct {
	To  overlay.ID
	Msg *Message
}

// Reset empties the outbox and keeps its memory.
func (o *Outbox) Reset() {
	clear(o.Sends)
	clear(o.Deliveries)
	clear(o.Kept)
	clear(o.Notices)
	o.Sends, o.Lookups, o.Deliveries, o.Kept, o.Notices =
		o.Sends[:0], o.Lookups[:0], o.Deliveries[:0], o.Kept[:0], o.Notices[:0]
}

// NoticeKind says what a notice is about.
type NoticeKind uint8

// What the application is told besides deliveries.
const (
	Attached      NoticeKind = iota + 1 // the group has a way to its top: Path; Root if this node is it
	DetachedNow                         // the group lost its way to the top; a new one is being sought
	Missing                             // From..To of Stamp's line could not be had from any node: use HTTP
	Overdue                             // Stamp's source promised a sign of life and gave none: use HTTP
	BeatDue                             // the line this node publishes was silent for its TTL: publish a heartbeat
	Receipt                             // Peers hold the event of Stamp durably
	GroupDropped                        // this node no longer serves the group at all
	Silent                              // Peers[0] answered no keep-alive and is treated as gone: the overlay may want to check
	Contradiction                       // Events cannot both be of an honest source: if that can be proved, Convict it
	Told                                // Peers[0] answered an Ask: what it has more of Group is being had from it
	Apart                               // there are neighbours enough, and none is in the tree of the group: use HTTP until
	Found                               // a place in it was found
	Forked                              // Stamp's source said two things at that place: Events[0] is the proof
)

// Notice tells the application what it may want to act on or to show. What it points to is the
// node's, and stays as it is.
type Notice struct {
	Kind  NoticeKind
	Group multicast.Group
	Stamp multicast.Stamp
	From  uint64
	To    uint64
	Root  bool
	Peers []overlay.ID
	After time.Duration // Overdue: how long nothing was heard

	Events []multicast.Event
}

// GroupStatus is a group as this node sees it, for people and tests.
type GroupStatus struct {
	Group    multicast.Group
	Member   bool
	Root     bool // it is the tree's top
	Meets    bool // the overlay's routes to the group end here
	Attached bool
	Apart    bool       // it has as many neighbours as it keeps, and none of them is in the tree: poll
	Parent   overlay.ID // empty at the root
	Children []overlay.ID
	Lazy     []overlay.ID
	Path     []overlay.ID // top first, the parent last
	Heads    []multicast.Stamp
	Heard    []multicast.Stamp // heads beyond these that neighbours tell of
	Buffered int
	Size     int // nodes in the tree as its top says, or in the subtree where that is more
}

// Counters count what a node did and refused, by reason. They only grow.
type Counters struct {
	Delivered   uint64
	Duplicates  uint64 // payloads that came again
	Stale       uint64 // events of an older epoch or out of the window
	Gaps        uint64
	Recovered   uint64
	Missing     uint64
	Refused     uint64 // joins refused
	Unasked     uint64 // data from a node that is no neighbour in the group
	LinesFull   uint64 // events of one source too many
	ForksFull   uint64 // proofs of forks that came too fast
	Malformed   uint64
	Rejoins     uint64
	LoopsBroken uint64
	Apart       uint64 // searches for a parent that ended without one, as there are neighbours enough
	Spared      uint64 // joins and pulls refused, and children sent away, to send less
}
