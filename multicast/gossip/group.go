package gossip

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	pubsub "github.com/libp2p/go-libp2p-pubsub"
	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/feedtree/feedtree/multicast"
	"github.com/feedtree/feedtree/overlay"
	"github.com/feedtree/feedtree/signing"
)

const maxGroups = 8192

// group is one group this node is in, or has published to. The Carrier's mutex
// guards what follows book.
type group struct {
	id     multicast.Group
	topic  *pubsub.Topic
	events *pubsub.TopicEventHandler
	ctx    context.Context
	end    context.CancelFunc

	book     book
	member   bool
	sub      *pubsub.Subscription
	audience map[peer.ID]bool // peers in the topic
	mesh     map[peer.ID]bool // those of them that pubsub forwards to
	attached bool             // what was told last
	joined   time.Time
	since    time.Time // when the mesh ceased to be empty
	waiting  []*signing.Envelope
	bytes    int // of waiting

	settling sync.Mutex // one at a time tells and sends
}

func (c *Carrier) topicPrefix() string { return "/feedtree/" + c.config.Network + "/" }

func (c *Carrier) topicOf(g multicast.Group) string { return c.topicPrefix() + g.String() }

// Join joins a group. Recent is not used: gossip has no history.
func (c *Carrier) Join(ctx context.Context, id multicast.Group, cursor []multicast.Stamp, _ [][]byte) error {
	c.calls.Lock()
	defer c.calls.Unlock()
	g, err := c.open(ctx, id)
	if err != nil || g.member {
		return err
	}
	sub, err := g.topic.Subscribe(pubsub.WithBufferSize(groupQueue))
	if err != nil {
		return fmt.Errorf("join: %w", err)
	}
	c.mu.Lock()
	g.sub, g.member, g.joined = sub, true, time.Now()
	g.book.begin(cursor)
	c.mu.Unlock()
	c.life.goes(func() { c.listen(g, sub) })
	c.life.goes(func() { c.search(g) })
	c.life.goes(func() { c.settleAfter(g, meshFrom) })
	return nil
}

