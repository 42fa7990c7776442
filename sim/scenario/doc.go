// Package scenario runs the simulator's scenarios: each builds a world of
// FeedTree nodes, gives it a workload, measures what the trees promise and sets
// every figure beside its target.
//
// A [Scenario] has a name, targets and a run; [All] lists them, [Find] takes one
// by name. [Scenario.Run] takes a [Config] and returns a [Result], which writes
// itself as a table for people, as JSON for machines and as plots that can
// stand beside those of the Scribe paper (Castro, Druschel, Kermarrec and
// Rowstron, JSAC 2002).
//
// # What every scenario has in common
//
//   - All nodes run the protocol as shipped, with its default configuration and
//     routing tables as joins leave them. Only [Config.Broken] changes it.
//
//   - Publishers are members drawn at random. Their events promise a next one
//     within [TTL]; they send heartbeats when there is no news.
//
//   - Nodes come in half a minute, and members join in the next half. What happens until
//     [Config.WarmUp] has passed is warm-up; its messages are counted, its deliveries are
//     not. More than 100,000 join in a minute and a quarter, ever more a second, and warm
//     up for as much longer; and no node of so many is in more than some 600 routing tables:
//     the oldest of a million would be in 22,668, connections that nobody accepts.
//
//   - Static and serial warm up for two and a half minutes, and their items are five
//     seconds apart, of a million nodes too: half a second apart, all ten met the tree as
//     it was at one moment. [Config.WarmUp] sets another time: rounds and messages until
//     the tree is within 5 % of what it ends at are more the longer it goes on.
//
//   - An item is due at every member, the publisher apart, that is up when the
//     item is published and up a minute later, connected or not. Coverage is the
//     part of the due that got it in time. There is no HTTP here. Where nobody goes an item
//     is judged as soon as all hold it.
//
//   - Where nodes die, items come in pairs, 50 ms apart: who missed the first has
//     to find it in a buffer behind the second. "repair" in [Config.Broken] leaves
//     buffers of one event, and those rows fail.
//
// # Measures
//
// RAD and RMD are Scribe's relative delay penalties: the mean (largest) delay
// over members of one feed, divided by the mean (largest) delay of one unicast
// message from the publisher to each. A feed's figure is the mean over its
// items; the median and the maximum are over feeds, or over items where there
// is one feed. They count members that stayed up and were reached within a minute.
//
// A round is [Round], the time in which a node that seeks a better place asks
// once. The structure of the first feed's tree is looked at once a round: its
// penalty is that of the way along the edges from the publisher to a sample of
// the members.
//
// Redundant copies are payloads sent to members beyond one for each delivery.
// Noise is payload bytes sent to nodes that are not members, root replicas
// included. Control messages are all but events.
//
// Droppers at random, the root among them, are so from the beginning. Droppers in
// the interior begin when the tree has grown: every node with children but the
// publisher, and nodes at random until a fifth is reached.
//
// # Invariants
//
//  1. Same configuration, same result but for wall time and memory: a run draws
//     from its seed alone.
//  2. A run that is cut short returns what it measured so far, marked partial.
//  3. Measures are kept per node and per open item, never per delivery, so that
//     a million nodes fit.
package scenario
