package conformance_test

import (
	"bytes"
	"flag"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	pubsub "github.com/libp2p/go-libp2p-pubsub"
	"github.com/libp2p/go-libp2p/core/protocol"

	"github.com/feedtree/feedtree/multicast"
	"github.com/feedtree/feedtree/multicast/conformance"
	"github.com/feedtree/feedtree/multicast/gossip"
	"github.com/feedtree/feedtree/multicast/live"
	"github.com/feedtree/feedtree/overlay"
	"github.com/feedtree/feedtree/overlay/kad"
	"github.com/feedtree/feedtree/signing"
)

// The tests mostly wait for the network: all at once they take as long as one.
func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.parallel", "16"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

type callbacks = multicast.Callbacks[*signing.Envelope]

func TestTree(t *testing.T) {
	conformance.Test(t, conformance.Backend{
		New: func(net *kad.Node, _ string, out callbacks) (multicast.Carrier, kad.Inbound, error) {
			c := live.NewCarrier(net, live.Config{}, out)
			return c, &tap{Inbound: c.Loop}, nil
		},
		Forge: func(t testing.TB, victim kad.Inbound, _ *kad.Node, _ string, genuine, forged []byte) {
			victim.(*tap).replay(t, genuine, forged)
		},
	})
}

// tap remembers frames, so that a test can be the neighbour who sent one and send
// another like it.
type tap struct {
	kad.Inbound
	mu   sync.Mutex
	seen []frame
}

type frame struct {
	from  overlay.ID
	bytes []byte
}

func (p *tap) Frame(from overlay.ID, b []byte) {
	p.mu.Lock()
	p.seen = append(p.seen, frame{from, slices.Clone(b)})
	p.mu.Unlock()
	p.Inbound.Frame(from, b)
}

// replay sends the frame again that brought an envelope, with another one of the
// same length in it.
func (p *tap) replay(t testing.TB, genuine, forged []byte) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, f := range p.seen {
		if bytes.Contains(f.bytes, genuine) {
			p.Inbound.Frame(f.from, bytes.Replace(f.bytes, genuine, forged, 1))
			return
		}
	}
	t.Fatal("the envelope came in no frame")
}

func TestGossip(t *testing.T) {
	conformance.Test(t, conformance.Backend{
		New: func(net *kad.Node, network string, out callbacks) (multicast.Carrier, kad.Inbound, error) {
			c, err := gossip.New(net, gossip.Config{Network: network, Patience: time.Second}, out)
			return c, c, err
		},
		Forge: forge,
	})
}

// forge publishes bytes from a node that runs pubsub without any validator.
func forge(t testing.TB, _ kad.Inbound, via *kad.Node, network string, genuine, forged []byte) {
	t.Helper()
	env, err := signing.Open(genuine)
	if err != nil {
		t.Fatal(err)
	}
	hostile, err := kad.New(kad.Config{
		Network: network, Listen: []string{"/ip4/127.0.0.1/udp/0/quic-v1"}, Bootstrap: via.Addrs(),
		NoMDNS: true, NoNAT: true, NoRendezvous: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { hostile.Close() })
	prefix := "/feedtree/" + network
	spoken := []protocol.ID{protocol.ID(prefix) + pubsub.GossipSubID_v11}
	ps, err := pubsub.NewGossipSub(t.Context(), hostile.Host(),
		pubsub.WithMessageSignaturePolicy(pubsub.StrictNoSign), pubsub.WithNoAuthor(),
		pubsub.WithGossipSubProtocols(spoken, func(f pubsub.GossipSubFeature, p protocol.ID) bool {
			return pubsub.GossipSubDefaultFeatures(f, protocol.ID(strings.TrimPrefix(string(p), prefix)))
		}))
	if err != nil {
		t.Fatal(err)
	}
	if err := hostile.Start(t.Context(), deaf{}); err != nil {
		t.Fatal(err)
	}
	topic, err := ps.Join(prefix + "/" + multicast.Group(env.Group).String())
	if err != nil {
		t.Fatal(err)
	}
	deadline := time.Now().Add(time.Minute)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for len(topic.ListPeers()) < 8 {
		if <-tick.C; time.Now().After(deadline) {
			t.Fatalf("the hostile node found %d members only", len(topic.ListPeers()))
		}
	}
	if err := topic.Publish(t.Context(), forged); err != nil {
		t.Fatal(err)
	}
}

type deaf struct{}

func (deaf) Frame(overlay.ID, []byte) {}
func (deaf) Gone(overlay.ID)          {}
func (deaf) Routes()                  {}
