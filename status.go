package feedtree

import (
	"time"
)

// Status is a node as it sees itself, for people and for programs as JSON.
type Status struct {
	PeerID  string            `json:"peer_id"`
	Addrs   []string          `json:"addrs"` // full multiaddrs
	Peers   int               `json:"peers"` // nodes connected now
	Since   time.Time         `json:"since"`
	Feeds   []FeedStatus      `json:"feeds"`   // by URL
	Refused map[string]uint64 `json:"refused"` // what was refused or dropped, by reason
	Counts  map[string]uint64 `json:"counts"`  // of the overlay and the trees
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
	Parent   string   `json:"parent"` // peer ID, empty at the root
	Children []string `json:"children"`

	Items          int           `json:"items"`
	EventsReceived uint64        `json:"events_received"` // news from the tree since the start
	BeatsReceived  uint64        `json:"beats_received"`  // heartbeats from the tree since the start
	OriginRequests uint64        `json:"origin_requests"` // since the start
	Interval       time.Duration `json:"interval"`        // between polls, in nanoseconds
	LastEvent      time.Time     `json:"last_event"`      // news or heartbeat, from the tree
	LastFetch      time.Time     `json:"last_fetch"`      // when the origin last answered
	NextPoll       time.Time     `json:"next_poll"`       // unless somebody is heard before
	Read           time.Time     `json:"read"`            // when the document was last asked for

	Publisher string            `json:"publisher"` // fingerprint of the feed's key
	Live      bool              `json:"live"`      // the publisher keeps its promise of heartbeats
	Local     string            `json:"local"`     // why the feed stays out of the overlay
	Failure   string            `json:"failure"`   // what is wrong now, as a sentence
	Refused   map[string]uint64 `json:"refused"`   // events refused, by reason
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

// Status returns the node's status.
func (n *Node) Status() Status { return Status{} }

// Feed returns the status of one feed, false if it is not followed.
func (n *Node) Feed(url string) (FeedStatus, bool) { return FeedStatus{}, false }
