package feedtree

import (
	"cmp"
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/feedtree/feedtree/feed/store"
	"github.com/feedtree/feedtree/multicast"
	"github.com/feedtree/feedtree/overlay"
	"github.com/feedtree/feedtree/signing"
)

// In a large group hardly any volunteer is connected with a given node, and one whose
// network is not known makes nobody independent. So where a node was met is remembered,
// and a volunteer whose word would decide something is visited, once. Both count only
// what a connection proved: that the holder of the key is at an address. What it says
// of its addresses, or the DHT for it, tells where to dial and nothing more.
const (
	sightingsSetting = "whereabouts"       // networks by key, as JSON
	maxSightings     = 2048                // remembered; the oldest go first
	sightingLasts    = 14 * 24 * time.Hour // people move, and addresses change hands

	visitsAtOnce  = 32               // volunteers who wait for a visit; more are left out
	visitsApart   = 2 * time.Second  // two visits of this node
	visitAgain    = 6 * time.Hour    // one that failed
	visitPatience = 20 * time.Second // for the DHT and a connection

	// All who hear a volunteer hear it at once. It is to get so many visits in a
	// second, by as many as carry the feed; in a huge group most leave it out.
	visitsASecond = 20
	visitSpread   = 30 * time.Minute
)

// sightings are the networks in which other nodes were met. It is safe for concurrent
// use.
type sightings struct {
	mu      sync.Mutex
	visit   visitFunc // how one is visited
	met     map[signing.PublicKey]sighted
	changed bool // since it was saved
	vain    map[signing.PublicKey]time.Time
	waiting map[signing.PublicKey]bool
	next    time.Time // no visit before
}

// sighted is where and when a node was met last.
type sighted struct {
	Network string    `json:"network"`
	At      time.Time `json:"at"`
}

// visitFunc connects with a node and returns the address at the other end.
type visitFunc func(context.Context, overlay.ID) (netip.Addr, bool)

func (s *sightings) how() visitFunc {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.visit
}

// meet remembers where a node is.
func (s *sightings) meet(key signing.PublicKey, network string, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.met[key]
	if before.Network == network && now.Sub(before.At) < time.Hour {
		return
	}
	if s.met == nil {
		s.met = map[signing.PublicKey]sighted{}
	}
	s.met[key] = sighted{network, now.UTC().Truncate(time.Second)}
	s.changed = true
	for len(s.met) > maxSightings {
		delete(s.met, slices.MinFunc(slices.Collect(maps.Keys(s.met)), func(a, b signing.PublicKey) int {
			return cmp.Or(s.met[a].At.Compare(s.met[b].At), slices.Compare(a[:], b[:]))
		}))
	}
}

// network is where a node was met, "" if that is not known or too long ago.
func (s *sightings) network(key signing.PublicKey, now time.Time) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	at, ok := s.met[key]
	if !ok || now.Sub(at.At) > sightingLasts || at.At.Sub(now) > time.Hour {
		return ""
	}
	return at.Network
}

// plan says after which pause a node is to be visited; false: not now. audience is how
// many others may want to do so.
func (s *sightings) plan(key signing.PublicKey, audience int, now time.Time) (pause time.Duration, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for k, at := range s.vain {
		if now.Sub(at) > visitAgain {
			delete(s.vain, k)
		}
	}
	if _, vain := s.vain[key]; vain || s.waiting[key] || len(s.waiting) >= visitsAtOnce || len(s.vain) >= maxSightings {
		return 0, false
	}
	spread := time.Duration(max(audience, visitsASecond)) * time.Second / visitsASecond
	if spread > visitSpread && rand.Float64() > float64(visitSpread)/float64(spread) {
		return 0, false
	}
	if s.waiting == nil {
		s.waiting = map[signing.PublicKey]bool{}
	}
	s.waiting[key] = true
	at := now.Add(rand.N(min(spread, visitSpread)))
	if at.Before(s.next) {
		at = s.next
	}
	s.next = at.Add(visitsApart)
	return at.Sub(now), true
}

// visited ends what plan began.
func (s *sightings) visited(key signing.PublicKey, found bool, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.waiting, key)
	if found {
		return
	}
	if s.vain == nil {
		s.vain = map[signing.PublicKey]time.Time{}
	}
	s.vain[key] = now
}

// seek visits a volunteer whose network is not known, if its word may decide
// something.
func (n *Node) seek(s *standing, key signing.PublicKey, g multicast.Group) {
	id, ok := idOf(key)
	if !ok || n.config.NetworkOf != nil || !s.bench.undecided(key) {
		return
	}
	audience := 0
	if place, ok := n.carrier.Group(g); ok {
		audience = place.Size
	}
	pause, ok := n.places.plan(key, audience, time.Now())
	if !ok {
		return
	}
	n.background(func(ctx context.Context) {
		found := false
		defer func() { n.places.visited(key, found, time.Now()) }()
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
		if n.networkOf(key) == "" { // nobody came meanwhile
			within, cancel := context.WithTimeout(ctx, visitPatience)
			defer cancel()
			if at, ok := n.places.how()(within, id); ok {
				n.places.meet(key, networkOf(at), time.Now())
			}
		}
		network := n.networkOf(key)
		if found = network != ""; found {
			n.located(ctx, key, network)
		}
	})
}

// located lets what a volunteer said count as from its network, in all feeds.
func (n *Node) located(ctx context.Context, key signing.PublicKey, network string) {
	n.judges.each(func(g multicast.Group, s *standing) {
		n.weighed(ctx, s, g, s.bench.locate(key, network))
	})
}

// saveSightings saves where others were met, if that changed.
func (n *Node) saveSightings(ctx context.Context) {
	n.places.mu.Lock()
	changed := n.places.changed
	n.places.changed = false
	named := make(map[string]sighted, len(n.places.met))
	for key, at := range n.places.met {
		named[key.String()] = at
	}
	n.places.mu.Unlock()
	if !changed {
		return
	}
	doc, err := json.Marshal(named)
	if err == nil {
		err = n.config.Store.PutSetting(ctx, sightingsSetting, doc)
	}
	if err != nil {
		n.complain(ctx, "cannot keep where volunteers were met", "", err)
	}
}

// load takes up what saveSightings saved.
func (s *sightings) load(ctx context.Context, kept store.Store) error {
	doc, ok, err := kept.Setting(ctx, sightingsSetting)
	if err != nil || !ok {
		return err
	}
	named := map[string]sighted{}
	if err := json.Unmarshal(doc, &named); err != nil {
		return fmt.Errorf("where volunteers were met: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.met = map[signing.PublicKey]sighted{}
	for name, at := range named {
		if key, err := hex.DecodeString(name); err == nil && len(key) == len(signing.PublicKey{}) && len(s.met) < maxSightings {
			s.met[signing.PublicKey(key)] = at
		}
	}
	return nil
}
