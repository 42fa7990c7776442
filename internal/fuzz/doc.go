// Package fuzz holds fuzz targets to limits, and mutates their inputs by the
// million.
//
//	func FuzzParse(f *testing.F) {
//		f.Add([]byte("<rss/>"))
//		fuzz.Hold(f, func(t *testing.T, doc []byte) { … })
//	}
//
// Under `go test` each seed is tried once, and under `go test -fuzz` Go's engine
// looks for new ones, guided by what they cover. That bookkeeping costs more than
// most parsers do. With -mutations the same target tries, at its own speed, so many
// mutations of each seed, and of each file of -mutations.corpus, where the engine
// left what it found:
//
//	go test ./feed -run 'FuzzParse$' -mutations 100000 -mutations.seed 7
//
// `go run ./internal/fuzz/fuzzall` does both for all targets of the module.
//
// # Limits
//
// An input fails that panics, that takes over a second, or for which over 256 MiB
// are allocated, freed in between or not. What mutation found to fail is written to
// the target's testdata/fuzz, where every later `go test` tries it.
package fuzz
