package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/feedtree/feedtree/feed/archive"
	"github.com/feedtree/feedtree/feed/store"
)

// keepFlags say how much is kept.
type keepFlags struct {
	KeepDays  int   `help:"Let items go that were received so many days ago, unless their feed still shows them; 0: never." default:"0" placeholder:"N" group:"Archive"`
	KeepItems int   `help:"Most items of a feed; the oldest go first." default:"20000" placeholder:"N" group:"Archive"`
	KeepMB    int64 `name:"keep-mb" help:"Most megabytes of items over all feeds, before compression; 0: no limit." default:"0" placeholder:"N" group:"Archive"`
}

// Validate refuses what would mean something else.
func (f keepFlags) Validate() error {
	if f.KeepDays < 0 || f.KeepMB < 0 || f.KeepItems < 1 {
		return errors.New("--keep-days and --keep-mb must not be negative, --keep-items must be 1 or more")
	}
	return nil
}

func (f keepFlags) limits() store.Limits { return store.Limits{Items: f.KeepItems} }

func (f keepFlags) retention() archive.Retention {
	return archive.Retention{Age: time.Duration(f.KeepDays) * 24 * time.Hour, Bytes: f.KeepMB << 20}
}

const (
	keepSoon  = time.Minute // after the start, which has other work
	keepEvery = time.Hour
)

// keep lets old items go now and then, and reports what it let go and what it
// found damaged, until ctx ends.
func keep(ctx context.Context, a *archive.Archive, r archive.Retention, log *slog.Logger) {
	var told archive.Dropped
	damaged := 0
	for wait := keepSoon; ; wait = keepEvery {
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
		if err := a.Retain(ctx, r, time.Now()); err != nil && ctx.Err() == nil {
			log.Warn("the archive cannot let old items go", "error", err)
		}
		if now := a.Dropped(); now != told {
			told = now
			log.Info("the archive let go, since the start", "counts", fmt.Sprintf("%+v", now))
		}
		if found := a.Damage(); len(found) > damaged {
			damaged = len(found)
			log.Error("parts of the archive are damaged and are not served: see `feedtree archive check`", "places", damaged, "last", found[len(found)-1].String())
		}
	}
}
