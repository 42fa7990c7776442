package kad

import (
	"context"
	"crypto/rand"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p/core/crypto"
	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/feedtree/feedtree/overlay"
)

// A peer with which there is no connection, and of which no address is known, is found
// through the others; nobody is found of whom nobody knows.
func TestVisit(t *testing.T) {
	nodes, _ := gather(t, 4, Config{})
	full(t, nodes)
	one, other := nodes[1], peer.ID(nodes[2].Self())
	one.host.Peerstore().ClearAddrs(other)
	_ = one.host.Network().ClosePeer(other)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	at, ok := one.Visit(ctx, nodes[2].Self())
	if !ok || !at.IsLoopback() {
		t.Errorf("%v, %v", at, ok)
	}
	if again, ok := one.RemoteIP(nodes[2].Self()); !ok || again != at {
		t.Errorf("then connected with %v, %v", again, ok)
	}
	_, public, err := crypto.GenerateEd25519Key(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	nobody, err := peer.IDFromPublicKey(public)
	if err != nil {
		t.Fatal(err)
	}
	if at, ok := one.Visit(ctx, overlay.ID(nobody)); ok {
		t.Errorf("nobody is at %v", at)
	}
}
