package proxy

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/feedtree/feedtree"
	"github.com/feedtree/feedtree/feed/fetch"
)

const (
	leasesEvery = time.Minute // subscriptions are looked after
	mostLeases  = 5000
	askedAtOnce = 4  // requests to hubs under way
	askedARound = 60 // requests to hubs in one look
)

// hubs asks hubs.
type hubs interface {
	Post(ctx context.Context, to string, form url.Values) (*fetch.Reply, error)
}

// websub keeps subscriptions at the hubs that feeds name, for as long as they
// name them, and this proxy can be reached.
type websub struct {
	callback string // what a token is put behind
	hubs     hubs
	proxy    *Proxy

	mu      sync.Mutex
	loaded  bool
	byToken map[string]*lease
	byFeed  map[string]*lease
	paused  map[string]time.Time // hubs that want to be left alone, until when
}

func newWebsub(p *Proxy, public *url.URL, h hubs) *websub {
	return &websub{
		callback: strings.TrimSuffix(public.String(), "/") + "/websub/", hubs: h, proxy: p,
		byToken: map[string]*lease{}, byFeed: map[string]*lease{}, paused: map[string]time.Time{},
	}
}

// run looks after the subscriptions until ctx ends.
func (s *websub) run(ctx context.Context) {
	tick := time.NewTicker(leasesEvery)
	defer tick.Stop()
	for {
		if err := s.round(ctx); err != nil && ctx.Err() == nil {
			s.proxy.config.Log.Warn("could not look after subscriptions at hubs", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// round asks for what is to be asked for now, and waits for the hubs' answers.
func (s *websub) round(ctx context.Context) error {
	wanted, err := s.proxy.source.Hubs(ctx)
	if err != nil {
		return err
	}
	if err := s.load(ctx); err != nil {
		return err
	}
	var asking sync.WaitGroup
	room := make(chan struct{}, askedAtOnce)
	for _, l := range s.due(wanted) {
		asking.Go(func() {
			room <- struct{}{}
			defer func() { <-room }()
			s.subscribe(ctx, l)
		})
	}
	asking.Wait()
	return nil
}

// due makes leases of what is wanted, ends those that are no longer, and returns
// what is to be asked for now.
func (s *websub) due(wanted []feedtree.Hub) []*lease {
	now := s.proxy.now()
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.paused, func(_ string, until time.Time) bool { return !now.Before(until) })
	named := map[string]bool{}
	var due []*lease
	for _, w := range wanted {
		named[w.Feed] = true
		l := s.byFeed[w.Feed]
		if l == nil || l.Topic != w.Topic || !slices.Contains(w.URLs, l.Hub) {
			if l == nil && len(s.byFeed) >= mostLeases {
				s.proxy.hints.refused.Count("websub: too many subscriptions")
				continue
			}
			l = s.replace(l, newLease(w.Feed, w.Topic, w.URLs[0]))
		}
		if now.Before(l.Again) || len(due) == askedARound {
			continue
		}
		if l.Fails > 0 && !l.live(now) { // another hub of the feed may do better
			if next := w.URLs[(slices.Index(w.URLs, l.Hub)+1)%len(w.URLs)]; next != l.Hub {
				fails := l.Fails
				l = s.replace(l, newLease(w.Feed, w.Topic, next))
				l.Fails = fails
			}
		}
		if !now.Before(s.paused[l.Hub]) {
			due = append(due, l)
		}
	}
	for feed, l := range s.byFeed {
		if !named[feed] && !l.live(now) { // until then the hub may send
			s.replace(l, nil)
		}
	}
	return due
}

// replace puts a lease in the place of another, either of which may be nil.
func (s *websub) replace(old, l *lease) *lease {
	if old != nil {
		delete(s.byToken, old.Token)
		delete(s.byFeed, old.Feed)
		if l == nil {
			s.save(old.Feed, nil)
		}
	}
	if l != nil {
		s.byToken[l.Token], s.byFeed[l.Feed] = l, l
	}
	return l
}

// subscribe asks a hub for a subscription.
func (s *websub) subscribe(ctx context.Context, l *lease) {
	now := s.proxy.now()
	s.mu.Lock()
	l.ask(now)
	form, hub := l.form(s.callback), l.Hub
	s.save(l.Feed, l)
	s.mu.Unlock()
	_, err := s.hubs.Post(ctx, hub, form)
	if err == nil || ctx.Err() != nil {
		return // the hub verifies, or is asked after the next start
	}
	retry := askAgain
	var failed *fetch.Error
	if errors.As(err, &failed) {
		retry = max(retry, min(failed.RetryAfter, longestWait))
	}
	s.change(l.Token, func(l *lease) {
		l.failed(now, retry)
		s.paused[hub] = now.Add(retry)
	})
	s.proxy.hints.refused.Count("websub: the hub does not take the subscription")
	s.proxy.config.Log.Info("a hub does not take a subscription", "feed", l.Feed, "hub", hub, "error", err)
}

// at returns a copy of the lease with a token, and whether leases are known yet.
func (s *websub) at(token string) (l lease, ok, loaded bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if found := s.byToken[token]; found != nil {
		return *found, true, s.loaded
	}
	return lease{}, false, s.loaded
}

// change changes the lease with a token, if there still is one.
func (s *websub) change(token string, do func(*lease)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l := s.byToken[token]; l != nil {
		do(l)
		s.save(l.Feed, l)
	}
}

// end forgets the lease with a token.
func (s *websub) end(token string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l := s.byToken[token]; l != nil {
		s.replace(l, nil)
	}
}

// keptLease is a lease as it is kept, with where the hub was told to send to.
type keptLease struct {
	Callback string
	Lease    *lease
}

func leaseSetting(feed string) string { return "websub " + feed }

// save keeps a lease over a restart; a nil one is forgotten.
func (s *websub) save(feed string, l *lease) {
	if s.proxy.config.Store == nil {
		return
	}
	var doc []byte
	if l != nil {
		var err error
		if doc, err = json.Marshal(keptLease{s.callback, l}); err != nil {
			panic("proxy: a lease that is no JSON: " + err.Error())
		}
	}
	if err := s.proxy.config.Store.PutSetting(context.Background(), leaseSetting(feed), doc); err != nil {
		s.proxy.config.Log.Warn("cannot remember a subscription at a hub", "feed", feed, "error", err)
	}
}

// load takes up what save kept, once. Until then hubs are told to come again.
func (s *websub) load(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.loaded || s.proxy.config.Store == nil {
		s.loaded = true
		return nil
	}
	for _, f := range s.proxy.source.Status().Feeds {
		doc, ok, err := s.proxy.config.Store.Setting(ctx, leaseSetting(f.URL))
		if err != nil {
			return err
		}
		kept := keptLease{Lease: &lease{}}
		if !ok || len(doc) == 0 || json.Unmarshal(doc, &kept) != nil || kept.Lease == nil || kept.Lease.Feed != f.URL || kept.Lease.Token == "" {
			continue // as if there had been none
		}
		if kept.Callback != s.callback {
			kept.Lease.Again = time.Time{} // it must hear of the new one
		}
		s.replace(nil, kept.Lease)
	}
	s.loaded = true
	return nil
}
