package feedtree

import (
	"cmp"
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/feedtree/feedtree/feed/store"
	"github.com/feedtree/feedtree/multicast"
	"github.com/feedtree/feedtree/signing"
)

const (
	liarsSetting = "liars" // volunteers that are not heard, as JSON
	maxLiars     = 1024    // remembered; the sentence that ends first goes first

	// A liar by what was seen here is one whatever it speaks about. By what others
	// say it is one for that feed, and not for as long: they may be the liars.
	sentenceOwn    = 30 * 24 * time.Hour
	sentenceOthers = 7 * 24 * time.Hour
)

// liars are the volunteers who were caught. It is safe for concurrent use.
type liars struct {
	mu sync.RWMutex
	by map[signing.PublicKey]convicted
}

// convicted is what a liar's word is worth nothing for, and until when.
type convicted struct {
	group multicast.Group // zero: every feed
	until time.Time
}

// convictedJSON is how it is kept.
type convictedJSON struct {
	Group string    `json:"group,omitempty"`
	Until time.Time `json:"until"`
}

func sentence(g multicast.Group, own bool, now time.Time) convicted {
	if own {
		return convicted{until: now.Add(sentenceOwn)}
	}
	return convicted{group: g, until: now.Add(sentenceOthers)}
}

// hold reports whether a volunteer is not to be heard in a group.
func (l *liars) hold(key signing.PublicKey, g multicast.Group, now time.Time) bool {
	l.mu.RLock()
	defer l.mu.RUnlock()
	c, ok := l.by[key]
	return ok && now.Before(c.until) && (c.group == multicast.Group{} || c.group == g)
}

func (l *liars) count(now time.Time) (n int) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	for _, c := range l.by {
		if now.Before(c.until) {
			n++
		}
	}
	return n
}

// add remembers a liar, also after a restart.
func (l *liars) add(ctx context.Context, kept store.Store, key signing.PublicKey, c convicted) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if before, ok := l.by[key]; ok && before.group == (multicast.Group{}) && before.until.After(c.until) {
		return
	}
	if l.by == nil {
		l.by = map[signing.PublicKey]convicted{}
	}
	l.by[key] = c
	for len(l.by) > maxLiars {
		delete(l.by, slices.MinFunc(slices.Collect(maps.Keys(l.by)), func(a, b signing.PublicKey) int {
			return cmp.Or(l.by[a].until.Compare(l.by[b].until), slices.Compare(a[:], b[:]))
		}))
	}
	named := map[string]convictedJSON{}
	for key, c := range l.by {
		memo := convictedJSON{Until: c.until}
		if c.group != (multicast.Group{}) {
			memo.Group = c.group.String()
		}
		named[key.String()] = memo
	}
	doc, err := json.Marshal(named)
	if err != nil {
		panic("feedtree: liars that are no JSON: " + err.Error())
	}
	_ = kept.PutSetting(ctx, liarsSetting, doc) // it is counted where the store is watched; until a restart they are remembered
}

// load takes up what add remembered.
func (l *liars) load(ctx context.Context, kept store.Store, now time.Time) error {
	doc, ok, err := kept.Setting(ctx, liarsSetting)
	if err != nil || !ok {
		return err
	}
	named := map[string]convictedJSON{}
	if err := json.Unmarshal(doc, &named); err != nil {
		return fmt.Errorf("the volunteers who lied: %w", err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.by = map[signing.PublicKey]convicted{}
	for name, memo := range named {
		key, err := hex.DecodeString(name)
		if err != nil || len(key) != len(signing.PublicKey{}) || !now.Before(memo.Until) {
			continue
		}
		c := convicted{until: memo.Until}
		if memo.Group != "" {
			if c.group, err = multicast.ParseGroup(memo.Group); err != nil {
				continue
			}
		}
		l.by[signing.PublicKey(key)] = c
	}
	return nil
}
