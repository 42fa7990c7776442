// Package forks plays publishers that say two different things at one place of
// their line, and honest ones that crash and come back from backups, in simulated
// trees, and counts who is proved to have forked a line.
//
// The nodes are those of package sim; the statements are really signed, and proofs
// are made and checked by package signing, so that a proof here is one anywhere.
//
// # Worlds
//
// In the worlds of liars one key speaks on two lines. In every other world its node
// tells each neighbour the one or the other, draws up what it says of its heads to
// match, and passes on no proof. In the others the network is cut in two and a node
// on each side speaks, until the parts meet again. Branches have met when two honest
// members that hold different events of one place are neighbours and can talk: by
// then, or before, one of them knows; soon, all do.
//
// In the worlds of the honest a publisher crashes at any moment, also between
// storing what it says and sending it, and starts again from its state or from an
// older copy of it. Each start opens a new epoch behind the last head it knows, as
// the program does. Reckless ones go on where their state says, to show that the
// count can be other than zero.
package forks
