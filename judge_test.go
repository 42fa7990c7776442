package feedtree_test

import (
	"context"
	"testing"
	"time"

	"github.com/feedtree/feedtree"
	"github.com/feedtree/feedtree/multicast"
	"github.com/feedtree/feedtree/signing"
)

func heartbeat(t *testing.T, id *signing.Identity, url string, role signing.Role, at time.Time) *signing.Envelope {
	t.Helper()
	h := signing.Header{Role: role, Group: multicast.GroupOf(url), Time: at, TTL: time.Minute}
	signing.Line{}.Bump(at).Heartbeat(&h)
	wire, err := id.Seal(h, nil)
	if err != nil {
		t.Fatal(err)
	}
	env, err := signing.Open(wire)
	if err != nil {
		t.Fatal(err)
	}
	return env
}

func TestWhoMaySpeak(t *testing.T) {
	t.Parallel()
	o, id, other := newSecureOrigin(t), identity(t), identity(t)
	keyed, bare, elsewhere := o.url("/keyed.xml"), o.url("/bare.xml"), o.url("/elsewhere.xml")
	o.set("/keyed.xml", page{body: document(announcing(id, keyed), "a")})
	o.publish("/bare.xml", "a")
	n := startNode(t, o, func(c *feedtree.Config) { c.Polling.Off = true })
	subscribe(t, n, keyed)
	subscribe(t, n, bare)
	now := time.Now()
	for what, c := range map[string]struct {
		id      *signing.Identity
		url     string
		role    signing.Role
		at      time.Time
		verdict multicast.Verdict
		why     string
	}{
		"the feed's key":                {id, keyed, signing.Publisher, now, multicast.Accept, ""},
		"another key":                   {other, keyed, signing.Publisher, now, multicast.Refuse, "not the feed's key"},
		"a volunteer":                   {other, keyed, signing.Volunteer, now, multicast.Accept, ""},
		"the future":                    {id, keyed, signing.Publisher, now.Add(6 * time.Minute), multicast.Refuse, "from the future"},
		"a clock a little ahead":        {id, keyed, signing.Publisher, now.Add(4 * time.Minute), multicast.Accept, ""},
		"the past":                      {id, keyed, signing.Publisher, now.Add(-48 * time.Hour), multicast.Accept, ""},
		"a key nobody named":            {other, bare, signing.Publisher, now, multicast.Unknown, ""},
		"a volunteer of a bare feed":    {other, bare, signing.Volunteer, now, multicast.Accept, ""},
		"a feed only forwarded":         {other, elsewhere, signing.Publisher, now, multicast.Accept, ""},
		"the future of one forwarded":   {other, elsewhere, signing.Volunteer, now.Add(time.Hour), multicast.Refuse, "from the future"},
		"the feed's key as a neighbour": {id, keyed, signing.Volunteer, now, multicast.Accept, ""},
	} {
		verdict, why := n.Judge(heartbeat(t, c.id, c.url, c.role, c.at))
		if verdict != c.verdict || why != c.why {
			t.Errorf("%s: %v %q, want %v %q", what, verdict, why, c.verdict, c.why)
		}
	}
	eventually(t, "the origin was asked whose key that is", func() bool { return o.asked("/bare.xml") == 2 })
	eventually(t, "and names none, so it is a volunteer's word", func() bool {
		verdict, _ := n.Judge(heartbeat(t, other, bare, signing.Publisher, now))
		return verdict == multicast.Accept
	})
	if asked := o.asked("/bare.xml"); asked != 2 {
		t.Errorf("asked %d times", asked)
	}
}

func TestVolunteersAreRefusedWhileThePublisherIsLive(t *testing.T) {
	t.Parallel()
	o, id := newSecureOrigin(t), identity(t)
	url := o.url("/feed.xml")
	o.set("/feed.xml", page{body: document(announcing(id, url), "a")})
	n := startNode(t, o, nil)
	subscribe(t, n, url)
	p, err := n.Publisher(t.Context(), id, url, feedtree.PublisherConfig{TTL: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	volunteer := heartbeat(t, identity(t), url, signing.Volunteer, time.Now())
	eventually(t, "refused", func() bool {
		verdict, why := n.Judge(volunteer)
		return verdict == multicast.Refuse && why == "the publisher is live"
	})
	if _, err := n.Publisher(t.Context(), identity(t), url, feedtree.PublisherConfig{}); err == nil {
		t.Error("published with a key that the feed does not name")
	}
}

// FeedTree §4.5.2: what no node has is recovered over HTTP, but not at any rate.
func TestWhatNobodyHasIsFetched(t *testing.T) {
	t.Parallel()
	o := newOrigin(t)
	o.publish("/feed.xml", "a")
	url := o.url("/feed.xml")
	n := startNode(t, o, func(c *feedtree.Config) { c.Polling.Off = true })
	got := collect(t, subscribe(t, n, url))
	o.publish("/feed.xml", "b", "a")
	for range 20 {
		n.Notice(multicast.Notice{Kind: multicast.Missing, Group: multicast.GroupOf(url)})
	}
	eventually(t, "b", func() bool { return got.got()["b"] == 1 })
	n.Notice(multicast.Notice{Kind: multicast.Missing, Group: multicast.GroupOf(url)})
	f, _ := n.Feed(url)
	if until := time.Until(f.NextPoll); o.asked("/feed.xml") != 2 || until < time.Second || until > 6*time.Second {
		t.Errorf("%d requests, the next in %v", o.asked("/feed.xml"), until)
	}
}

func TestRetryAfterIsObeyed(t *testing.T) {
	t.Parallel()
	o := newOrigin(t)
	o.publish("/feed.xml", "a")
	n := startNode(t, o, nil)
	s := subscribe(t, n, o.url("/feed.xml"))
	o.set("/feed.xml", page{status: 429, header: map[string]string{"Retry-After": "7200"}})
	eventually(t, "the failure", func() bool { return s.State().Failure != "" })
	eventually(t, "its end", func() bool { return !s.Status().NextPoll.IsZero() })
	if until := time.Until(s.Status().NextPoll); until < 119*time.Minute {
		t.Errorf("asks again in %v", until)
	}
	asked := o.asked("/feed.xml")
	n.Notice(multicast.Notice{Kind: multicast.Missing, Group: multicast.GroupOf(s.URL())})
	n.Judge(heartbeat(t, identity(t), s.URL(), signing.Publisher, time.Now()))
	if until := time.Until(s.Status().NextPoll); until < 119*time.Minute || o.asked("/feed.xml") != asked {
		t.Errorf("for what is missing, or for an unknown key, it asks in %v", until)
	}
}

func TestItemsWaitForAnOpenConsumer(t *testing.T) {
	t.Parallel()
	o := newOrigin(t)
	o.publish("/feed.xml", "a")
	n := startNode(t, o, nil)
	s := subscribe(t, n, o.url("/feed.xml"))
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	for u, err := range s.Items(ctx) {
		t.Errorf("nothing is new: %v %v", u.Item.GUID, err)
	}
	o.publish("/feed.xml", "b", "a")
	for u, err := range s.Items(t.Context()) {
		if err != nil || u.Item.GUID != "b" {
			t.Errorf("%v %v", u.Item.GUID, err)
		}
		break
	}
}
