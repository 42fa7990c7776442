package feedtree

import (
	"net/netip"
	"time"

	"github.com/libp2p/go-libp2p/core/crypto"
	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/feedtree/feedtree/overlay"
	"github.com/feedtree/feedtree/signing"
)

const (
	// Addresses that agree in so many bits count as one network. A /16 of IPv4 is
	// what one provider tends to hold in a place, and what kad-dht's diversity
	// filter goes by; a /32 of IPv6 is what a registry gives to one provider, who
	// gives a customer any number of smaller ones.
	networkBits4 = 16
	networkBits6 = 32
)

// networkOf names the network of an address.
func networkOf(at netip.Addr) string {
	bits := networkBits6
	if at.Is4() {
		bits = networkBits4
	}
	p, err := at.WithZone("").Prefix(bits)
	if err != nil || !p.IsValid() {
		return "" // no address
	}
	return p.String()
}

// networkOf names the network of a volunteer as far as this node knows it: by a
// connection, in which its key was proved, now or not long ago. What somebody says of
// addresses counts for nothing. "": not known.
func (n *Node) networkOf(key signing.PublicKey) string {
	id, ok := idOf(key)
	if !ok {
		return ""
	}
	if n.config.NetworkOf != nil {
		return n.config.NetworkOf(idText(id))
	}
	at, ok := n.net.RemoteIP(id)
	if !ok {
		return n.places.network(key, time.Now())
	}
	network := networkOf(at)
	n.places.meet(key, network, time.Now())
	return network
}

// idOf is the node whose key signs as a volunteer.
func idOf(key signing.PublicKey) (overlay.ID, bool) {
	public, err := crypto.UnmarshalEd25519PublicKey(key[:])
	if err != nil {
		return "", false
	}
	id, err := peer.IDFromPublicKey(public)
	return overlay.ID(id), err == nil
}

// keyOf is the key of a node.
func keyOf(id overlay.ID) (signing.PublicKey, bool) {
	public, err := peer.ID(id).ExtractPublicKey()
	if err != nil {
		return signing.PublicKey{}, false
	}
	raw, err := public.Raw()
	if err != nil || len(raw) != len(signing.PublicKey{}) {
		return signing.PublicKey{}, false
	}
	return signing.PublicKey(raw), true
}