// open returns a group with its topic. The calls are locked.
func (c *Carrier) open(ctx context.Context, id multicast.Group) (*group, error) {
	if c.life.ctx.Err() != nil {
		return nil, ErrClosed
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	c.mu.Lock()
	g, count := c.groups[id], len(c.groups)
	c.mu.Unlock()
	if g != nil {
		return g, nil
	}
	if count >= maxGroups {
		return nil, fmt.Errorf("this node is in %d groups already: leave some", count)
	}
	g = &group{id: id, audience: make(map[peer.ID]bool), mesh: make(map[peer.ID]bool)}
	g.ctx, g.end = context.WithCancel(c.life.ctx)
	name := c.topicOf(id)
	err := c.pubsub.RegisterTopicValidator(name, c.validate(g), pubsub.WithValidatorInline(true))
	if err == nil {
		g.topic, err = c.pubsub.Join(name)
	}
	if err == nil {
		g.events, err = g.topic.EventHandler()
	}
	if err != nil {
		c.part(g)
		return nil, fmt.Errorf("open the topic of a group: %w", err)
	}
	c.mu.Lock()
	c.groups[id] = g
	c.mu.Unlock()
	c.life.goes(func() { c.watch(g) })
	return g, nil
}

// part closes a group that is no longer in the table. The calls are locked.
func (c *Carrier) part(g *group) {
	g.end()
	if g.sub != nil {
		g.sub.Cancel()
	}
	if g.events != nil {
		g.events.Cancel()
	}
	if g.topic != nil {
		if err := g.topic.Close(); err != nil && !errors.Is(err, context.Canceled) {
			c.config.Log.Error("a topic was not closed", "error", err)
		}
	}
	_ = c.pubsub.UnregisterTopicValidator(c.topicOf(g.id)) // an error says that there is none
	c.finder.release(c.net, g.id)
}

// Leave leaves a group.
func (c *Carrier) Leave(id multicast.Group) error {
	if c.life.ctx.Err() != nil {
		return ErrClosed
	}
	c.calls.Lock()
	defer c.calls.Unlock()
	c.mu.Lock()
	g := c.groups[id]
	delete(c.groups, id)
	c.mu.Unlock()
	if g != nil {
		c.part(g)
	}
	return nil
}

// listen hands over what pubsub delivers of a group.
func (c *Carrier) listen(g *group, sub *pubsub.Subscription) {
	self := peer.ID(c.net.Self())
	for {
		m, err := sub.Next(g.ctx)
		if err != nil {
			return // left, or the end
		}
		if m.ReceivedFrom == self {
			continue
		}
		c.put(g.ctx, arrival{group: g, env: m.ValidatorData.(*signing.Envelope), from: overlay.ID(m.ReceivedFrom)})
	}
}

// Publish sends an envelope to its group. While there is nobody to forward it
// to it waits in a bounded queue.
func (c *Carrier) Publish(ctx context.Context, wire []byte, want int) error {
	env, err := signing.Open(wire)
	if err != nil {
		return fmt.Errorf("publish: %w", err)
	}
	c.calls.Lock()
	g, err := c.open(ctx, env.Group)
	c.calls.Unlock()
	if err != nil {
		return err
	}
	event := eventOf(env)
	c.mu.Lock()
	g.book.say(event, time.Now(), c.config.Patience)
	alone := !c.ready(g, time.Now())
	if alone {
		c.wait(g, env)
	}
	c.mu.Unlock()
	c.counts.add(published)
	if !alone {
		if err := c.send(ctx, g, env); err != nil {
			return fmt.Errorf("publish: %w", err)
		}
	}
	if want > 0 {
		c.inquire(g, event.Stamp, want)
	}
	return nil
}

func (c *Carrier) send(ctx context.Context, g *group, env *signing.Envelope) error {
	return g.topic.Publish(ctx, env.Wire(), pubsub.WithValidatorData(env))
}

// Lease does nothing: gossip holds nothing for others.
func (c *Carrier) Lease(context.Context, multicast.Group, [][]byte) error {
	if c.life.ctx.Err() != nil {
		return ErrClosed
	}
	return nil
}

// Recheck has the events of a group judged again that wait because their source
// was not known. They are delivered here and not forwarded.
func (c *Carrier) Recheck(id multicast.Group) error {
	if c.life.ctx.Err() != nil {
		return ErrClosed
	}
	for _, w := range c.held.Recheck(id) {
		if time.Now().After(w.Until) {
			c.counts.refuse(whyExpired)
			continue
		}
		verdict, why := c.judge(w.Of)
		if verdict != multicast.Accept {
			c.counts.refuse(why)
			continue
		}
		c.keep(w.Of)
	}
	return nil
}

// keep delivers an event here that pubsub does not forward.
func (c *Carrier) keep(a arrival) {
	c.mu.Lock()
	full := len(c.again) >= againMost
	if !full {
		c.again = append(c.again, a)
	}
	c.mu.Unlock()
	if full {
		c.counts.refuse(whySlow)
		return
	}
	select {
	case c.life.wake <- struct{}{}:
	default:
	}
}

// Group describes a group as this node sees it.
func (c *Carrier) Group(id multicast.Group) (multicast.Status, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	g := c.groups[id]
	if g == nil {
		return multicast.Status{Group: id}, false
	}
	s := multicast.Status{Group: id, Member: g.member, Attached: g.attached, Audience: len(g.audience), Size: len(g.audience) + 1}
	for p := range g.mesh {
		s.Children = append(s.Children, overlay.ID(p))
	}
	slices.Sort(s.Children)
	return s, true
}

// Counters returns what was done, and what was refused or dropped by reason.
func (c *Carrier) Counters() (done, refused map[string]uint64) { return c.counts.all() }

// Ask does nothing: members of a mesh do not tell where lines are.
func (c *Carrier) Ask(multicast.Group, []overlay.ID) error {
	if c.life.ctx.Err() != nil {
		return ErrClosed
	}
	return nil
}

// Convict does nothing: gossip compares no heads, and who holds a proof acts on it
// alone.
func (c *Carrier) Convict(context.Context, []byte) error {
	if c.life.ctx.Err() != nil {
		return ErrClosed
	}
	return nil
}

// Abilities says that gossip has none of those that not everybody has.
func (*Carrier) Abilities() multicast.Abilities { return multicast.Abilities{} }
