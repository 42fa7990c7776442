// Package conformance holds what every way of carrying events must do, as tests
// that a carrier is run against: see [Test]. It is for tests, as testing/fstest is.
//
// The carriers run over real libp2p hosts in one process, eight nodes on loopback.
// Where the contract leaves a choice the suite goes by what the carrier declares
// ([multicast.Abilities]) and tests that too: a carrier that brings no history must
// say Missing where another one catches up.
package conformance
