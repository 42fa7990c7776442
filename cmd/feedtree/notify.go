package main

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"

	"github.com/feedtree/feedtree"
)

// service tells whoever supervises the process how it does (sd_notify(3)). Where
// nobody does, it is silent.
type service struct {
	log   *slog.Logger
	check func(context.Context) error // what it does, a little of it
}

// run says that the service is ready, that it is alive as long as it is, and that
// it stops when ctx ends. It returns at once.
func (s service) run(ctx context.Context) {
	s.say(daemon.SdNotifyReady)
	context.AfterFunc(ctx, func() { s.say(daemon.SdNotifyStopping) })
	within, err := daemon.SdWatchdogEnabled(false)
	if err != nil {
		s.log.Warn("the watchdog is not fed", "error", err)
	}
	if err == nil && within > 0 {
		go s.feed(ctx, within)
	}
}

// feed tells the watchdog, which restarts who is silent for too long.
func (s service) feed(ctx context.Context, within time.Duration) {
	tick := time.NewTicker(within / 3)
	defer tick.Stop()
	for {
		if s.alive(ctx, within/3) {
			s.say(daemon.SdNotifyWatchdog)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// alive reports whether the node answers and its store does, if only to say that
// it takes nothing: a disk does not become larger by a restart.
func (s service) alive(ctx context.Context, within time.Duration) bool {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	err := s.check(ctx)
	if err == nil || errors.Is(err, feedtree.ErrStore) && !errors.Is(err, context.DeadlineExceeded) {
		return true
	}
	s.log.Error("the node hangs; the watchdog is not fed", "error", err)
	return false
}

func (s service) say(what string) {
	if _, err := daemon.SdNotify(false, what); err != nil {
		s.log.Warn("systemd cannot be told", "what", what, "error", err)
	}
}
