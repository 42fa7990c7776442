package feedtree

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/feedtree/feedtree/internal/tally"
	"github.com/feedtree/feedtree/multicast"
	"github.com/feedtree/feedtree/signing"
)

// maxAhead is how far a source's clock may be ahead of ours.
const maxAhead = 5 * time.Minute

// The reasons for which a verified event is refused or dropped.
const (
	whyFuture   = "from the future"
	whyOtherKey = "not the feed's key"
	whyRevoked  = "revoked key"
	whyEnded    = "the key has ended"
	whyLive     = "the publisher is live"
	whyRole     = "unknown role"
	whyPayload  = "unreadable payload"
	whyStore    = "could not be stored"

	whyLiar      = "a volunteer caught lying"
	whyTestimony = "unreadable testimony"
	whyList      = "testimony to a list of items that is not held"
)

// judges finds what decides about a group's events. It is read from many
// goroutines for every event that comes, so it answers from memory and without
// the desk.
type judges struct{ byGroup sync.Map } // multicast.Group → *standing

func (j *judges) of(g multicast.Group) *standing {
	s, _ := j.byGroup.Load(g)
	found, _ := s.(*standing)
	return found
}

func (j *judges) set(g multicast.Group, s *standing) { j.byGroup.Store(g, s) }

// each calls do for every group.
func (j *judges) each(do func(multicast.Group, *standing)) {
	j.byGroup.Range(func(g, s any) bool {
		do(g.(multicast.Group), s.(*standing))
		return true
	})
}

func (j *judges) drop(g multicast.Group) { j.byGroup.Delete(g) }

// standing is what one feed's events are judged by.
type standing struct {
	url     string
	policy  atomic.Pointer[policy]
	live    atomic.Pointer[time.Time] // until when the publisher is; it does not follow the wall clock
	nudged  atomic.Bool               // the origin is being asked about an unknown key
	ahead   atomic.Int64              // how far the publisher's clock is ahead; 0: not too far
	learned atomic.Bool               // the tree taught something of the keys that is not stored yet
	writing sync.Mutex                // of those who replace the policy
	forks   atomic.Pointer[forkBook]  // who is proved to lie
	keeping sync.Mutex                // of those who store them
	refused tally.Tally
	bench   bench // what the feed's volunteers say
}

// promise notes that the publisher is live until a time. Only the desk calls it.
func (s *standing) promise(until time.Time) { s.live.Store(&until) }

func (s *standing) liveUntil() (t time.Time) {
	if at := s.live.Load(); at != nil {
		t = *at
	}
	return t
}

// judge decides about an event whose signature is right.
func (n *Node) judge(env *signing.Envelope) (multicast.Verdict, string) {
	now := time.Now()
	s := n.judges.of(env.Group)
	verdict, why := multicast.Accept, "" // a node that only forwards knows no keys
	switch {
	case env.Time.After(now.Add(maxAhead)):
		verdict, why = multicast.Refuse, whyFuture
		s.hurry(env, now)
	case s != nil && env.Role == signing.Volunteer && n.liars.hold(env.Key, env.Group, now):
		verdict, why = multicast.Refuse, whyLiar
	case s != nil:
		verdict, why = s.judge(env, now)
		if s.learned.Load() {
			n.desk.post(func(d *desk) { d.learned(d.channels[s.url]) })
		}
	}
	if s != nil && verdict == multicast.Refuse {
		s.refused.Count(why)
	}
	if verdict == multicast.Unknown && !s.nudged.Swap(true) {
		n.desk.post(func(d *desk) { d.nudge(s.url) })
	}
	return verdict, why
}

func (s *standing) judge(env *signing.Envelope, now time.Time) (multicast.Verdict, string) {
	if env.Media == signing.Keys {
		s.learn(env, now)
	}
	p := s.policy.Load()
	switch {
	case s.barred(env):
		return multicast.Refuse, whyForked
	case env.Role == signing.Volunteer && p.keyed() && now.Before(s.liveUntil()):
		return multicast.Refuse, whyLive
	case env.Role == signing.Volunteer:
		return multicast.Accept, ""
	case env.Role != signing.Publisher:
		return multicast.Refuse, whyRole
	case p.keyed():
		return s.judgeKeyed(p, env, now)
	case now.Before(p.open):
		return multicast.Accept, ""
	}
	return multicast.Unknown, ""
}
