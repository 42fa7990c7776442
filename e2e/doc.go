// Package e2e runs the built binary as real processes on loopback, with real
// QUIC between them, a real HTTP origin under a public-looking name, and the
// feed readers that Debian ships where they are installed.
package e2e
