package live

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/feedtree/feedtree/multicast"
	"github.com/feedtree/feedtree/multicast/tree"
	"github.com/feedtree/feedtree/overlay"
	"github.com/feedtree/feedtree/signing"
)

func TestTheOutboxIsCarriedOutInOrder(t *testing.T) {
	id := identity(t, 1)
	wire := news(t, id, groupA, 1)
	var log []string
	c := Config{
		Deliver: func(d multicast.Delivery, e *signing.Envelope) {
			log = append(log, "deliver "+string(e.Payload))
			if d.From != "p" || &e.Wire()[0] != &d.Event.Body[0] {
				t.Errorf("delivered from %q, an envelope of other bytes", d.From)
			}
		},
		Keep:   func(e multicast.Event, env *signing.Envelope) { log = append(log, "keep "+env.Kind.String()) },
		Notice: func(n tree.Notice) { log = append(log, "notice") },
	}
	scripted(t, c, func(t *testing.T, l *Loop, s *script, d *desk) {
		d.lookup = func(context.Context) ([]overlay.ID, error) { return []overlay.ID{"self", "near"}, nil }
		s.react = func(in tree.Input, out *tree.Outbox) {
			if in.Kind != tree.Receive {
				return
			}
			out.Sends = append(out.Sends, tree.Send{To: "child", Msg: &tree.Message{Type: tree.Data, Group: groupA, Event: in.Msg.Event}})
			out.Lookups = append(out.Lookups, groupA)
			out.Deliveries = append(out.Deliveries, multicast.Delivery{Event: *in.Msg.Event, From: in.From})
			old := EventOf(must(signing.Open(beat(t, id, groupA, 1, noon)))) // as if from the tree's buffer
			out.Kept = append(out.Kept, old)
			out.Notices = append(out.Notices, tree.Notice{Kind: tree.Attached})
		}
		l.Frame("p", dataOf(t, groupA, wire))
		synctest.Wait()
		if want := []string{"deliver <rss/>", "keep heartbeat", "notice"}; !slices.Equal(log, want) {
			t.Errorf("callbacks %q, want %q", log, want)
		}
		if len(d.sent) != 1 || d.sent[0].To != "child" || string(d.sent[0].Msg.Event.Body) != string(wire) {
			t.Errorf("sent %+v", d.sent)
		}
		looked := tree.Input{Kind: tree.Looked, Group: groupA, Nearest: []overlay.ID{"near"}, OK: true}
		if got := s.steps[len(s.steps)-1]; !reflect.DeepEqual(got, looked) {
			t.Errorf("the lookup came back as %+v, want %+v", got, looked)
		}
	})
}

