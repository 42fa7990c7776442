package feedtree

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/feedtree/feedtree/feed"
	"github.com/feedtree/feedtree/feed/schedule"
	"github.com/feedtree/feedtree/overlay/kad"
)

// Status is a node as it sees itself, for people and for programs as JSON.
type Status struct {
	PeerID  string            `json:"peer_id"`
	Addrs   []string          `json:"addrs"` // full multiaddrs
	Peers   int               `json:"peers"` // nodes connected now
	Since   time.Time         `json:"since"`
	Feeds   []FeedStatus      `json:"feeds"`   // by URL
	Refused map[string]uint64 `json:"refused"` // what was refused or dropped, by reason
	Counts  map[string]uint64 `json:"counts"`  // of the overlay and the carrier of events

	Volunteering Effort       `json:"volunteering"`
	Reach        kad.Reach    `json:"reach"`
	Spending     kad.Spending `json:"spending"`
	Health       Health       `json:"health"`

	Neighbours []Neighbour `json:"neighbours"` // the nodes connected, 256 at most

	Liars int `json:"liars"` // volunteers that were caught and are not heard, of any feed
}

// FeedStatus is one feed as this node sees it. Times that are not known are
// zero, and null in JSON.
type FeedStatus struct {
	URL   string `json:"url"`
	Title string `json:"title"`
	Group string `json:"group"`
	Role  Role   `json:"role"`

	Root     bool     `json:"root"`
	Attached bool     `json:"attached"`
	Apart    bool     `json:"apart"`  // none of the neighbours that the node keeps is in the tree, so it polls
	Parent   string   `json:"parent"` // peer ID, empty at the root
	Children []string `json:"children"`
	Depth    int      `json:"depth"` // hops to the top of the tree

	Version        uint64        `json:"version"` // grows when the document or an item of it may have changed
	Items          int           `json:"items"`
	EventsReceived uint64        `json:"events_received"` // news from the tree since the start
	BeatsReceived  uint64        `json:"beats_received"`  // heartbeats from the tree since the start
	OriginRequests uint64        `json:"origin_requests"` // since the start
	Interval       time.Duration `json:"interval"`        // between the polls of one who polls alone, in nanoseconds
	Spacing        time.Duration `json:"spacing"`         // between those of all volunteers together
	Outcomes       int           `json:"outcomes"`        // of polls, by whomever, in the last interval; at most 64
	Volunteers     int           `json:"volunteers"`      // who take turns, this node included if it does
	Overload       int           `json:"overload"`        // N: polls that all volunteers together make in an interval, if their limits allow it
	Audience       int           `json:"audience"`        // how many nodes carry the feed, this one included, to within a factor of two; 0: unknown
	LastEvent      time.Time     `json:"last_event"`      // news or heartbeat, from the tree
	LastFetch      time.Time     `json:"last_fetch"`      // when the origin last answered
	NextPoll       time.Time     `json:"next_poll"`       // unless somebody is heard before
	Read           time.Time     `json:"read"`            // when the document was last asked for, to the hour
	FreshAsOf      time.Time     `json:"fresh_as_of"`     // up to when nothing is missing: by the publisher's own word, or its origin's
	SilentSince    time.Time     `json:"silent_since"`    // the publisher breaks its promise of heartbeats

	Week      Week      `json:"week"`
	Witnesses Witnesses `json:"witnesses"`

	Publisher string            `json:"publisher"` // fingerprint of the feed's root keys
	Pin       *PinStatus        `json:"pin"`       // null where no key is known
	Keys      KeyStatus         `json:"keys"`
	Live      bool              `json:"live"`    // the publisher keeps its promise of heartbeats
	Local     string            `json:"local"`   // why the feed stays out of the overlay
	Failure   string            `json:"failure"` // what is wrong now, as a sentence
	Reason    string            `json:"reason"`  // and for programs, if it is the origin: "DNS", "status 503", …
	Refused   map[string]uint64 `json:"refused"` // events refused, by reason
	Forks     []Fork            `json:"forks"`   // who is proved to have said two things at one place
	Gaps      []Gap             `json:"gaps"`    // parts of the publisher's line that no node had, since the start
}

// Role is what a node does for a feed.
type Role string

// The roles.
const (
	RoleVolunteer  Role = "volunteer"  // polls the feed for everybody
	RoleSubscriber Role = "subscriber" // gets it from the tree
	RoleLocal      Role = "local"      // polls it for itself alone
	RolePublisher  Role = "publisher"  // publishes it
)

// MarshalJSON writes times that are not known as null.
func (f FeedStatus) MarshalJSON() ([]byte, error) {
	type plain FeedStatus
	known := func(t time.Time) *time.Time {
		if t.IsZero() {
			return nil
		}
		return &t
	}
	return json.Marshal(struct {
		plain
		LastEvent *time.Time `json:"last_event"`
		LastFetch *time.Time `json:"last_fetch"`
		NextPoll  *time.Time `json:"next_poll"`
		Read      *time.Time `json:"read"`
		Fresh     *time.Time `json:"fresh_as_of"`
		Silent    *time.Time `json:"silent_since"`
	}{plain(f), known(f.LastEvent), known(f.LastFetch), known(f.NextPoll), known(f.Read), known(f.FreshAsOf), known(f.SilentSince)})
}

