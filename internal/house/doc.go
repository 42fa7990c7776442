// Package house holds the rules of the source tree as tests: which package may
// import which, and what a pure core must not touch. It has no other code.
package house
