package gossip

import (
	pubsub "github.com/libp2p/go-libp2p-pubsub"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/protocol"

	"github.com/feedtree/feedtree/internal/tally"
)

// What is counted of what was done.
const (
	delivered  = "gossip_delivered"
	duplicates = "gossip_duplicates" // messages that came again
	missing    = "gossip_missing"
	published  = "gossip_published"
	receipts   = "gossip_receipts"
	renewed    = "gossip_renewed" // connections to members that pubsub forgot
	spared     = "gossip_spared"  // events delivered here and not forwarded, to send less
)

// Why something was refused or dropped.
const (
	whyGroup   = "event: of another group"
	whyLines   = "gossip: too many sources"
	whyStale   = "gossip: of an older epoch"
	whyAgain   = "gossip: the same stamp again"
	whyFull    = "held: no room"
	whyExpired = "held: the key never became known"
	whyRecent  = "gossip: it brings no history to others"
	whyWaiting = "gossip: nobody was there to publish to"
	whySlow    = "gossip: deliveries do not keep up"
	whyRecalls = "gossip: too many left at once to ask them all"
	whyAsks    = "gossip: too many questions at once"
)

// counts counts what was done, and what was refused by reason. It is also part of
// pubsub's tracer: what its queues drop is counted here.
type counts struct{ done, refused tally.Tally }

func (c *counts) add(what string)   { c.done.Count(what) }
func (c *counts) refuse(why string) { c.refused.Count(why) }

func (c *counts) all() (done, refused map[string]uint64) { return c.done.All(), c.refused.All() }

// tracer is how pubsub tells what it drops, and whom it forwards to.
type tracer struct{ *Carrier }

var _ pubsub.RawTracer = tracer{}

func (t tracer) RejectMessage(_ *pubsub.Message, why string) {
	switch why {
	case pubsub.RejectValidationFailed, pubsub.RejectValidationIgnored: // counted with its reason by the validator
	default:
		t.counts.refuse("pubsub: " + why)
	}
}

func (t tracer) DuplicateMessage(*pubsub.Message) { t.counts.add(duplicates) }

func (t tracer) DropRPC(*pubsub.RPC, peer.ID) { t.counts.refuse("send: a peer's queue is full") }

func (t tracer) UndeliverableMessage(*pubsub.Message) {
	t.counts.refuse(whySlow)
}

func (t tracer) Graft(p peer.ID, topic string)                { t.grafted(topic, p, true) }
func (t tracer) Prune(p peer.ID, topic string)                { t.grafted(topic, p, false) }
func (t tracer) OnNewOutboundStream(p peer.ID, _ protocol.ID) { t.streamed(p, true) }
func (t tracer) OnClosedOutboundStream(p peer.ID)             { t.streamed(p, false) }

func (tracer) ThrottlePeer(peer.ID)            {}
func (tracer) Join(string)                     {}
func (tracer) Leave(string)                    {}
func (tracer) ValidateMessage(*pubsub.Message) {}
func (tracer) DeliverMessage(*pubsub.Message)  {}
func (tracer) RecvRPC(*pubsub.RPC)             {}
func (tracer) SendRPC(*pubsub.RPC, peer.ID)    {}