// Status returns the node's status.
func (n *Node) Status() Status {
	s := Status{
		PeerID: n.ID(), Addrs: n.Addrs(), Peers: len(n.net.Connected()), Since: n.life.start,
		Feeds: n.feedStatus(""), Counts: n.net.Counters(),
		Reach: n.net.Reach(), Spending: n.net.Spending(),
	}
	s.Neighbours = neighbours(n.net.Neighbours(), s.Feeds)
	s.Liars = n.liars.count(time.Now())
	_ = n.desk.ask(context.Background(), func(d *desk) {
		s.Volunteering, s.Health, s.Counts["outcomes_heard"] = d.report(), d.health(), d.outcomes
	}) // after Close there is nothing
	done, refused := n.carrier.Counters()
	s.Refused = refused
	maps.Copy(s.Counts, done)
	n.hints.report(s.Counts, s.Refused)
	n.kept.report(s.Counts)
	s.Counts["origin_requests"], s.Counts["origin_bytes"] = n.http.Spent()
	return s
}

// Feed returns the status of one feed, false if it is not followed.
func (n *Node) Feed(url string) (FeedStatus, bool) {
	canonical, err := feed.Canonical(url)
	if err != nil {
		return FeedStatus{}, false
	}
	if all := n.feedStatus(canonical); len(all) == 1 {
		return all[0], true
	}
	return FeedStatus{}, false
}

// feedStatus describes one feed, or all by URL.
func (n *Node) feedStatus(url string) []FeedStatus {
	all := []FeedStatus{}
	var channels []*channel
	_ = n.desk.ask(context.Background(), func(d *desk) { // after Close there are no feeds
		for _, ch := range d.channels {
			if url == "" || ch.url == url {
				all = append(all, d.describe(ch))
				channels = append(channels, ch)
			}
		}
	})
	for i := range all {
		n.locate(&all[i], channels[i])
		n.countItems(&all[i], channels[i])
	}
	slices.SortFunc(all, func(a, b FeedStatus) int { return cmp.Compare(a.URL, b.URL) })
	return all
}

// describe is what the desk knows.
func (d *desk) describe(ch *channel) FeedStatus {
	rec, now := ch.ledger.record(), d.now()
	s := FeedStatus{
		URL: ch.url, Title: ch.count.title, Group: ch.group.String(), Role: d.role(ch),
		Version: ch.facts.Load().state.Version, Items: ch.count.items,
		EventsReceived: ch.count.events, BeatsReceived: ch.count.beats, OriginRequests: ch.count.requests,
		Interval: ch.sched.Interval(), Spacing: ch.sched.Spacing(), Outcomes: ch.sched.Outcomes(now), Volunteers: ch.sched.Crew(), Overload: ch.sched.Overload(),
		LastEvent: ch.count.lastEvent, LastFetch: rec.Fetched, Read: rec.Read,
		Live: ch.sched.Live(now), Local: rec.Local, Failure: rec.Failure, Refused: ch.standing.refused.All(),
		Forks: ch.standing.reports(), FreshAsOf: ch.freshAsOf(), SilentSince: ch.fresh.silent,
		Children: []string{}, Gaps: ch.fresh.gaps.report(rec.Fetched, time.Now()),
	}
	trouble := stateOf(rec).Trouble
	s.Reason = trouble.Reason
	if at := ch.deadline(); at != schedule.Never && !trouble.Gone {
		s.NextPoll = d.node.life.wall(max(at, now))
	}
	s.Witnesses = ch.standing.bench.report()
	m := d.moment(ch)
	ch.account.pass(m)
	s.Week = ch.account.week(m.wall)
	p := ch.standing.policy.Load()
	s.Pin = p.book.pinStatus(p.pin)
	s.Keys = p.book.status(p.pin, time.Now(), time.Duration(ch.standing.ahead.Load()))
	s.Publisher = s.Keys.Roots
	return s
}

func (d *desk) role(ch *channel) Role {
	switch {
	case ch.publishing > 0:
		return RolePublisher
	case ch.local():
		return RoleLocal
	case ch.sched.Active(d.now()):
		return RoleVolunteer
	}
	return RoleSubscriber
}

// locate adds the feed's place in its tree.
func (n *Node) locate(s *FeedStatus, ch *channel) {
	t, ok := n.carrier.Group(ch.group)
	if !ok || s.Role == RoleLocal {
		return
	}
	s.Audience = t.Size
	s.Root, s.Attached, s.Apart, s.Parent, s.Children = t.Root, t.Attached, t.Apart, idText(t.Parent), idTexts(t.Children)
	s.Depth = t.Depth
}

// countItems asks the store how many items there are, if that changed.
func (n *Node) countItems(s *FeedStatus, ch *channel) {
	if s.Items >= 0 {
		return
	}
	version := ch.facts.Load().state.Version
	count, err := n.config.Store.Count(n.life.ctx, ch.url)
	if err != nil {
		n.complain(n.life.ctx, "cannot count items", ch.url, err)
		count = 0
	}
	s.Items = count
	n.desk.post(func(*desk) {
		if ch.facts.Load().state.Version == version {
			ch.count.items = count
		}
	})
}
