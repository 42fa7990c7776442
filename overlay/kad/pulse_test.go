package kad

import (
	"testing"
	"time"
)

// A neighbour that answers nothing is silent; but not where it is this node that was
// late to look, since what the neighbour sent may be unread.
func TestWhoIsLateBlamesNobody(t *testing.T) {
	c := Config{Listen: []string{"/ip4/127.0.0.1/tcp/0"}}
	a, _ := start(t, c)
	b, _ := start(t, c)
	if err := a.Connect(t.Context(), b.Addrs()[0]); err != nil {
		t.Fatal(err)
	}
	conn := a.host.Network().ConnsToPeer(b.host.ID())[0]
	for _, late := range []bool{false, true} {
		var p pulse
		p.wrote(conn)
		now := time.Now().Add(silenceTCP + time.Second)
		if late {
			p.excuse(now)
		}
		if left, waiting := p.left(conn, now); !waiting || (left <= 0) == late {
			t.Errorf("late: %v, and the neighbour has %v left, waited for: %v", late, left, waiting)
		}
	}
}

// A link is looked at when its wait ends, and not only with all else.
func TestLinksAreLookedAtWhenTheirWaitEnds(t *testing.T) {
	c := Config{Listen: []string{"/ip4/127.0.0.1/tcp/0"}}
	a, _ := start(t, c)
	b, _ := start(t, c)
	if err := a.Connect(t.Context(), b.Addrs()[0]); err != nil {
		t.Fatal(err)
	}
	if err := a.Send(b.Self(), []byte("frame")); err != nil {
		t.Fatal(err)
	}
	var waiting []written
	eventually(t, "the link is waited for", func() bool {
		waiting, _ = a.links.survey(time.Now(), time.Hour)
		return len(waiting) == 1
	})
	p := &waiting[0].link.pulse
	for _, x := range []struct {
		waits bool
		since time.Duration // it has waited
		again time.Duration // until the next look
	}{
		{false, 0, tendEvery},
		{true, 0, tendEvery},
		{true, silenceTCP - 300*time.Millisecond, 300 * time.Millisecond},
		{true, silenceTCP, tendEvery}, // a ping is under way, and the wait starts anew
	} {
		now := time.Now()
		p.mu.Lock()
		p.waiting, p.signs, p.since = x.waits, p.heard.Load(), now.Add(-x.since)
		p.mu.Unlock()
		if waiting, _ := a.links.survey(now, time.Hour); (len(waiting) == 1) != x.waits {
			t.Errorf("waits: %v, and %d links are listed", x.waits, len(waiting))
		}
		if again := a.look(now, false).Sub(now); again != x.again {
			t.Errorf("waits: %v, for %v: looked at again after %v, want %v", x.waits, x.since, again, x.again)
		}
	}
}
