package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/feedtree/feedtree"
)

// supervisor is the socket of a service manager.
func supervisor(t *testing.T) (hear func() string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "notify")
	l, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Skip("no unix datagrams: ", err)
	}
	t.Cleanup(func() { l.Close() })
	t.Setenv("NOTIFY_SOCKET", path)
	return func() string {
		l.SetReadDeadline(time.Now().Add(20 * time.Second))
		b := make([]byte, 100)
		n, err := l.Read(b)
		if err != nil {
			t.Fatal("the supervisor hears nothing: ", err)
		}
		return string(b[:n])
	}
}

// sd_notify(3): READY=1 once, WATCHDOG=1 while it works, STOPPING=1 at the end.
func TestSupervised(t *testing.T) {
	hear := supervisor(t)
	t.Setenv("WATCHDOG_USEC", strconv.Itoa(int((30 * time.Millisecond).Microseconds())))
	var sick atomic.Bool
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	service{log: slog.New(slog.DiscardHandler), check: func(context.Context) error {
		if sick.Load() {
			return errors.New("hangs")
		}
		return nil
	}}.run(ctx)
	if got := hear(); got != "READY=1" {
		t.Fatalf("first %q", got)
	}
	for range 3 {
		if got := hear(); got != "WATCHDOG=1" {
			t.Fatalf("while it works %q", got)
		}
	}
	sick.Store(true)
	cancel()
	for got := ""; got != "STOPPING=1"; {
		if got = hear(); got != "WATCHDOG=1" && got != "STOPPING=1" {
			t.Fatalf("at the end %q", got)
		}
	}
}

// A full disk is no reason for a restart; a node or a store that does not answer
// is.
func TestAlive(t *testing.T) {
	for _, c := range []struct {
		err  error
		want bool
	}{
		{nil, true},
		{fmt.Errorf("%w: the disk is full", feedtree.ErrStore), true},
		{fmt.Errorf("%w: %w", feedtree.ErrStore, context.DeadlineExceeded), false},
		{fmt.Errorf("the node does not answer: %w", context.DeadlineExceeded), false},
		{feedtree.ErrClosed, false},
	} {
		s := service{log: slog.New(slog.DiscardHandler), check: func(context.Context) error { return c.err }}
		if got := s.alive(t.Context(), time.Minute); got != c.want {
			t.Errorf("%v: alive is %v", c.err, got)
		}
	}
	hangs := service{log: slog.New(slog.DiscardHandler), check: func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }}
	if hangs.alive(t.Context(), time.Millisecond) {
		t.Error("a check that hangs counts as alive")
	}
}
