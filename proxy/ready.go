package proxy

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"
)

const (
	checkWithin = 5 * time.Second // a node that works answers in milliseconds
	checkAgain  = time.Second     // after which an answer is old: a check writes to the disk
)

// readiness is what the node last said of itself.
type readiness struct {
	mu  sync.Mutex
	at  time.Time
	err error
}

// check asks the node, or repeats what it just said.
func (r *readiness) check(ctx context.Context, s source, now func() time.Time) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if t := now(); r.at.IsZero() || t.Sub(r.at) >= checkAgain || t.Before(r.at) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), checkWithin)
		defer cancel()
		r.err = s.Check(ctx)
		r.at = now()
	}
	return r.err
}

// Check returns why the proxy cannot do its work, nil if it can: its node answers
// and keeps what it is given. It looks at most once a second.
func (p *Proxy) Check(ctx context.Context) error { return p.ready.check(ctx, p.source, p.now) }

// answerReady answers those who ask whether to send anybody here.
func (p *Proxy) answerReady(w http.ResponseWriter, r *http.Request) {
	if err := p.Check(r.Context()); err != nil {
		refuse(w, http.StatusServiceUnavailable, fmt.Sprintf("Not ready: %s.\nFeeds that are held are served all the same.", clip(err.Error())))
		return
	}
	p.health(w)
}