// One message to several neighbours is encoded once.
func TestOneMessageIsOneFrame(t *testing.T) {
	scripted(t, Config{}, func(t *testing.T, l *Loop, s *script, d *desk) {
		one, other := &tree.Message{Type: tree.Unlink, Group: groupA}, &tree.Message{Type: tree.Unlink, Group: groupB}
		s.react = func(in tree.Input, out *tree.Outbox) {
			if in.Kind == tree.JoinGroup {
				out.Sends = append(out.Sends, tree.Send{To: "a", Msg: one}, tree.Send{To: "b", Msg: one}, tree.Send{To: "a", Msg: other})
			}
		}
		if err := l.Join(t.Context(), groupA, nil, nil); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if len(d.sent) != 3 || d.sent[0].Msg.Group != groupA || d.sent[1].Msg.Group != groupA || d.sent[2].Msg.Group != groupB {
			t.Fatalf("sent %+v", d.sent)
		}
		if d.frames[0] != d.frames[1] || d.frames[1] == d.frames[2] {
			t.Error("the first two are not one frame, or all three are")
		}
	})
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func TestCallsReachTheTreeInOrder(t *testing.T) {
	scripted(t, Config{}, func(t *testing.T, l *Loop, s *script, _ *desk) {
		ctx, id := t.Context(), identity(t, 1)
		one, two := news(t, id, groupA, 1), news(t, id, groupA, 2)
		broken := append(slices.Clone(one), 0)
		stamp := multicast.Stamp{Source: multicast.Source(id.Public()), Epoch: 1, Seq: 1}
		cursor := []multicast.Stamp{stamp}
		for _, err := range []error{
			l.Lease(ctx, groupB, [][]byte{news(t, id, groupB, 1)}),
			l.Join(ctx, groupA, cursor, [][]byte{broken, one, news(t, id, groupB, 1)}),
			l.Publish(ctx, two, 3),
			l.Stored(groupA, stamp),
			l.Leave(groupA),
		} {
			if err != nil {
				t.Error(err)
			}
		}
		l.Gone("x")
		l.Routes()
		l.Routes()
		synctest.Wait()
		l.Routes()
		synctest.Wait()
		want := []tree.Input{
			{Kind: tree.Lease, Group: groupB, Recent: []multicast.Event{EventOf(must(signing.Open(news(t, id, groupB, 1))))}},
			{Kind: tree.JoinGroup, Group: groupA, Cursor: cursor, Recent: []multicast.Event{EventOf(must(signing.Open(one)))}},
			{Kind: tree.Publish, Group: groupA, Event: EventOf(must(signing.Open(two))), Want: 3},
			{Kind: tree.Stored, Group: groupA, Stamp: stamp},
			{Kind: tree.LeaveGroup, Group: groupA},
			{Kind: tree.Gone, From: "x"},
			{Kind: tree.Routes}, {Kind: tree.Routes},
		}
		if !reflect.DeepEqual(s.steps, want) {
			t.Errorf("stepped\n%+v\nwant\n%+v", s.steps, want)
		}
		counted(t, l, map[reason]uint64{recentBad: 2})
		if err := l.Publish(ctx, broken, 1); signing.ReasonOf(err) != signing.ReasonTrailing {
			t.Errorf("publishing a broken envelope: %v", err)
		}
	})
}

// The tree hears when so much was sent that it must spare, and when that is over.
func TestTheTreeHearsOfSparing(t *testing.T) {
	scripted(t, Config{}, func(t *testing.T, l *Loop, s *script, d *desk) {
		for _, sparing := range []bool{false, true, true, false} {
			d.sparing.Store(sparing)
			l.Routes()
			synctest.Wait()
		}
		var got []tree.Input
		for _, in := range s.steps {
			if in.Kind == tree.Spare {
				got = append(got, in)
			}
		}
		if want := []tree.Input{{Kind: tree.Spare, OK: true}, {Kind: tree.Spare}}; !reflect.DeepEqual(got, want) {
			t.Errorf("told %+v, want %+v", got, want)
		}
	})
}

// The tree hears whether others can dial the node when that changes.
func TestTheTreeHearsOfReachability(t *testing.T) {
	scripted(t, Config{}, func(t *testing.T, l *Loop, s *script, d *desk) {
		for _, hidden := range []bool{false, true, true, false} {
			d.hidden.Store(hidden)
			l.Routes()
			synctest.Wait()
		}
		var got []tree.Input
		for _, in := range s.steps {
			if in.Kind == tree.Dialable {
				got = append(got, in)
			}
		}
		if want := []tree.Input{{Kind: tree.Dialable}, {Kind: tree.Dialable, OK: true}}; !reflect.DeepEqual(got, want) {
			t.Errorf("told %+v, want %+v", got, want)
		}
	})
}

// A second after another the node sets its deadline anew, by what it is told: it is woken at
// the last.
func TestTheDeadlineIsKept(t *testing.T) {
	for _, deadlines := range [][]time.Duration{
		{7 * time.Second},
		{7 * time.Second, 30 * time.Second},
		{30 * time.Second, 7 * time.Second},
		{2500 * time.Millisecond, 30 * time.Second, 20 * time.Second, 40 * time.Second},
	} {
		scripted(t, Config{}, func(t *testing.T, l *Loop, s *script, _ *desk) {
			var want []tree.Kind
			for _, at := range deadlines {
				s.react = func(in tree.Input, _ *tree.Outbox) {
					if in.Kind == tree.Routes {
						s.deadline = at
					}
				}
				l.Routes()
				want = append(want, tree.Routes)
				pass(time.Second)
			}
			pass(time.Minute)
			want = append(want, tree.Tick)
			last := deadlines[len(deadlines)-1]
			if !slices.Equal(s.kinds(), want) || s.times[len(deadlines)] < last || s.times[len(deadlines)] > last+time.Millisecond {
				t.Errorf("%v: stepped %v at %v", deadlines, s.kinds(), s.times)
			}
		})
	}
}

// A busy mailbox does not keep the node from its deadline.
func TestTheDeadlineIsKeptWhileBusy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{deadline: 1<<63 - 1}
		l := newLoop(&desk{}, Config{}, s)
		s.react = func(in tree.Input, _ *tree.Outbox) {
			if in.Kind == tree.Gone && in.From == "0" {
				s.deadline = 0
			}
		}
		for _, id := range []overlay.ID{"0", "1", "2"} {
			l.Gone(id)
		}
		running(t, l)()
		if want := []tree.Kind{tree.Gone, tree.Tick, tree.Gone, tree.Gone, tree.Close}; !slices.Equal(s.kinds(), want) {
			t.Errorf("stepped %v, want %v", s.kinds(), want)
		}
	})
}

