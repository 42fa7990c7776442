package gossip

import (
	"time"

	"context"
	"crypto/sha256"
	"strings"

	pubsub "github.com/libp2p/go-libp2p-pubsub"
	pb "github.com/libp2p/go-libp2p-pubsub/pb"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/protocol"

	"github.com/feedtree/feedtree/multicast"
	"github.com/feedtree/feedtree/multicast/internal/limbo"
	"github.com/feedtree/feedtree/overlay"
	"github.com/feedtree/feedtree/signing"
)

const maxMessage = signing.MaxWire + 4<<10 // an envelope, and the topic around it

// options are GossipSub's own defaults but for signing, names and queues.
func (c *Carrier) options() []pubsub.Option {
	prefix := "/feedtree/" + c.config.Network
	var protocols []protocol.ID
	for _, p := range pubsub.GossipSubDefaultProtocols {
		if p != pubsub.FloodSubID {
			protocols = append(protocols, protocol.ID(prefix)+p)
		}
	}
	features := func(f pubsub.GossipSubFeature, p protocol.ID) bool {
		return pubsub.GossipSubDefaultFeatures(f, protocol.ID(strings.TrimPrefix(string(p), prefix)))
	}
	return []pubsub.Option{
		pubsub.WithMessageSignaturePolicy(pubsub.StrictNoSign),
		pubsub.WithNoAuthor(),
		pubsub.WithMessageIdFn(messageID),
		pubsub.WithGossipSubProtocols(protocols, features),
		pubsub.WithMaxMessageSize(maxMessage),
		pubsub.WithPeerOutboundQueueSize(peerQueue),
		pubsub.WithValidateQueueSize(verifyQueue),
		pubsub.WithRawTracer(tracer{c}),
		pubsub.WithLogger(c.config.Log),
	}
}

// messageID is of bytes that nobody verified yet; see the package comment.
func messageID(m *pb.Message) string {
	sum := sha256.Sum256(m.GetData())
	return string(sum[:20])
}

// validate is the validator of a group's topic: the one place where an envelope is
// opened and judged.
func (c *Carrier) validate(g *group) pubsub.ValidatorEx {
	return func(_ context.Context, from peer.ID, m *pubsub.Message) pubsub.ValidationResult {
		if m.ValidatorData != nil {
			return pubsub.ValidationAccept // opened by Publish
		}
		env, err := signing.Open(m.GetData())
		switch {
		case err != nil:
			c.counts.refuse("event: " + string(signing.ReasonOf(err)))
			if signing.ReasonOf(err) == signing.ReasonUnsupported {
				return pubsub.ValidationIgnore // it may come from a later version
			}
			return pubsub.ValidationReject
		case env.Group != g.id:
			c.counts.refuse(whyGroup)
			return pubsub.ValidationReject
		}
		m.ValidatorData = env
		a := arrival{group: g, env: env, from: overlay.ID(from)}
		switch verdict, why := c.judge(a); {
		case verdict != multicast.Accept:
			c.counts.refuse(why)
			return pubsub.ValidationIgnore // its forwarder need not know the feed's key
		case c.sparing():
			c.counts.add(spared)
			c.keep(a)
			return pubsub.ValidationIgnore // which is how pubsub is kept from sending it on
		}
		return pubsub.ValidationAccept
	}
}

func (c *Carrier) sparing() bool {
	o, ok := c.net.(Metered)
	return ok && o.Sparing()
}

// judge asks the judge, and holds what it does not know. Why is empty for what is
// held.
func (c *Carrier) judge(a arrival) (verdict multicast.Verdict, why string) {
	if c.out.Judge == nil {
		return multicast.Accept, ""
	}
	for {
		generation := c.held.Now()
		verdict, why = c.out.Judge(a.env)
		switch verdict {
		case multicast.Accept:
			return verdict, ""
		case multicast.Unknown:
			switch c.held.Put(generation, a.env, a, time.Now().Add(limbo.MostTime)) {
			case limbo.Judge:
				continue
			case limbo.Full:
				why = whyFull
			default: // one that is held already says nothing new
				why = ""
			}
			return verdict, why
		}
		return multicast.Refuse, "judge: " + why
	}
}

// eventOf is the event that an envelope makes: what its source signed, and all its
// bytes.
func eventOf(env *signing.Envelope) multicast.Event {
	e := multicast.Event{
		Group: env.Group,
		Stamp: multicast.Stamp{Source: multicast.Source(env.Key), Epoch: env.Epoch, Seq: env.Seq},
		TTL:   env.TTL,
		Body:  env.Wire(),
	}
	if env.Kind == signing.Heartbeat {
		e.Stamp.Beat = uint64(env.Time.UnixMilli())
	}
	return e
}
