package feedtree

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/feedtree/feedtree/feed/fetch/polite"
	"github.com/feedtree/feedtree/feed/schedule"
	"github.com/feedtree/feedtree/multicast"
)

const (
	maxFetches = 32              // polls under way at once: most of them wait for a slow server
	settleIn   = 5 * time.Second // how long a new node looks for others before it is alone
	lookAround = 2 * time.Second // how often it looks whether it is
)

// desk is the one goroutine that owns the channels: who follows what, and when
// which origin is asked. What takes time is done by others, who post back.
type desk struct {
	node     *Node
	box      box
	channels map[string]*channel
	groups   map[multicast.Group]*channel // those in the overlay
	due      alarms
	fetching int
	waits    map[waitKey]*wait
	company  company
	sharing  sharing
	effort   effort
	clock    clock
	outcomes uint64 // of polls by others, and what publishers said: requests not made here
	counting bool   // the feeds' accounts were taken up
	hosts    *polite.Hosts
	unsaved  bool // of hosts is to be remembered what is not yet
	rng      *rand.Rand
}

// company is whether others are connected.
type company struct {
	alone bool
	again time.Duration // when to look
}

func newDesk(n *Node) *desk {
	return &desk{
		node:     n,
		box:      box{wake: make(chan struct{}, 1)},
		channels: map[string]*channel{},
		groups:   map[multicast.Group]*channel{},
		waits:    map[waitKey]*wait{},
		hosts:    polite.NewHosts(n.http.Rules()),
		company:  company{again: settleIn},
		effort:   newEffort(n.config.Polling),
		rng:      rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64())),
	}
}

func (d *desk) now() time.Duration { return d.node.life.now() }

func (d *desk) upTo(most time.Duration) time.Duration {
	return time.Duration(d.rng.Float64() * float64(most))
}

// run is the goroutine. Posts are done in the order they came.
func (d *desk) run() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-d.node.life.ctx.Done():
			return
		case <-d.box.wake:
		case <-timer.C:
		}
		for _, do := range d.box.take() {
			do(d)
		}
		d.look()
		d.share()
		d.begin()
		timer.Reset(max(min(d.due.next(), d.company.again)-d.now(), time.Millisecond))
	}
}

// end lets go of whoever still waits for the desk: the node is closed.
func (d *desk) end() {
	for _, do := range d.box.close() {
		do(d)
	}
	for _, ch := range d.channels {
		for s := range ch.subs {
			s.end(ErrClosed)
		}
	}
}

// post has the desk do something soon. It never blocks.
func (d *desk) post(do func(*desk)) bool { return d.box.put(do) }

// ask has the desk do something and waits until it is done. After an error it
// may be done yet: what it sets is not to be read then.
func (d *desk) ask(ctx context.Context, do func(*desk)) error {
	done := make(chan struct{})
	if !d.post(func(d *desk) { do(d); close(done) }) {
		return ErrClosed
	}
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// look finds out whether there are others to listen to.
func (d *desk) look() {
	if d.now() < d.company.again {
		return
	}
	d.company.again = d.now() + lookAround
	d.clock.look(d.now(), d.node.life.start, time.Now())
	alone := len(d.node.net.Connected()) == 0
	if alone == d.company.alone {
		return
	}
	d.company.alone = alone
	for _, ch := range d.channels {
		if !ch.local() {
			ch.sched.SetAlone(d.now(), alone || ch.work.apart)
			d.arm(ch)
		}
	}
}

// arm sets the channel's alarm to what it wants now.
func (d *desk) arm(ch *channel) {
	if d.channels[ch.url] == ch {
		d.due.set(ch, ch.deadline())
	}
}

// begin has done what is due, as far as there is room.
func (d *desk) begin() {
	for d.fetching < maxFetches && d.due.next() <= d.now() {
		ch := d.due[0]
		now := d.now()
		what := ch.sched.Due(now)
		out := ch.askAt() <= now
		if !out && d.spent(ch, what) {
			d.arm(ch)
			continue
		}
		if (out || what == schedule.Poll) && !d.turn(ch) {
			d.arm(ch)
			continue
		}
		switch {
		case out && ch.work.hint.due() <= now:
			d.fetch(ch, d.answerHint(ch))
		case out:
			d.fetch(ch, job{nudge: ch.work.nudge, why: outOfTurn(ch.work.nudge)})
			ch.work.askAt, ch.work.askedAt, ch.work.asked, ch.work.nudge = 0, now, true, false
		case what == schedule.Poll:
			ch.work.hint.pending = false
			d.fetch(ch, d.pollJob(ch))
		case what == schedule.Claim:
			d.fetch(ch, job{claim: true})
		case what == schedule.Announce:
			d.fetch(ch, job{announce: true, tell: true, thorough: true})
		}
		d.arm(ch)
	}
}

// notice hears from the tree.
func (n *Node) notice(what multicast.Notice) {
	switch what.Kind {
	case multicast.Missing:
		n.desk.post(func(d *desk) { d.missing(what) })
	case multicast.BeatDue:
		n.beatDue(what.Group, what.Stamp.Source)
	case multicast.Told:
		n.told(what.Group, what.Peers[0])
	case multicast.Receipt:
		n.desk.post(func(d *desk) { d.receipt(what) })
	case multicast.Overdue:
		n.desk.post(func(d *desk) { d.overdue(what) })
	case multicast.Apart, multicast.Found:
		n.desk.post(func(d *desk) { d.apart(what.Group, what.Kind == multicast.Apart) })
	case multicast.Forked:
		n.desk.post(func(d *desk) { d.forked(what) })
	}
}

// box holds what is posted to the desk. It is not bounded: the desk does not
// wait for anybody, and everybody who posts much waits for something else
// first, the store or the network.
type box struct {
	mu     sync.Mutex
	posts  []func(*desk)
	closed bool
	wake   chan struct{}
}

func (b *box) put(do func(*desk)) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return false
	}
	b.posts = append(b.posts, do)
	select {
	case b.wake <- struct{}{}:
	default:
	}
	return true
}

func (b *box) take() []func(*desk) {
	b.mu.Lock()
	defer b.mu.Unlock()
	posts := b.posts
	b.posts = nil
	return posts
}

func (b *box) close() []func(*desk) {
	b.mu.Lock()
	b.closed = true
	b.mu.Unlock()
	return b.take()
}
