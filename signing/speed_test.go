package signing

import (
	"crypto/ed25519"
	"crypto/sha256"
	"strings"
	"testing"
	"time"
)

// What it takes to know that an update is the publisher's, beside the signature
// alone. One core: run it with -cpu 1.
func BenchmarkVerification(b *testing.B) {
	id, root := testIdentity(b, 0), testIdentity(b, 1)
	h := testHeader()
	wire := seal(b, id, h, strings.Repeat("x", 1<<10))
	state := signState(b, testState(b), root)
	message := append([]byte(envelopeDomain), wire[:HeaderSize]...)
	b.Run("ed25519", func(b *testing.B) {
		for b.Loop() {
			if !ed25519.Verify(id.public[:], message, wire[HeaderSize:Overhead]) {
				b.Fatal("refused")
			}
		}
		perSecond(b)
	})
	b.Run("ed25519 and sha256", func(b *testing.B) {
		for b.Loop() {
			if !ed25519.Verify(id.public[:], message, wire[HeaderSize:Overhead]) || sha256.Sum256(wire[Overhead:]) == [32]byte{} {
				b.Fatal("refused")
			}
		}
		perSecond(b)
	})
	b.Run("envelope", func(b *testing.B) {
		for b.Loop() {
			if _, err := Open(wire); err != nil {
				b.Fatal(err)
			}
		}
		perSecond(b)
	})
	b.Run("envelope and key state", func(b *testing.B) {
		now := noon.Add(time.Hour)
		for b.Loop() {
			e, err := Open(wire)
			if err != nil {
				b.Fatal(err)
			}
			if err := state.Covers(&e.Header, now); err != nil {
				b.Fatal(err)
			}
		}
		perSecond(b)
	})
}

func perSecond(b *testing.B) {
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "/s")
}
