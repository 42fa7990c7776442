// Package overlay is the contract between the multicast trees and the network
// that finds the way: keys, node identities and key-based routing.
//
// It follows the common API of Dabek, Zhao, Druschel, Kubiatowicz and Stoica
// (IPTPS 2003), reduced to what a tree needs: where is the next node toward a
// key, which nodes are nearest to it, and how far away is a neighbour.
//
// # Positions
//
// Every node and every group has a position, a [Key]: the SHA-256 of the bytes
// that name it. That is the rule of go-libp2p-kad-dht, so a position computed
// here and one computed there agree. Distance is XOR, read as a big-endian
// number.
//
// # Invariants
//
//  1. NextHop(k) is strictly closer to k than Self; following it from node to
//     node can therefore never loop while positions do not change.
//  2. NextHop answers only with peers that are connected now. Closest may name
//     peers that are gone: it is a hint, never an authority.
//  3. A Router answers from memory. It neither blocks nor fails.
//  4. Nothing here has a clock, a lock, a goroutine or I/O.
//
// Package overlay/kad implements the contract over libp2p, package overlay/sim
// in a deterministic simulator.
package overlay