func TestLookupsAreFewAndEachGroupOnce(t *testing.T) {
	scripted(t, Config{}, func(t *testing.T, l *Loop, s *script, d *desk) {
		var active, most int
		d.lookup = func(ctx context.Context) ([]overlay.ID, error) {
			d.mu.Lock()
			active++
			most = max(most, active)
			d.mu.Unlock()
			<-ctx.Done()
			d.mu.Lock()
			active--
			d.mu.Unlock()
			return nil, ctx.Err()
		}
		const groups = 3 * maxLookups
		s.react = func(in tree.Input, out *tree.Outbox) {
			if in.Kind == tree.JoinGroup {
				out.Lookups = append(out.Lookups, in.Group)
			}
		}
		for range 2 {
			for i := range groups {
				if err := l.Join(t.Context(), multicast.Group{byte(i)}, nil, nil); err != nil {
					t.Fatal(err)
				}
			}
		}
		pass(3*lookupTimeout + time.Second)
		var looked, failed int
		for _, in := range s.steps {
			if in.Kind == tree.Looked {
				looked++
				if !in.OK {
					failed++
				}
			}
		}
		if d.lookups != groups || looked != groups || failed != groups || most != maxLookups || active != 0 {
			t.Errorf("%d searches, at most %d at once, %d came back, %d failed; want %d, %d at once", d.lookups, most, looked, failed, groups, maxLookups)
		}
		counted(t, l, map[reason]uint64{lookupFail: groups})
	})
}

func TestNeighboursAreKept(t *testing.T) {
	scripted(t, Config{}, func(t *testing.T, l *Loop, s *script, d *desk) {
		set := func(groups ...tree.GroupStatus) {
			l.node.Lock()
			s.groups = groups
			l.node.Unlock()
		}
		set(tree.GroupStatus{Group: groupA, Parent: "parent", Children: []overlay.ID{"c1", "c2"}},
			tree.GroupStatus{Group: groupB, Lazy: []overlay.ID{"lazy", "c1"}})
		l.Frame("parent", frameOf(t, &tree.Message{Type: tree.Ack, Group: groupA}))
		pass(auditSoon)
		want := map[overlay.ID]bool{"parent": true, "c1": true, "c2": true, "lazy": true}
		if !reflect.DeepEqual(d.kept, want) {
			t.Errorf("kept %v, want %v", d.kept, want)
		}
		set(tree.GroupStatus{Group: groupA, Parent: "c1"}) // nothing was heard about it
		pass(auditIdle)
		want = map[overlay.ID]bool{"parent": false, "c1": true, "c2": false, "lazy": false}
		if !reflect.DeepEqual(d.kept, want) {
			t.Errorf("kept %v, want %v", d.kept, want)
		}
	})
}

// A peer that floods waits for room; who comes after it is not kept waiting
// behind its flood, and all that was taken is stepped.
func TestAFloodDelaysItselfOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{deadline: 1<<63 - 1}
		l := newLoop(&desk{}, Config{}, s)
		ping := frameOf(t, &tree.Message{Type: tree.Ping})
		const flood = 3 * roomForFrames / smallItem
		sent := 0
		go func() {
			for range flood {
				l.Frame("flooder", ping)
				sent++
			}
		}()
		synctest.Wait()
		if sent != roomForFrames/smallItem {
			t.Fatalf("%d frames taken before the loop runs, want %d", sent, roomForFrames/smallItem)
		}
		go l.Frame("honest", ping)
		synctest.Wait()
		all := make(chan bool)
		s.react = func(tree.Input, *tree.Outbox) {
			if len(s.steps) < 5 {
				synctest.Wait() // until whoever got the room of the step before has used it
			}
			if len(s.steps) == flood+1 {
				close(all)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		go l.Run(ctx)
		<-all
		cancel()
		synctest.Wait()
		at := slices.IndexFunc(s.steps, func(in tree.Input) bool { return in.From == "honest" })
		if want := roomForFrames/smallItem + 1; at != want {
			t.Errorf("the honest peer came %d. of %d, want %d.: after what was there and one more", at, len(s.steps), want)
		}
	})
}

