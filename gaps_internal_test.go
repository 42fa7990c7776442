package feedtree

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/feedtree/feedtree/multicast"
	"github.com/feedtree/feedtree/signing"
)

// What comes after all is taken out of a gap, and nothing else closes it.
func TestGaps(t *testing.T) {
	key, now := signing.PublicKey{7}, time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	missed := func(g *gaps, from, to uint64) {
		g.missed(multicast.Notice{Stamp: multicast.Stamp{Source: multicast.Source(key), Epoch: 3}, From: from, To: to}, now)
	}
	event := func(by signing.PublicKey, kind signing.Kind, epoch, seq uint64) *signing.Envelope {
		return &signing.Envelope{Header: signing.Header{Key: by, Kind: kind, Epoch: epoch, Seq: seq}}
	}
	for name, c := range map[string]struct {
		came []*signing.Envelope
		want string
	}{
		"nothing came":   {nil, "5-7 9-9"},
		"the first":      {[]*signing.Envelope{event(key, signing.Event, 3, 5)}, "6-7 9-9"},
		"the middle":     {[]*signing.Envelope{event(key, signing.Event, 3, 6)}, "5-5 7-7 9-9"},
		"all":            {[]*signing.Envelope{event(key, signing.Event, 3, 7), event(key, signing.Event, 3, 6), event(key, signing.Event, 3, 5), event(key, signing.Event, 3, 9)}, ""},
		"another epoch":  {[]*signing.Envelope{event(key, signing.Event, 4, 5)}, "5-7 9-9"},
		"another key":    {[]*signing.Envelope{event(signing.PublicKey{8}, signing.Event, 3, 5)}, "5-7 9-9"},
		"a heartbeat":    {[]*signing.Envelope{event(key, signing.Heartbeat, 3, 5)}, "5-7 9-9"},
		"what was there": {[]*signing.Envelope{event(key, signing.Event, 3, 4), event(key, signing.Event, 3, 8)}, "5-7 9-9"},
	} {
		var g gaps
		missed(&g, 0, 0)
		missed(&g, 6, 6)
		missed(&g, 5, 7) // the same, and more
		missed(&g, 9, 9)
		for _, env := range c.came {
			g.came(env)
		}
		var left []string
		for _, r := range g.report(time.Time{}, now) {
			left = append(left, fmt.Sprint(r.From, "-", r.To))
		}
		if got := strings.Join(left, " "); got != c.want {
			t.Errorf("%s: %q is missing, want %q", name, got, c.want)
		}
	}
	var g gaps
	for i := range uint64(100) {
		missed(&g, 2*i+1, 2*i+1)
	}
	if all := g.report(time.Time{}, now); len(all) != maxGaps || all[maxGaps-1].From != 199 {
		t.Errorf("%d are shown, want the latest %d", len(all), maxGaps)
	}
	if all := g.report(time.Time{}, now.Add(8*24*time.Hour)); len(all) != 0 {
		t.Errorf("%d are shown after a week", len(all))
	}
}
