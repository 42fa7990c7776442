package multicast

import (
	"cmp"
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/feedtree/feedtree/overlay"
)

// Group identifies the multicast group of one feed.
type Group [32]byte

const groupDomain = "feedtree/group/1"

// GroupOf returns the group of a feed: SHA-256("feedtree/group/1" ‖ URL).
// The URL must be canonical already; package feed has the rule.
// (FeedTree §4.3: the topic is a hash of the feed's canonical URL.)
func GroupOf(canonicalURL string) Group {
	return sha256.Sum256([]byte(groupDomain + canonicalURL))
}

// Key returns the group's position in the overlay, where its root lives.
func (g Group) Key() overlay.Key { return overlay.KeyOf(g[:]) }

var groupEncoding = base32.StdEncoding.WithPadding(base32.NoPadding)

// String returns the group as 52 lower-case base32 characters, the form the
// ft:tree element carries.
func (g Group) String() string { return strings.ToLower(groupEncoding.EncodeToString(g[:])) }

var errGroup = errors.New("a group is 52 base32 characters")

// ParseGroup reads what String writes, in either case.
func ParseGroup(s string) (Group, error) {
	b, err := groupEncoding.DecodeString(strings.ToUpper(s))
	if err != nil || len(b) != len(Group{}) {
		return Group{}, fmt.Errorf("group %q: %w", s, errGroup)
	}
	return Group(b), nil
}

// Source identifies who speaks: the 32 bytes of an Ed25519 public key.
type Source [32]byte

// String returns the first eight bytes in hex.
func (s Source) String() string { return fmt.Sprintf("%x", s[:8]) }

// Tag tells apart events that claim one place: half of the hash of what their
// source signed. Zero: not known.
type Tag [16]byte

// TagOf returns the tag of a hash.
func TagOf(hash [32]byte) Tag { return Tag(hash[:16]) }

// Stamp is an event's place in its source's line, and the head of a line when
// that is what is meant.
type Stamp struct {
	Source Source
	Epoch  uint64 // grows when the source lost its place
	Seq    uint64 // 1, 2, 3, … within an epoch; 0 only in a head: nothing yet
	Beat   uint64 // 0, or for a heartbeat its Unix time in milliseconds
	Tag    Tag    // only in a head that a neighbour is told: of the event at Seq
}

// Heartbeat reports whether the stamp belongs to a heartbeat rather than to
// an event with news.
func (s Stamp) Heartbeat() bool { return s.Beat != 0 }

// Compare orders stamps of one source by epoch, then seq, then beat.
func (s Stamp) Compare(o Stamp) int {
	return cmp.Or(cmp.Compare(s.Epoch, o.Epoch), cmp.Compare(s.Seq, o.Seq), cmp.Compare(s.Beat, o.Beat))
}

// String returns source/epoch/seq, with +beat for a heartbeat.
func (s Stamp) String() string {
	if s.Heartbeat() {
		return fmt.Sprintf("%v/%d/%d+%d", s.Source, s.Epoch, s.Seq, s.Beat)
	}
	return fmt.Sprintf("%v/%d/%d", s.Source, s.Epoch, s.Seq)
}

// Event is one signed statement of a source to a group. Body is shared, never
// modified.
type Event struct {
	Group Group
	Stamp Stamp
	TTL   time.Duration // until the next event or heartbeat at the latest; 0: not promised
	Tag   Tag           // of the event itself; zero for a heartbeat
	Prev  Tag           // of the event before it, or which a heartbeat repeats
	Body  []byte
}

// Names returns the tag that the event names for a place of its line in its epoch,
// false if it says nothing of that place: an event names its own and the one
// before it, a heartbeat the head's.
func (e *Event) Names(place uint64) (tag Tag, ok bool) {
	switch s := e.Stamp; {
	case !s.Heartbeat() && place == s.Seq:
		tag = e.Tag
	case !s.Heartbeat() && place+1 == s.Seq, s.Heartbeat() && place == s.Seq:
		tag = e.Prev
	}
	return tag, tag != Tag{}
}

// Delivery is an event as the group's member gets it. What a member publishes
// itself is not delivered to it.
type Delivery struct {
	Event  Event
	From   overlay.ID // the neighbour it came from
	Via    Via        // how it came
	Hops   int        // edges from the source, 0 if unknown
	Asked  int        // nodes that were asked for it, if it was pulled: the last one had it
	Cursor uint64     // every seq of the line up to this one is delivered or given up
}

// Via says how an event reached a member.
type Via uint8

// The ways, from the usual to the last resort within the overlay.
const (
	ViaTree    Via = iota // pushed along a tree edge
	ViaCatchUp            // sent by the parent after the join, from the cursor on
	ViaParent             // pulled from the parent after a gap
	ViaLazy               // pulled from a lazy link or a child after a gap
	ViaReplica            // pulled from a node near the root after a gap
)

func (v Via) String() string {
	return [...]string{"tree", "catch-up", "parent", "lazy", "replica"}[v]
}
