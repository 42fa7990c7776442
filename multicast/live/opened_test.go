package live

import (
	"bytes"
	"hash/maphash"
	"testing"

	"github.com/feedtree/feedtree/signing"
)

// An event that comes again costs no signature: the envelope is the one that
// was opened before, whatever copy of the bytes it came in.
func TestEnvelopesAreOpenedOnce(t *testing.T) {
	var o opened
	wire := news(t, identity(t, 1), groupA, 1)
	first, err := o.open(wire)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := o.open(bytes.Clone(wire)); again != first || err != nil {
		t.Fatalf("opened anew (%v)", err)
	}
	wire = bytes.Clone(wire)
	wire[len(wire)-1] ^= 1
	for range 2 {
		if _, err := o.open(wire); signing.ReasonOf(err) != signing.ReasonPayload {
			t.Fatalf("an altered copy: %v", err)
		}
	}
}

// The hash that an envelope is found by is no proof: its bytes are.
func TestAHashAloneOpensNothing(t *testing.T) {
	var o opened
	one, other := news(t, identity(t, 1), groupA, 1), news(t, identity(t, 2), groupA, 1)
	env, err := o.open(one)
	if err != nil {
		t.Fatal(err)
	}
	o.put(maphash.Bytes(openedSeed, other), env)
	if got, err := o.open(other); err != nil || !bytes.Equal(got.Wire(), other) {
		t.Fatalf("another envelope of the same hash came instead (%v)", err)
	}
}

func TestOpenedEnvelopesAreBounded(t *testing.T) {
	var o opened
	env, err := signing.Open(news(t, identity(t, 1), groupA, 1))
	if err != nil {
		t.Fatal(err)
	}
	for i := range 2 * maxOpened {
		o.put(uint64(i), env)
		o.get(0) // the first stays in use
	}
	if len(o.known) != maxOpened || o.order.Len() != maxOpened || o.bytes != maxOpened*len(env.Wire()) {
		t.Errorf("%d known, %d in order, %d bytes", len(o.known), o.order.Len(), o.bytes)
	}
	if o.get(0) == nil || o.get(1) != nil {
		t.Error("not the least recently used one was forgotten")
	}
}
