package multicast

import (
	"context"
	"time"

	"github.com/feedtree/feedtree/overlay"
)

// Carrier is one way of carrying events between the members of groups: the tree
// (package multicast/live over multicast/tree) or gossip (multicast/gossip).
// What a carrier hears goes out through the [Callbacks] it was made with. All
// methods are safe for concurrent use and may be called from callbacks, but for
// Run. After Run has ended every call fails; Group and Counters still answer.
//
// Carriers of different kinds do not meet: everybody in a group uses the same.
// Package multicast/conformance holds what each must do, as tests.
type Carrier interface {
	// Run carries until ctx ends; then it leaves its groups and returns nil. It
	// runs once.
	Run(ctx context.Context) error

	// Join joins a group. The cursor says up to where each source's line is held
	// without a hole; nil: this node was never a member, and what came before is
	// not missed. Recent are the latest envelopes held, oldest first, to serve
	// others from. How it goes is told by notices.
	Join(ctx context.Context, g Group, cursor []Stamp, recent [][]byte) error

	// Leave leaves a group: nothing of it is delivered any more.
	Leave(g Group) error

	// Publish sends a sealed envelope to its group, and asks that so many other
	// nodes say when they hold it durably: a Receipt notice tells who does. The
	// source has stored it before.
	Publish(ctx context.Context, wire []byte, want int) error

	// Stored says that the event of a stamp is held durably here.
	Stored(g Group, s Stamp) error

	// Lease serves a group for others, without joining it, from envelopes that
	// Callbacks.Keep was given before a restart.
	Lease(ctx context.Context, g Group, recent [][]byte) error

	// Recheck has the events judged again that wait because the judge did not know
	// their source.
	Recheck(g Group) error

	// Convict tells a group of the proof that a source in it forked its line, as
	// the owner kept it or found it otherwise. Of a proof that is told already
	// nothing comes.
	Convict(ctx context.Context, proof []byte) error

	// Ask asks nodes, members or not, what they know of a group joined. Each that
	// answers is told of by a Told notice; what it has more is brought, and shows in
	// Status.Heads until it came. Without Abilities.Ask nothing comes.
	Ask(g Group, whom []overlay.ID) error

	// Group describes a group as this node sees it now, false if it does not serve
	// it.
	Group(g Group) (Status, bool)

	// Counters returns what was done, and what was refused or dropped by reason.
	Counters() (done, refused map[string]uint64)

	// Abilities says what this carrier can do beyond the common contract.
	Abilities() Abilities
}

// Abilities is what not every carrier can do. What it cannot do it says so here,
// and the caller has another way: HTTP for what is missing.
type Abilities struct {
	CatchUp bool // a member that comes back gets what it missed since its cursor
	Fill    bool // a gap in a line is asked for, however old, before it is Missing
	Ask     bool // other nodes say what they know of a group
	Lease   bool // nodes that are no members hold events for others
	Forks   bool // a source that says two things at one place is found out, and all are told
}

// Callbacks is what a carrier tells its owner. E is the opened envelope of an
// event, a type this package does not know. A callback that is nil is not
// called. Deliver, Keep and Notice come from one goroutine, in order, and may
// block for a moment: everything else then waits.
type Callbacks[E any] struct {
	// Judge decides about an event whose signature is right. It is called from
	// many goroutines and answers from memory; the reason of a refusal is a few
	// fixed words. Nil: whatever is signed is accepted.
	Judge   func(E) (verdict Verdict, reason string)
	Deliver func(Delivery, E) // an event of a group joined
	Keep    func(Event, E)    // an event to hold durably for others
	Notice  func(Notice)      // what the owner may want to act on
}

// Verdict is the answer to whether a source may speak in a group.
type Verdict uint8

// The verdicts.
const (
	Accept  Verdict = iota + 1 // deliver and forward
	Refuse                     // drop, and count under the reason given
	Unknown                    // hold for a while: the feed's key is not known yet
)

// NoticeKind says what a notice is about.
type NoticeKind uint8

// What a carrier tells besides deliveries.
const (
	Attached NoticeKind = iota + 1 // the group is connected to its other members, or Root is this node
	Detached                       // it no longer is; a way is being sought
	Missing                        // From..To of Stamp's line could not be had from any node: use HTTP
	Overdue                        // Stamp's source promised a sign of life and gave none: use HTTP
	BeatDue                        // the line this node publishes was silent for its TTL: publish a heartbeat
	Receipt                        // Peers hold the event of Stamp durably
	Dropped                        // this node no longer serves the group at all
	Forked                         // Stamp's source said two things at that place: Proof
	Told                           // Peers[0] answered what it was asked about the group
	Apart                          // this node has neighbours enough, none of whom is in the group: use HTTP until
	Found                          // it has a place in it
	Silent                         // Peers[0] does not answer and is treated as gone
)

// Notice tells the owner of a carrier what it may want to act on or to show.
type Notice struct {
	Kind  NoticeKind
	Group Group
	Stamp Stamp
	From  uint64
	To    uint64
	Root  bool
	Peers []overlay.ID
	After time.Duration // Overdue: how long nothing was heard
	Proof []byte        // Forked: as signing.OpenFork reads it
}

// Status is a group as one node sees it.
type Status struct {
	Group    Group
	Member   bool
	Root     bool
	Attached bool
	Apart    bool         // none of the neighbours that this node keeps is in it
	Parent   overlay.ID   // empty where there is none
	Children []overlay.ID // those this node forwards to, where they are known
	Heads    []Stamp      // the furthest places of lines that this node holds or was told of
	Audience int          // other members known, at most; -1: nobody counts them
	Depth    int          // hops to the root or top of the tree; 0 at it, or where nobody counts them
	Size     int          // how many nodes carry the group, this one included, to within a factor of two; 0: unknown
}
