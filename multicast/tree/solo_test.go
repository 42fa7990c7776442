package tree_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/feedtree/feedtree/multicast"
	"github.com/feedtree/feedtree/multicast/tree"
	"github.com/feedtree/feedtree/overlay"
)

// solo is one node whose neighbours the test plays.
type solo struct {
	t   *testing.T
	n   *tree.Node
	now time.Duration
	out tree.Outbox // of the last step
}

// chart is a router that knows what the test says.
type chart struct {
	hop     overlay.ID
	closest []overlay.ID
	rtt     time.Duration                // to everybody; 0: unknown
	rtts    map[overlay.ID]time.Duration // to some
}

const self = overlay.ID("self")

func (c *chart) Self() overlay.ID                          { return self }
func (c *chart) NextHop(overlay.Key) (overlay.ID, bool)    { return c.hop, c.hop != "" }
func (c *chart) Closest(_ overlay.Key, n int) []overlay.ID { return c.closest[:min(n, len(c.closest))] }
func (c *chart) RTT(id overlay.ID) (time.Duration, bool) {
	if d, ok := c.rtts[id]; ok {
		return d, true
	}
	return c.rtt, c.rtt > 0
}

func alone(t *testing.T, cfg tree.Config, c *chart) *solo {
	return &solo{t: t, n: tree.New(cfg, c, rand.New(rand.NewPCG(1, 2)))}
}

func (s *solo) step(in tree.Input) {
	s.out = tree.Outbox{}
	s.n.Step(s.now, in, &s.out)
}

func (s *solo) receive(from overlay.ID, m tree.Message) {
	s.step(tree.Input{Kind: tree.Receive, From: from, Msg: &m})
}

// pong answers a keep-alive as one who sees everything alike.
func (s *solo) pong(from overlay.ID, ping *tree.Message) {
	s.receive(from, tree.Message{Type: tree.Pong, Digest: ping.Digest, Paths: ping.Paths, Known: ping.Known})
}

// pass lets time pass, ticking at every deadline, and collects what is done.
func (s *solo) pass(d time.Duration) {
	var all tree.Outbox
	for end := s.now + d; s.now < end; {
		s.now = min(end, max(s.now, s.n.Deadline()))
		s.step(tree.Input{Kind: tree.Tick})
		all.Sends = append(all.Sends, s.out.Sends...)
		all.Lookups = append(all.Lookups, s.out.Lookups...)
		all.Deliveries = append(all.Deliveries, s.out.Deliveries...)
		all.Notices = append(all.Notices, s.out.Notices...)
	}
	s.out = all
}

// among lets time pass among neighbours that are alive, and collects what is done.
func (s *solo) among(d time.Duration) {
	var all []tree.Send
	for end := s.now + d; s.now < end; {
		s.pass(min(10*time.Millisecond, end-s.now))
		sends := s.out.Sends
		all = append(all, sends...)
		for _, send := range sends {
			if send.Msg.Type == tree.Ping {
				s.pong(send.To, send.Msg)
			}
		}
	}
	s.out = tree.Outbox{Sends: all}
}

// sent returns the last step's messages of a type to a node.
func (s *solo) sent(to overlay.ID, t tree.Type) []*tree.Message {
	var ms []*tree.Message
	for _, send := range s.out.Sends {
		if send.To == to && send.Msg.Type == t {
			ms = append(ms, send.Msg)
		}
	}
	return ms
}

// one is sent where exactly one message is expected.
func (s *solo) one(to overlay.ID, t tree.Type) *tree.Message {
	s.t.Helper()
	ms := s.sent(to, t)
	if len(ms) != 1 {
		s.t.Fatalf("%d %v to %s, want 1; all: %v", len(ms), t, to, s.all())
	}
	return ms[0]
}

func (s *solo) all() (list []string) {
	for _, send := range s.out.Sends {
		list = append(list, send.Msg.Type.String()+"→"+string(send.To))
	}
	return list
}

// count lets time pass among neighbours that are alive, and counts what is sent of a type.
func (s *solo) count(what tree.Type, d time.Duration) (n int) {
	for end := s.now + d; s.now < end; {
		s.pass(time.Second)
		for _, send := range s.out.Sends {
			switch send.Msg.Type {
			case what:
				n++
			case tree.Ping:
				s.pong(send.To, send.Msg)
			}
		}
	}
	return n
}

func (s *solo) noticed(k tree.NoticeKind) []tree.Notice {
	var ns []tree.Notice
	for _, n := range s.out.Notices {
		if n.Kind == k {
			ns = append(ns, n)
		}
	}
	return ns
}

var group = multicast.GroupOf("https://example.org/feed.xml")

func event(seq uint64) *multicast.Event {
	return &multicast.Event{Group: group, Stamp: multicast.Stamp{Source: multicast.Source{1}, Epoch: 1, Seq: seq}, Body: []byte{byte(seq)}}
}

func beat(seq, at uint64) *multicast.Event {
	ev := event(seq)
	ev.Stamp.Beat = at
	return ev
}

// below makes the node a member below a parent with the given way to the top.
func (s *solo) below(path ...overlay.ID) {
	s.t.Helper()
	parent := path[len(path)-1]
	s.step(tree.Input{Kind: tree.JoinGroup, Group: group})
	join := s.one(parent, tree.Join)
	s.receive(parent, tree.Message{Type: tree.Ack, Group: group, Edge: join.Edge, Ver: 1, Path: path})
	if st, _ := s.n.Status(group); st.Parent != parent || !st.Attached {
		s.t.Fatalf("not attached below %s: %+v", parent, st)
	}
}

// link makes a lazy link to a member.
func (s *solo) link(id overlay.ID) {
	s.t.Helper()
	s.receive(id, tree.Message{Type: tree.Link, Group: group, Path: []overlay.ID{"elsewhere", "far"}})
	s.one(id, tree.Linked)
}

// push brings an event over an edge.
func (s *solo) push(from overlay.ID, ev *multicast.Event) {
	s.receive(from, tree.Message{Type: tree.Data, Group: ev.Group, Event: ev})
}
