package fetch

import (
	"bytes"
	"container/heap"
	"context"
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/feedtree/feedtree/feed"
	"github.com/feedtree/feedtree/feed/fetch/polite"
)

// poller runs the client as a node does: it waits until a document may be asked
// for, paces the hosts, keeps all states on disk, and is stopped now and then.
type poller struct {
	t      testing.TB
	w      *world
	config Config
	client *Client
	hosts  *polite.Hosts
	queue  turns
	disk   struct {
		states map[string][]byte
		hosts  []byte
	}
	forget func(*polite.State)        // spoils a restart
	stale  func(s *polite.State) bool // spoils what is kept: true, and the validators stay as they were
	twice  bool                       // spoils the first request
	accept func(*Result) (time.Duration, error)
	heard  func(url string, r *Result) // is told every result
}

type turn struct {
	at       time.Time
	url      string
	reserved bool
}

type turns []turn

func (q turns) Len() int           { return len(q) }
func (q turns) Less(i, j int) bool { return q[i].at.Before(q[j].at) }
func (q turns) Swap(i, j int)      { q[i], q[j] = q[j], q[i] }
func (q *turns) Push(x any)        { *q = append(*q, x.(turn)) }
func (q *turns) Pop() any {
	last := (*q)[len(*q)-1]
	*q = (*q)[:len(*q)-1]
	return last
}

func newPoller(t testing.TB, w *world) *poller {
	p := &poller{t: t, w: w, accept: func(r *Result) (time.Duration, error) {
		if !bytes.HasPrefix(r.Body, []byte("<rss")) {
			return 0, feed.ErrNotFeed
		}
		return 0, nil
	}}
	p.disk.states = map[string][]byte{}
	return p
}

// start begins with nothing but what is on disk.
func (p *poller) start() {
	c, err := New(p.config)
	if err != nil {
		p.t.Fatal(err)
	}
	c.transport, c.now = p.w, func() time.Time { return p.w.now }
	p.client, p.hosts, p.queue = c, polite.NewHosts(c.Rules()), nil
	if err := p.hosts.Load(p.disk.hosts, p.w.now); err != nil {
		p.t.Fatal(err)
	}
	for url := range p.disk.states {
		heap.Push(&p.queue, turn{at: p.state(url).NotBefore, url: url})
	}
}

func (p *poller) state(url string) (s polite.State) {
	if err := json.Unmarshal(p.disk.states[url], &s); err != nil {
		p.t.Fatal(err)
	}
	return s.Settled(p.w.now)
}

func (p *poller) keep(url string, s polite.State) {
	kept, err := json.Marshal(s)
	if err != nil {
		p.t.Fatal(err)
	}
	p.disk.states[url] = kept
}

// subscribe has a document polled from now on.
func (p *poller) subscribe(url string, seed uint64) {
	p.keep(url, polite.State{Seed: seed})
	heap.Push(&p.queue, turn{at: p.w.now, url: url})
}

// run polls until a time.
func (p *poller) run(until time.Time) {
	for len(p.queue) > 0 && p.queue[0].at.Before(until) {
		t := heap.Pop(&p.queue).(turn)
		if t.at.After(p.w.now) {
			p.w.now = t.at
		}
		p.take(t)
	}
	if p.w.now.Before(until) {
		p.w.now = until
	}
}

func (p *poller) take(t turn) {
	s := p.state(t.url)
	host := (Feed{URL: t.url, State: s}).Hosts()[0]
	if !t.reserved {
		if at := p.hosts.Reserve(host, p.w.now); at.After(p.w.now) {
			heap.Push(&p.queue, turn{at, t.url, true})
			return
		}
	}
	if !p.hosts.Begin(host, p.w.now) {
		heap.Push(&p.queue, turn{p.w.now.Add(time.Second), t.url, false})
		return
	}
	p.ask(t.url, host, s)
}

func (p *poller) ask(url, host string, s polite.State) {
	first := s.Asked.IsZero()
	out, err := p.client.Poll(context.Background(), Feed{URL: url, State: s}, p.accept)
	if p.hosts.End(host, out.Answer, p.w.now) {
		p.disk.hosts = p.hosts.Save(p.w.now)
	}
	if p.heard != nil && err == nil {
		p.heard(url, out.Result)
	}
	next := out.State
	if p.stale != nil && err == nil && !first && p.stale(&next) && out.Result.Unchanged {
		next.Validators = s.Validators
	}
	p.keep(url, next)
	if p.twice && first {
		p.twice = false
		p.w.now = p.w.now.Add(time.Second)
		p.hosts.Begin(host, p.w.now)
		p.ask(url, host, next)
		p.twice = true
		return
	}
	heap.Push(&p.queue, turn{at: next.NotBefore, url: url})
}

// month runs a client for so many days: everything is subscribed to on the first,
// what is on one host at once, and the client is stopped every few days, sometimes
// for hours.
func (p *poller) month(urls []string, days int, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 9))
	begin := p.w.now
	p.start()
	for n, url := range urls {
		if !strings.Contains(url, shared) {
			p.run(begin.Add(time.Duration(n) * 24 * time.Hour / time.Duration(len(urls)+1)))
		}
		p.subscribe(url, rng.Uint64())
	}
	for day := 3; day < days; day += 2 + rng.IntN(3) {
		p.run(begin.Add(time.Duration(day) * 24 * time.Hour))
		p.w.now = p.w.now.Add(time.Duration(rng.IntN(2)) * time.Duration(rng.IntN(10)) * time.Hour)
		p.start()
		if p.forget != nil {
			for url := range p.disk.states {
				s := p.state(url)
				p.forget(&s)
				p.keep(url, s)
			}
		}
	}
	p.run(begin.Add(time.Duration(days) * 24 * time.Hour))
}
