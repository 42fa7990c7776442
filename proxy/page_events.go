package proxy

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/maphash"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/feedtree/feedtree"
)

const (
	mostListeners = 32               // pages and programs that are told what changes, at once
	listenerRoom  = 128              // messages that wait for a slow one; more cut it off
	lookEvery     = 5 * time.Second  // for what the node does not tell: connections, places in trees
	lookApart     = time.Second      // between two looks, however much changes
	stillThere    = 20 * time.Second // a listener hears something at least so often
	listenerSlow  = 10 * time.Second // who takes longer for a message is gone
)

const (
	whyListeners = "events: too many listeners"
	whySlow      = "events: a listener too slow"
)

// events tells pages and programs what changes. Nobody looks unless somebody
// listens.
type events struct {
	proxy *Proxy

	mu     sync.Mutex
	to     map[chan message]struct{}
	stop   context.CancelFunc // of the one who looks
	closed bool
}

// message is one event of the stream.
type message struct {
	kind string
	data []byte
}

func newMessage(kind string, data any) message {
	text, err := json.Marshal(data)
	if err != nil {
		panic("proxy: an event that is no JSON: " + err.Error())
	}
	return message{kind, text}
}

// listen adds a listener; nil: there are too many.
func (e *events) listen() chan message {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed || len(e.to) >= mostListeners {
		return nil
	}
	c := make(chan message, listenerRoom)
	e.to[c] = struct{}{}
	if e.stop == nil {
		ctx, stop := context.WithCancel(context.Background())
		e.stop = stop
		changed := e.proxy.source.Watch(ctx)
		go e.look(ctx, changed, seenAs(e.proxy.overall()))
	}
	c <- newMessage("change", changed{Feeds: []string{}}) // what it knows may be from before
	return c
}

// leave ends a listener's part.
func (e *events) leave(c chan message) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.cut(c)
}

func (e *events) cut(c chan message) {
	if _, ok := e.to[c]; !ok {
		return
	}
	delete(e.to, c)
	close(c)
	if len(e.to) == 0 && e.stop != nil {
		e.stop()
		e.stop = nil
	}
}

// close ends all streams: the proxy stops.
func (e *events) close() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.closed = true
	for c := range e.to {
		e.cut(c)
	}
}

func (e *events) send(m message) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for c := range e.to {
		select {
		case c <- m:
		default:
			e.proxy.guard.refused.Count(whySlow)
			e.cut(c)
		}
	}
}

// arrived tells of new items.
func (e *events) arrived(items []news) {
	for _, n := range items {
		e.send(newMessage("item", n))
	}
}

// changed is what an event "change" says.
type changed struct {
	Feeds []string `json:"feeds"` // by URL
}

// look watches the node as long as somebody listens.
func (e *events) look(ctx context.Context, watch <-chan struct{}, known sight) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	e.proxy.view.newest.look(e.proxy.overall().Feeds)
	for {
		select {
		case <-ctx.Done():
			return
		case <-watch:
		case <-tick.C:
		}
		s := e.proxy.overall()
		e.proxy.view.newest.look(s.Feeds)
		now := seenAs(s)
		if feeds, any := known.differs(now); any {
			e.send(newMessage("change", changed{feeds}))
		}
		known = now
		select {
		case <-ctx.Done():
			return
		case <-time.After(lookApart):
		}
	}
}

// sight is a status as far as a change of it is worth telling: a hash of each
// feed's, and under the empty name one of the rest.
type sight map[string]uint64

var sightSeed = maphash.MakeSeed()

func seenAs(s feedtree.Status) sight {
	seen := sight{}
	for _, f := range s.Feeds {
		f.Week.AloneRequests, f.Week.AloneBytes, f.Week.TreeBytes = 0, 0, 0 // pass like time
		seen[f.URL] = maphash.Bytes(sightSeed, newMessage("", f).data)
	}
	v := s.Volunteering
	rest := fmt.Sprint(s.Peers, s.Addrs, v.On, v.MaxRequests, v.MaxBytes, offline(s.Feeds))
	seen[""] = maphash.String(sightSeed, rest)
	return seen
}

// differs lists the feeds that are not as they were.
func (was sight) differs(now sight) (feeds []string, any bool) {
	feeds = []string{}
	for name, h := range now {
		if old, ok := was[name]; !ok || old != h {
			feeds = append(feeds, name)
		}
	}
	for name := range was {
		if _, ok := now[name]; !ok {
			feeds = append(feeds, name)
		}
	}
	any = len(feeds) > 0
	feeds = slices.DeleteFunc(feeds, func(name string) bool { return name == "" })
	slices.Sort(feeds)
	return feeds, any
}

// stream answers with server-sent events, for as long as the client stays.
func (p *Proxy) stream(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	if r.Method == http.MethodHead {
		h.Set("Content-Type", "text/event-stream")
		return
	}
	c := p.view.events.listen()
	if c == nil {
		p.guard.refused.Count(whyListeners)
		refuse(w, http.StatusServiceUnavailable, "Too many pages and programs listen already: close some of them.")
		return
	}
	defer p.view.events.leave(c)
	h.Set("Content-Type", "text/event-stream")
	h.Set("X-Content-Type-Options", "nosniff")
	wire := http.NewResponseController(w)
	write := func(text string) bool {
		_ = wire.SetWriteDeadline(time.Now().Add(listenerSlow)) // where it cannot be set, nobody needs it
		_, err := w.Write([]byte(text))
		return err == nil && wire.Flush() == nil
	}
	ok := write("retry: 3000\n\n")
	still := time.NewTicker(stillThere)
	defer still.Stop()
	for ok {
		select {
		case <-r.Context().Done():
			return
		case m, open := <-c:
			ok = open && write("event: "+m.kind+"\ndata: "+string(m.data)+"\n\n")
		case <-still.C:
			ok = write(":\n\n")
		}
	}
}
