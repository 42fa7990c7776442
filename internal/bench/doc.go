// Package bench measures the ways of carrying events beside each other, over real
// libp2p hosts in one process: what `feedtree bench multicast` runs.
//
// Each backend gets the same envelopes, sealed before anything starts, and has the
// same machine to itself, one after the other. The backends:
//
//   - tree: overlay/kad and multicast/live as shipped.
//   - gossip: overlay/kad and multicast/gossip, GossipSub with its default
//     parameters; only its queues are longer than pubsub's own.
//   - push: the floor. A static tree with fan-out 16, its edges plain streams
//     between hosts without a DHT; each node verifies an envelope and passes it on.
//     It has no membership, no repair and nothing to find anybody with.
//
// In all of them an envelope is verified once per node.
//
// [Archive] measures something else: how fast items come into an archive and are
// found there. Its items are made up from a seed, of words as frequent as a
// language's, and are not alike: titles of 4 to 11 words, texts of 110 words at the
// median and up to 5,000. Where a machine is busy, what a call took of a processor
// says more than how long it took.
//
// # What is measured
//
// A delivery's delay is from the call that publishes to the callback that delivers.
// Bytes are what all hosts wrote to all their streams while items were published,
// the DHT's and keep-alives included, over the bytes of envelopes delivered. CPU is
// the process's user and system time in the same span, idle traffic included, and the
// collection of the garbage made in it: what was made before is collected before. Memory
// is what objects and stacks take, from before the hosts exist to after the last
// delivery, with no garbage: pages that one backend leaves to the runtime are not found
// in the next one's figure, nor missing in it. Joining is from the call to the first item
// delivered, while items come 50 times a second, or less often to more than 20 nodes, and
// the hosts are connected already.
//
// Of several runs a row has the medians, of Max and Depth the most, and what is counted is added up:
// what one run lost shows. The backends run in turn, so that a machine that becomes slower does so
// for all of them.
//
// # Delay
//
// An injected delay holds back every UDP packet for its time in the sender's socket:
// a queue per socket hands packets to the kernel in order when they are due, and
// writing to it never blocks. So it lies below QUIC, in the same place for all, and
// costs each of them what a link of that latency costs: acknowledgements and
// handshakes are delayed too. A socket that is wrapped so loses the batching of the
// kernel's UDP interface, which costs all backends CPU: figures of CPU are to be taken
// without delay. A cut drops the packets of one host in both directions.
package bench
