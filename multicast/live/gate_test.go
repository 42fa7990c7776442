package live

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/feedtree/feedtree/multicast"
	"github.com/feedtree/feedtree/multicast/internal/limbo"
	"github.com/feedtree/feedtree/multicast/tree"
	"github.com/feedtree/feedtree/overlay"
	"github.com/feedtree/feedtree/signing"
)

// What is stepped is what the source signed, whatever the message says beside
// it (invariant 1).
func TestAnEventIsWhatItsSourceSigned(t *testing.T) {
	scripted(t, Config{}, func(t *testing.T, l *Loop, s *script, _ *desk) {
		id := identity(t, 1)
		source := multicast.Source(id.Public())
		item, sign := news(t, id, groupA, 3), beat(t, id, groupA, 3, noon.Add(time.Minute))
		lying := multicast.Stamp{Source: multicast.Source{9}, Epoch: 9, Seq: 9, Beat: 9}
		for _, wire := range [][]byte{item, sign} {
			l.Frame("p", frameOf(t, &tree.Message{Type: tree.Data, Group: groupA, Span: &tree.Span{Stamp: lying}, Event: &multicast.Event{Body: wire}}))
		}
		synctest.Wait()
		want := []multicast.Event{
			{Group: groupA, Stamp: multicast.Stamp{Source: source, Epoch: 1, Seq: 3}, TTL: time.Minute,
				Tag: multicast.TagOf(hashOf(t, id, groupA, 3)), Prev: multicast.TagOf(hashOf(t, id, groupA, 2)), Body: item},
			{Group: groupA, Stamp: multicast.Stamp{Source: source, Epoch: 1, Seq: 3, Beat: uint64(noon.Add(time.Minute).UnixMilli())},
				TTL: time.Minute, Prev: multicast.TagOf(hashOf(t, id, groupA, 3)), Body: sign},
		}
		if len(s.steps) != 2 {
			t.Fatalf("%d inputs stepped, want 2", len(s.steps))
		}
		for i, in := range s.steps {
			if in.From != "p" || !reflect.DeepEqual(*in.Msg.Event, want[i]) {
				t.Errorf("stepped %+v, want %+v", *in.Msg.Event, want[i])
			}
		}
		counted(t, l, nil)
	})
}

// No single altered byte of an envelope gets past verification.
func TestAlteredEventsAreRefused(t *testing.T) {
	scripted(t, Config{}, func(t *testing.T, l *Loop, s *script, _ *desk) {
		wire := news(t, identity(t, 1), groupA, 1)
		for at := range wire {
			altered := bytes.Clone(wire)
			altered[at] ^= 1
			l.Frame(overlay.ID(fmt.Sprint("peer ", at)), dataOf(t, groupA, altered))
		}
		for _, short := range []int{1, signing.Overhead - 1, len(wire) - 1} {
			l.Frame("short", dataOf(t, groupA, wire[:short]))
		}
		l.Frame("long", dataOf(t, groupA, append(bytes.Clone(wire), 0)))
		synctest.Wait()
		if len(s.steps) > 0 {
			t.Fatalf("%d altered events were stepped", len(s.steps))
		}
		_, refused := l.Counters()
		total := uint64(0)
		for why, n := range refused {
			if why == "event: " || !bytes.HasPrefix([]byte(why), []byte("event: ")) {
				t.Errorf("counted as %q", why)
			}
			total += n
		}
		if total != uint64(len(wire)+4) || refused["event: signature"] == 0 || refused["event: payload"] == 0 {
			t.Errorf("counted %v, want %d in all", refused, len(wire)+4)
		}
	})
}

