// Package tree is FeedTree's multicast tree as a pure state machine: Scribe
// (Castro, Druschel, Kermarrec, Rowstron, JSAC 2002) on a Kademlia overlay, for
// streams whose events are signed and densely numbered.
//
// A [Node] is the protocol of one overlay node over all its groups. Inputs go
// into [Node.Step] together with the time; what is to be done comes out in an
// [Outbox]; [Node.Deadline] says when the node next wants a [Tick]. There is no
// clock, goroutine, lock or I/O here, and the only randomness is the generator
// given to [New]: package multicast/live runs a Node over libp2p, overlay/sim
// runs a million of them, and the same seed gives the same run, on every processor.
//
// # The tree
//
// A member sends JOIN to the overlay's next hop toward the group's key. Any
// node adopts the sender and, unless it is in the tree, joins in turn. Where
// no closer peer is connected a lookup decides: the node nearest to the key is
// the root. A root keeps looking; one that learns of somebody closer joins it,
// which is how two trees become one.
//
// A node has at most 16 children per group; a full one names children to ask
// instead. Members and forwarders are equal but for deliveries; a forwarder
// that serves nobody leaves.
//
// The root is where the overlay's routes end. It is the top of the tree too,
// unless a publisher that promises heartbeats claims that place: its events then
// need no way up first, and the root only passes joiners on (see root.go). One that
// wants nothing of a tree of more than a few nodes is not even in it.
//
// Events flow along edges in both directions, away from where they came: a
// source anywhere in the tree reaches everybody without a detour over the top,
// and a part of the tree that lost its top still carries events. Copies leave in turn:
// the child with the most nodes below it is sent to first, one with a far leaf below it
// sooner than its weight says. Each is told its turn, which is part of its way (turn.go).
//
// # Nodes that nobody can dial
//
// A leaf, in [Config], is never a root, and no routing table holds it; a
// [Dialable] input turns a node into one or back. A leaf offers no room and nobody
// is sent to it, but it adopts whoever asks: who got through to it has a direct
// connection.
//
// One that has sent enough for others (a [Spare] input) takes nobody in and sends its
// children to others; what it publishes itself goes on (sparing.go).
//
// # Delay
//
// Kademlia's hops are random in latency, so the places that routes give are only the
// first ones. A node tells how it stands: the delay from the top, how many nodes are
// below it, how much room it has, where it is by its Vivaldi coordinate. Every node
// looks for a better parent now and then (improve.go), also among members of its own
// region, to which the nearest of the overlay's connections and those it asks lead it
// (nearby.go); a full one makes room for a joiner if the delays of all concerned, each
// counted by the nodes below it, add up to less (displace.go). What it costs the child
// that would go is measured by that child before anybody moves (yield.go): so each swap
// makes the tree better, and they come to an end. It makes one at a time, and the best
// of those that come meanwhile wait for a moment (await.go). Where the newcomer hung a
// place is kept for the child that goes, whatever else goes on there (keep.go); one that
// finds none but a plainly bad one stays, and another goes (stay.go), but until one has, the
// node takes nobody in. What would help many, and each of them too little, is room: a full
// node counts for a newcomer next door what those that asked it in vain would gain by its
// places (demand.go), and so members of the top's own street come to hang below it, and the
// heavy below those. That is hearsay, and is forgotten within the minute; the child that goes
// loses a hop next door by it. One of its 16 places is kept for such swaps, so that nobody is
// without a parent while they last.
// Who serves one group to the full adopts in others only who has no place, so that what
// nodes send is even.
// What is told is hearsay: it proposes whom to ask; round trips are measured, that to
// the parent again and again. Searches that find nothing become rare, in each group and
// over all groups of a node: in many of them only the worst places are searched from at
// once, the others in turn. Who has many nodes below it, all of which gain, searches
// twice as often. Who is one of the last of all to hold an event knows it, for the top tells
// how long the longest way is, and goes on searching every few seconds, as does who makes many
// late by the detour of its own way (last.go). The more nodes are below one, the fewer may
// ask it: so that a subtree has grown is told below it
// like a new delay, and above it at once (crowd.go). Of whom nobody has said how many that
// is, nobody is told: a region would ask its best node all at once. In a tree of more than a
// hundred thousand each leaves out most of those that it could ask, so that they ask
// different ones (share.go). Who said no is passed over for a while (asked.go). In one of more than
// half a million somebody moves at every moment: there nobody relies on what the tree tells of its
// size and of heights, and what is late or too deep is in more of a hurry (huge.go).
//
// # Edges
//
// The child numbers each attempt to hang below a parent; every message about
// the edge repeats the number. Acks and path messages carry the way to the top.
// A node never accepts a parent whose way leads through itself, and detaches
// when a path comes that does: loops may form while several nodes move at
// once, they never persist. A node that has a parent and wants another one
// keeps the first until the second has adopted it.
//
// # Neighbours
//
// A peer with an edge or a lazy link is a neighbour, over all groups one and the same, and
// there are Config.Neighbours of them at most (neighbours.go). Then lazy links and better
// places are sought among those that are there, lazy links go for edges, and a joiner is
// named others. Who had to take one more all the same lets go of one, group by group, once another
// neighbour has taken the place (letgo.go), and does so too for a member that would find none.
// A member that knows nobody in a tree stays apart from it, says so (Apart,
// Found), and looks around again ever more seldom; its application polls. A node with
// thousands of feeds that hardly anybody else reads has its connections bounded by it, and
// pushed what its neighbours read too.
//
// # Repair
//
// A keep-alive per pair of nodes, whatever the number of groups they share,
// and only while nothing else is heard, finds silent deaths; data that nobody
// acknowledges by telling its head makes it come at once. Every member has a
// few lazy links to random members, half of which it seeks at once: others bring it the
// rest, mostly. They are told heads, not payload: a gap or a silent parent shows at the
// next item, and what is missing is pulled from the parent, lazy links, children and the
// nodes near the root, in this order.
// Only when none of them has it is the application told to use HTTP, at once for
// all that has been missing as long. Of many lines only those that moved are told,
// and all again where keep-alives differ; in a stream each of many lazy links is told
// in its turn, just after an item. Where items come several a second neighbours are told
// seldom: a silent parent shows by silence, and lazy links are asked (stream.go).
//
// In a tree of a few nodes the root sends what it has to the nodes nearest to the
// key after it: one of them is root when it dies. They keep it under a lease and
// rest: a lease alone makes no node part of the tree. In a larger tree the next
// root gets what is missing from its children.
//
// # Epochs
//
// A source opens an epoch whenever its program starts. The first word of one names
// the last event before it: where that is not here, neighbours are asked for what
// they have of the line since, and events of the epochs before are taken although
// a later one is here already (epoch.go).
//
// # Forks
//
// Heads name the event at the head, and each event the one before it. A node that
// is told of another event at a place where it holds one asks for it; one that
// holds two that contradict each other says so, and the proof that is made of them
// outside goes along every edge and lazy link, and to all who come later, once for
// each source and epoch (fork.go). What is forwarded and delivered does not change
// by that: who believes a source is not decided here.
//
// # Where this departs from DESIGN.md
//
// Lazy links come from the parent's ack, which names some members, and from
// random walks, some of which begin at the top; none is tied to a root replica,
// which in a large group would have to hold links to everybody. A link to a
// member that shares this node's parent is refused unless that is the top, or the tree
// is a small one.
//
// A publisher does not reverse the edges on its path when it becomes the top:
// the top of the day joins it, and the nodes between find their places by the
// rule that everybody follows. Sources other than the top do not send straight
// to it: events take the tree's edges from where they are, which costs a tenth
// more delay and needs no connection beside the tree.
//
// A feed that finds nobody among the neighbours kept lives on polls alone: the copies that
// nodes near the root keep under a lease are not asked for, since of thousands of feeds that
// would cost more messages than all else.
//
// Nothing ties a source's key to a node, so a claim to the top is believed from
// anybody. A false top can withhold what it is sent, as a false root can; lazy
// links show that, and its children leave it.
//
// # Invariants
//
//  1. An event of (source, epoch, seq) is delivered at most once per join.
//  2. A child hangs below one parent per group; both ends agree on the edge's
//     number, or the next keep-alive makes them.
//  3. A node is on its own way to the top only until the first message about it.
//  4. Children are at most Config.Children per group and Config.AllChildren in
//     all; buffers, lines, lazy links and groups are bounded too.
//  5. A node has one parent at a time from the first to the last day of its
//     membership, but for failures and for neighbours that are let go: moves and swaps
//     make the new edge first.
//  6. What is hearsay (heads told by neighbours) moves nothing but a question
//     to who told it, and a claim to the top. Only verified stamps open a gap or
//     end an epoch.
//  7. Neighbours are at most Config.Neighbours, but for as long as it takes to find another
//     parent or child in place of one that is needed: this node publishes there, or is the root,
//     or others hang below it.
//
// Who relies on them: 1 the node's store, 2 and 3 everybody above, 4 and 7 the
// operator, 5 the reader, 6 whoever has a liar for a neighbour.
package tree
