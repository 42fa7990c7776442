package feedtree

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/feedtree/feedtree/feed/store"
	"github.com/feedtree/feedtree/overlay/kad"
)

// stuffed is a store whose disk can be full.
type stuffed struct {
	*store.Memory
	full atomic.Bool
}

var errNoSpace = errors.New("database or disk is full")

func (s *stuffed) Apply(ctx context.Context, b store.Batch) ([]store.Item, error) {
	if s.full.Load() {
		return nil, errNoSpace
	}
	return s.Memory.Apply(ctx, b)
}

func (s *stuffed) PutSetting(ctx context.Context, name string, value []byte) error {
	if s.full.Load() {
		return errNoSpace
	}
	return s.Memory.PutSetting(ctx, name, value)
}

func TestAFullDiskIsTold(t *testing.T) {
	s := &stuffed{Memory: store.NewMemory()}
	k := &kept{Store: s}
	ctx := context.Background()
	put := func() error { return k.PutSetting(ctx, "x", nil) }
	if err := put(); err != nil || k.fault() != "" {
		t.Fatal(err, k.fault())
	}
	s.full.Store(true)
	if err := put(); !errors.Is(err, errNoSpace) {
		t.Fatal(err)
	}
	if got := k.fault(); !strings.Contains(got, errNoSpace.Error()) || !strings.Contains(got, "served on") {
		t.Errorf("full: %q", got)
	}
	// Who asks for what is not there learns nothing about the disk.
	_ = k.wrote(store.ErrFeed)
	_ = k.wrote(context.Canceled)
	if !strings.Contains(k.fault(), errNoSpace.Error()) {
		t.Errorf("the fault became %q", k.fault())
	}
	s.full.Store(false)
	if err := put(); err != nil || k.fault() != "" {
		t.Errorf("with room again: %v, %q", err, k.fault())
	}
}

// Check says nil while the node works, names the store if only that fails, and
// fails when the node is closed.
func TestCheck(t *testing.T) {
	s := &stuffed{Memory: store.NewMemory()}
	ctx := t.Context()
	n, err := New(ctx, Config{Store: s, Overlay: kad.Config{
		Network: "health-test", Listen: []string{"/ip4/127.0.0.1/udp/0/quic-v1"}, NoMDNS: true, NoNAT: true, NoRendezvous: true,
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	if err := n.Check(ctx); err != nil {
		t.Errorf("a node that works: %v", err)
	}
	s.full.Store(true)
	if err := n.Check(ctx); !errors.Is(err, ErrStore) || !errors.Is(err, errNoSpace) {
		t.Errorf("with a full disk: %v", err)
	}
	if got := n.Status().Health.Store; got == "" {
		t.Error("the status does not tell of the full disk")
	}
	s.full.Store(false)
	n.retryStore(ctx)
	if got := n.Status().Health.Store; got != "" {
		t.Errorf("with room again the status tells of %q", got)
	}
	n.Close()
	if err := n.Check(ctx); !errors.Is(err, ErrClosed) {
		t.Errorf("closed: %v", err)
	}
}