// A publisher's TTL promises that it speaks again, and makes it the top of its tree. A
// volunteer's says that it asks the origin next: with each turn the tree would turn over.
func TestOnlyAPublisherPromises(t *testing.T) {
	for role, want := range map[signing.Role]time.Duration{signing.Publisher: time.Hour, signing.Volunteer: 0} {
		wire, err := identity(t, 1).Seal(signing.Header{Kind: signing.Heartbeat, Role: role, Group: groupA, Epoch: 1, Time: noon, TTL: time.Hour}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if e := EventOf(must(signing.Open(wire))); e.TTL != want {
			t.Errorf("role %v promises %v, want %v", role, e.TTL, want)
		}
	}
}

func TestAnEventOfAnotherGroupIsRefused(t *testing.T) {
	scripted(t, Config{}, func(t *testing.T, l *Loop, s *script, _ *desk) {
		l.Frame("p", dataOf(t, groupB, news(t, identity(t, 1), groupA, 1)))
		l.Frame("p", dataOf(t, multicast.Group{}, news(t, identity(t, 1), groupA, 1)))
		synctest.Wait()
		if len(s.steps) > 0 {
			t.Fatal("it was stepped")
		}
		counted(t, l, map[reason]uint64{eventGroup: 2})
	})
}

func TestFramesThatAreNoneAreRefusedAndTheLoopGoesOn(t *testing.T) {
	scripted(t, Config{}, func(t *testing.T, l *Loop, s *script, _ *desk) {
		l.Frame("p", nil)
		l.Frame("p", []byte("\x16\x03\x01\x02\x00"))
		l.Frame("p", make([]byte, MaxFrame+1))
		l.Frame("p", frameOf(t, &tree.Message{Type: tree.Join, Group: groupA, Peers: []overlay.ID{"somebody else"}}))
		l.Frame("p", frameOf(t, &tree.Message{Type: tree.Ping}))
		synctest.Wait()
		if len(s.steps) != 1 || s.steps[0].Msg.Type != tree.Ping {
			t.Fatalf("stepped %v, want the ping alone", s.kinds())
		}
		counted(t, l, map[reason]uint64{frameType: 1, frameMalformed: 1, frameTooLarge: 1, frameSender: 1})
	})
}

// Who moves says which parent it leaves and below whom it hangs: two nodes, and
// never more (tree.Message, Join).
func TestAJoinToMoveNamesWhatItLeaves(t *testing.T) {
	scripted(t, Config{}, func(t *testing.T, l *Loop, s *script, _ *desk) {
		move := func(peers ...overlay.ID) []byte {
			return frameOf(t, &tree.Message{Type: tree.Join, Group: groupA, Flags: tree.Better, Peers: peers, Posts: make([]tree.Standing, len(peers))})
		}
		l.Frame("p", move())
		l.Frame("p", move("parent"))
		l.Frame("p", move("parent", "its parent"))
		l.Frame("p", move("parent", "its parent", "somebody else"))
		synctest.Wait()
		if len(s.steps) != 3 || len(s.steps[2].Msg.Peers) != 2 {
			t.Fatalf("stepped %v, want three joins, the last with two names", s.kinds())
		}
		counted(t, l, map[reason]uint64{frameSender: 1})
	})
}

// The judge's word: what it refuses is counted under its reason, and nobody is
// charged for it (invariants 2 and 3).
func TestJudgeRefuses(t *testing.T) {
	feed, stranger := identity(t, 1), identity(t, 2)
	judge := func(e *signing.Envelope) (Verdict, string) {
		if e.Key == feed.Public() {
			return Accept, ""
		}
		return Refuse, "not the feed's key"
	}
	scripted(t, Config{Judge: judge}, func(t *testing.T, l *Loop, s *script, _ *desk) {
		const many = 5 * badBurst
		for seq := range uint64(many) {
			l.Frame("parent", dataOf(t, groupA, news(t, stranger, groupA, seq+1)))
		}
		l.Frame("parent", dataOf(t, groupA, news(t, feed, groupA, 1)))
		synctest.Wait()
		if got := s.received(); len(got) != 1 || got[0].Source != multicast.Source(feed.Public()) {
			t.Fatalf("stepped %v, want the feed's own event alone", got)
		}
		counted(t, l, map[reason]uint64{"judge: not the feed's key": many})
	})
}

func TestUnknownIsHeldUntilRechecked(t *testing.T) {
	var verdict atomic.Uint32
	verdict.Store(uint32(Unknown))
	judge := func(*signing.Envelope) (Verdict, string) { return Verdict(verdict.Load()), "revoked" }
	scripted(t, Config{Judge: judge}, func(t *testing.T, l *Loop, s *script, _ *desk) {
		id := identity(t, 1)
		l.Frame("p", dataOf(t, groupA, news(t, id, groupA, 1)))
		l.Frame("q", dataOf(t, groupA, news(t, id, groupA, 1)))
		l.Frame("q", dataOf(t, groupA, news(t, id, groupA, 2)))
		l.Frame("q", dataOf(t, groupB, news(t, id, groupB, 1)))
		l.Recheck(groupA) // still unknown: they stay
		synctest.Wait()
		if len(s.steps) > 0 {
			t.Fatal("an event of an unknown source was stepped")
		}
		verdict.Store(uint32(Accept))
		l.Recheck(groupA)
		synctest.Wait()
		if got := s.received(); len(got) != 2 || got[0].Seq != 1 || got[1].Seq != 2 || s.steps[0].From != "p" {
			t.Fatalf("stepped %v after the recheck, want 1 from p and 2", got)
		}
		verdict.Store(uint32(Refuse))
		l.Recheck(groupB)
		l.Recheck(groupA)
		counted(t, l, map[reason]uint64{heldAgain: 1, "judge: revoked": 1})
	})
}

// A key that becomes known while an event is being judged is not missed.
func TestRecheckDuringJudgement(t *testing.T) {
	var l *Loop
	known := false
	judge := func(*signing.Envelope) (Verdict, string) {
		if known {
			return Accept, ""
		}
		known = true
		l.Recheck(groupA)
		return Unknown, ""
	}
	synctest.Test(t, func(t *testing.T) {
		s := &script{deadline: 1<<63 - 1}
		l = newLoop(&desk{}, Config{Judge: judge}, s)
		end := running(t, l)
		l.Frame("p", dataOf(t, groupA, news(t, identity(t, 1), groupA, 1)))
		synctest.Wait()
		if len(s.received()) != 1 {
			t.Error("the event waits for a recheck that was already")
		}
		end()
	})
}

func TestHeldEventsAreFewAndExpire(t *testing.T) {
	judge := func(*signing.Envelope) (Verdict, string) { return Unknown, "" }
	scripted(t, Config{Judge: judge}, func(t *testing.T, l *Loop, s *script, _ *desk) {
		id := identity(t, 1)
		for seq := range uint64(limbo.MostInGroup + 1) {
			l.Frame("p", dataOf(t, groupA, news(t, id, groupA, seq+1)))
		}
		counted(t, l, map[reason]uint64{heldFull: 1})
		for i := range limbo.Most - limbo.MostInGroup + 1 {
			g := multicast.Group{byte(i), 1}
			l.Frame("p", dataOf(t, g, news(t, id, g, 1)))
		}
		counted(t, l, map[reason]uint64{heldFull: 2})
		pass(limbo.MostTime + auditIdle)
		counted(t, l, map[reason]uint64{heldFull: 2, heldExpired: limbo.Most})
		l.Recheck(groupA)
		counted(t, l, map[reason]uint64{heldFull: 2, heldExpired: limbo.Most})
		if len(s.steps) > 0 || l.gate.held.Bytes() != 0 {
			t.Errorf("%d stepped, %d bytes held", len(s.steps), l.gate.held.Bytes())
		}
	})
}

func TestJoinsAreRated(t *testing.T) {
	scripted(t, Config{}, func(t *testing.T, l *Loop, s *script, _ *desk) {
		join, link := frameOf(t, &tree.Message{Type: tree.Join, Group: groupA}), frameOf(t, &tree.Message{Type: tree.Link, Group: groupA})
		for range joinBurst + 5 {
			l.Frame("p", join)
		}
		for range askBurst + 3 {
			l.Frame("p", link)
		}
		l.Frame("p", frameOf(t, &tree.Message{Type: tree.Ping}))
		l.Frame("q", join)
		pass(time.Second)
		counted(t, l, map[reason]uint64{rateJoin: 5, rateAsk: 3})
		for range joinRate + 1 {
			l.Frame("p", join)
		}
		pass(0)
		counted(t, l, map[reason]uint64{rateJoin: 6, rateAsk: 3})
		if want := joinBurst + askBurst + 1 + 1 + joinRate; len(s.steps) != want {
			t.Errorf("%d stepped, want %d", len(s.steps), want)
		}
	})
}

// Who sends forgeries is not listened to for a while, and nobody else suffers.
func TestForgersAreRated(t *testing.T) {
	scripted(t, Config{}, func(t *testing.T, l *Loop, s *script, _ *desk) {
		good := news(t, identity(t, 1), groupA, 1)
		bad := bytes.Clone(good)
		bad[len(bad)-1] ^= 1
		for range badBurst {
			l.Frame("forger", dataOf(t, groupA, bad))
		}
		l.Frame("forger", dataOf(t, groupA, good))
		l.Frame("honest", dataOf(t, groupA, good))
		synctest.Wait()
		counted(t, l, map[reason]uint64{"event: payload": badBurst, rateBad: 1})
		if len(s.steps) != 1 || s.steps[0].From != "honest" {
			t.Fatalf("%d stepped, want the honest peer's alone", len(s.steps))
		}
		pass(2 * time.Second)
		l.Frame("forger", dataOf(t, groupA, good))
		synctest.Wait()
		if len(s.steps) != 2 {
			t.Error("the forger is never heard again")
		}
	})
}

// A later version's envelopes are dropped but held against nobody.
func TestUnsupportedEventsAreNotCharged(t *testing.T) {
	scripted(t, Config{}, func(t *testing.T, l *Loop, s *script, _ *desk) {
		good := news(t, identity(t, 1), groupA, 1)
		later := bytes.Clone(good)
		later[0]++
		for range 3 * badBurst {
			l.Frame("p", dataOf(t, groupA, later))
		}
		l.Frame("p", dataOf(t, groupA, good))
		synctest.Wait()
		counted(t, l, map[reason]uint64{"event: unsupported": 3 * badBurst})
		if len(s.steps) != 1 {
			t.Errorf("%d stepped, want 1", len(s.steps))
		}
	})
}

func TestRatesForgetWhoIsAtRest(t *testing.T) {
	var r rates
	for i := range maxRated {
		r.allow(noon, overlay.ID(fmt.Sprint(i)), tree.Join)
	}
	for range joinBurst - 2 {
		r.allow(noon, "0", tree.Join)
	}
	r.allow(noon.Add(time.Second), "one more", tree.Join)
	if len(r.peers) != 2 {
		t.Errorf("%d peers remembered, want the new one and the one that is not at rest", len(r.peers))
	}
	for i := range 2 * maxRated {
		r.allow(noon.Add(time.Second), overlay.ID(fmt.Sprint("x", i)), tree.Join)
	}
	if len(r.peers) > maxRated {
		t.Errorf("%d peers remembered, the most is %d", len(r.peers), maxRated)
	}
}

// Addresses of the nodes that a message names are handed to the overlay, but
// for this node's own.
func TestAddressesAreLearnt(t *testing.T) {
	scripted(t, Config{}, func(t *testing.T, l *Loop, _ *script, d *desk) {
		m := &tree.Message{Type: tree.Ack, Group: groupA, Path: []overlay.ID{"top", "self"}, Peers: []overlay.ID{"other", "nowhere"}}
		frames, err := encoded(m, func(id overlay.ID) [][]byte {
			if id == "nowhere" {
				return nil
			}
			return [][]byte{[]byte("/at/" + id)}
		})
		if err != nil {
			t.Fatal(err)
		}
		l.Frame("p", frames[0])
		want := map[overlay.ID][][]byte{"top": {[]byte("/at/top")}, "other": {[]byte("/at/other")}}
		if !reflect.DeepEqual(d.learnt, want) {
			t.Errorf("learnt %q, want %q", d.learnt, want)
		}
	})
}

// What is dropped teaches nothing.
func TestAddressesOfDroppedFramesAreNot(t *testing.T) {
	scripted(t, Config{}, func(t *testing.T, l *Loop, _ *script, d *desk) {
		frames, err := encoded(&tree.Message{Type: tree.Join, Group: groupA, Peers: []overlay.ID{"victim"}},
			func(overlay.ID) [][]byte { return slices.Repeat([][]byte{[]byte("/at/victim")}, maxAddrs) })
		if err != nil {
			t.Fatal(err)
		}
		l.Frame("p", frames[0])
		if len(d.learnt) > 0 {
			t.Errorf("learnt %q", d.learnt)
		}
	})
}