// What was asked for before the end is done, then the neighbours are told;
// after that every call says so and nothing blocks.
func TestTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, d := &script{deadline: 1<<63 - 1}, &desk{}
		s.groups = []tree.GroupStatus{{Group: groupA, Parent: "parent"}}
		l := newLoop(d, Config{}, s)
		s.react = func(in tree.Input, out *tree.Outbox) {
			if in.Kind == tree.Close {
				out.Sends = append(out.Sends, tree.Send{To: "parent", Msg: &tree.Message{Type: tree.Leave, Group: groupA}})
				out.Lookups = append(out.Lookups, groupA)
			}
		}
		end := running(t, l)
		ctx, wire := t.Context(), news(t, identity(t, 1), groupA, 1)
		if err := l.Publish(ctx, wire, 0); err != nil {
			t.Error(err)
		}
		end()
		if want := []tree.Kind{tree.Publish, tree.Close}; !slices.Equal(s.kinds(), want) {
			t.Errorf("stepped %v, want %v", s.kinds(), want)
		}
		if len(d.sent) != 1 || d.sent[0].Msg.Type != tree.Leave || d.kept["parent"] {
			t.Errorf("sent %v, kept %v", d.sent, d.kept)
		}
		for name, err := range map[string]error{
			"Join": l.Join(ctx, groupA, nil, nil), "Lease": l.Lease(ctx, groupA, nil), "Leave": l.Leave(groupA),
			"Publish": l.Publish(ctx, wire, 0), "Stored": l.Stored(groupA, multicast.Stamp{}), "Recheck": l.Recheck(groupA),
		} {
			if !errors.Is(err, ErrClosed) {
				t.Errorf("%s after the end: %v", name, err)
			}
		}
		l.Frame("p", frameOf(t, &tree.Message{Type: tree.Ping}))
		l.Gone("p")
		l.Routes()
		if got := l.Status(); len(got) != 1 || got[0].Group != groupA {
			t.Errorf("status after the end: %v", got)
		}
		if err := l.Run(ctx); err == nil {
			t.Error("a loop ran twice")
		}
	})
}

// At the end what the application asked for is done, and what the network
// sent is let be: nothing more is delivered to an application that closes.
func TestFramesAreNotLookedAtAfterTheEnd(t *testing.T) {
	s := &script{deadline: 1<<63 - 1}
	l := newLoop(&desk{}, Config{}, s)
	l.Frame("p", frameOf(t, &tree.Message{Type: tree.Ping}))
	if err := l.Leave(groupA); err != nil {
		t.Fatal(err)
	}
	l.close()
	if want := []tree.Kind{tree.LeaveGroup, tree.Close}; !slices.Equal(s.kinds(), want) {
		t.Errorf("stepped %v, want %v", s.kinds(), want)
	}
}

// Callbacks may call the loop they are called from (invariant 6).
func TestCallbacksMayCall(t *testing.T) {
	var l *Loop
	called := 0
	id := identity(t, 1)
	c := Config{
		Judge: func(*signing.Envelope) (Verdict, string) { l.Recheck(groupA); return Accept, "" },
		Notice: func(n tree.Notice) {
			called++
			ctx := context.Background()
			if err := errors.Join(l.Publish(ctx, beat(t, id, n.Group, 1, noon), 0), l.Join(ctx, groupB, nil, nil), l.Leave(groupB)); err != nil {
				t.Error(err)
			}
			l.Status()
			l.Counters()
		},
	}
	synctest.Test(t, func(t *testing.T) {
		s := &script{deadline: 1<<63 - 1}
		s.react = func(in tree.Input, out *tree.Outbox) {
			if in.Kind == tree.Receive {
				out.Notices = append(out.Notices, tree.Notice{Kind: tree.BeatDue, Group: groupA})
			}
		}
		l = newLoop(&desk{}, c, s)
		end := running(t, l)
		l.Frame("p", dataOf(t, groupA, news(t, id, groupA, 1)))
		synctest.Wait()
		want := []tree.Kind{tree.Receive, tree.Publish, tree.JoinGroup, tree.LeaveGroup}
		if called != 1 || !slices.Equal(s.kinds(), want) {
			t.Errorf("%d calls, stepped %v", called, s.kinds())
		}
		end()
	})
}

func TestSendsThatFailAreCounted(t *testing.T) {
	scripted(t, Config{}, func(t *testing.T, l *Loop, s *script, d *desk) {
		d.refuse = errors.New("queue full")
		s.react = func(in tree.Input, out *tree.Outbox) {
			long := make([]overlay.ID, maxPath+1)
			out.Sends = append(out.Sends,
				tree.Send{To: "x", Msg: &tree.Message{Type: tree.Ping}},
				tree.Send{To: "x", Msg: &tree.Message{Type: tree.Path, Path: long}})
		}
		l.Routes()
		synctest.Wait()
		s.react = nil
		counted(t, l, map[reason]uint64{sendRefused: 1, sendTooMany: 1})
	})
}
