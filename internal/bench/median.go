package bench

import (
	"cmp"
	"slices"
)

// median is the row of several runs of one backend: the median of each figure, of two in the middle
// the larger, the most of what is a most, and the sum of what is counted, so that no loss of any run is hidden.
func median(rows []Row) Row {
	m := rows[0]
	if len(rows) == 1 {
		return m
	}
	m.Runs = len(rows)
	for _, f := range []func(*Row) *float64{
		func(r *Row) *float64 { return &r.P50 }, func(r *Row) *float64 { return &r.P99 },
		func(r *Row) *float64 { return &r.Bytes }, func(r *Row) *float64 { return &r.CPU },
		func(r *Row) *float64 { return &r.RSS }, func(r *Row) *float64 { return &r.Join },
		func(r *Row) *float64 { return &r.Goroutines },
	} {
		all := make([]float64, len(rows))
		for i := range rows {
			all[i] = *f(&rows[i])
		}
		*f(&m) = quantile(all, 0.5)
	}
	for _, r := range rows[1:] {
		m.Expected, m.Delivered = m.Expected+r.Expected, m.Delivered+r.Delivered
		m.Max, m.Depth = max(m.Max, r.Max), max(m.Depth, r.Depth)
		m.Cut, m.Burst = m.Cut.and(r.Cut), m.Burst.and(r.Burst)
	}
	return m
}

// and adds the losses of two runs; nil: there were none to be had.
func (l *Losses) and(o *Losses) *Losses {
	if l == nil || o == nil {
		return l
	}
	return &Losses{
		l.Expected + o.Expected, l.Delivered + o.Delivered, l.Reported + o.Reported, l.Silent + o.Silent, max(l.Seconds, o.Seconds),
	}
}

// quantile returns the q-quantile; 0 of nothing.
func quantile[T cmp.Ordered](all []T, q float64) (none T) {
	if len(all) == 0 {
		return none
	}
	sorted := slices.Sorted(slices.Values(all))
	return sorted[min(int(q*float64(len(sorted))), len(sorted)-1)]
}
