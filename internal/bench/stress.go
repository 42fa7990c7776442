package bench

import (
	"context"
	"time"
)

// cut cuts the last node off while items go on, and counts what it gets of them.
func (r *run) cut(ctx context.Context) (*Losses, error) {
	node := r.config.Nodes - 1
	var events []sealed
	for range max(1, int(r.config.Cut.Seconds()*r.config.Rate)) {
		events = append(events, r.line.next(r.config.Size))
	}
	r.backend.cut(node, true)
	items, err := r.pace(ctx, "a member is cut off", events, 1/r.config.Rate)
	r.backend.cut(node, false)
	if err != nil {
		return nil, err
	}
	begin := time.Now()
	return r.losses(ctx, begin, items, node, node+1)
}

// burst publishes events as fast as they are taken.
func (r *run) burst(ctx context.Context) (*Losses, error) {
	var events []sealed
	for range r.config.Burst {
		events = append(events, r.line.next(256))
	}
	begin := time.Now()
	items, err := r.pace(ctx, "a burst", events, 0)
	if err != nil {
		return nil, err
	}
	return r.losses(ctx, begin, items, 1, r.config.Nodes)
}

// losses waits until the nodes from..to have all items or were told, going on to
// publish meanwhile, since only later items show what is missing.
func (r *run) losses(ctx context.Context, begin time.Time, items []*item, from, to int) (*Losses, error) {
	limit := time.Now().Add(2 * drain)
	for {
		l := &Losses{Expected: len(items) * (to - from)}
		r.mu.Lock()
		for _, it := range items {
			for node := from; node < to; node++ {
				switch {
				case it.got[node]:
					l.Delivered++
				case it.reported[node]:
					l.Reported++
				default:
					l.Silent++
				}
			}
		}
		l.Seconds = r.last.Sub(begin).Seconds()
		r.mu.Unlock()
		r.progress("find what is missing", l.Delivered+l.Reported, l.Expected)
		if l.Silent == 0 || time.Now().After(limit) {
			return l, nil
		}
		if _, err := r.say(ctx, r.line.next(64)); err != nil {
			return nil, err
		}
		if err := r.rest(ctx, time.Second); err != nil {
			return nil, err
		}
	}
}
