// Package packaging has no code. The script build makes a release of the command:
// a static binary and a Debian package with a systemd unit, the same bytes from
// the same sources wherever they lie. Its test installs the package on this
// machine, uses it as systemd would, upgrades it and takes it away again:
//
//	go test ./packaging -install -v
//
// The script profile measures where the simulator and nodes spend their time, and writes
// cmd/feedtree/default.pgo, by which go build compiles the command.
package packaging
