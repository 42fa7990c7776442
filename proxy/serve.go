package proxy

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"
)

const (
	sweepEvery  = time.Hour // feeds that nobody reads are looked for
	stopWithin  = 1500 * time.Millisecond
	headerLimit = 64 << 10
)

// Serve answers requests on a listener until ctx ends, then lets those under way
// finish for a moment. It also leaves feeds that no reader asks for any more.
func (p *Proxy) Serve(ctx context.Context, l net.Listener) error {
	server := &http.Server{
		Handler:           p,
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       30 * time.Second,
		WriteTimeout:      p.config.FirstFetch + 30*time.Second,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    headerLimit,
		ErrorLog:          slog.NewLogLogger(p.config.Log.Handler(), slog.LevelWarn),
	}
	server.RegisterOnShutdown(p.view.events.close)
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(l) }()
	if p.websub != nil {
		looking, end := context.WithCancel(ctx)
		var done sync.WaitGroup
		done.Go(func() { p.websub.run(looking) })
		defer done.Wait()
		defer end()
	}
	p.imports.resume(ctx)
	sweep := time.NewTicker(sweepEvery)
	defer sweep.Stop()
	for {
		select {
		case err := <-ended:
			return err
		case <-ctx.Done():
			return stop(server, ended)
		case <-sweep.C:
			p.leaveUnread(ctx)
		}
	}
}

// leaveUnread leaves the feeds that were not asked for in a long time.
func (p *Proxy) leaveUnread(ctx context.Context) {
	left, err := p.shelf.leave(ctx, p.now().Add(-p.config.Forget))
	if len(left) > 0 {
		p.config.Log.Info("left feeds that no reader asked for; what they brought is kept for who asks again",
			"feeds", len(left), "unread", p.config.Forget)
	}
	if err != nil {
		p.config.Log.Warn("could not leave a feed that nobody reads", "error", err)
	}
}

func stop(server *http.Server, ended <-chan error) error {
	ctx, cancel := context.WithTimeout(context.Background(), stopWithin)
	defer cancel()
	err := server.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		err = server.Close() // a reader that does not finish is cut off
	}
	if served := <-ended; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return err
}
