package sim

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// MatrixLanes parts the places of a Matrix among n lanes, as evenly as leaves them far
// enough apart: rows that are close to each other stay together. With fewer rows than
// lanes there is one.
func MatrixLanes(oneWay [][]time.Duration, n int) Lanes {
	if n < 2 || len(oneWay) < n {
		return Lanes{}
	}
	lane, apart := partRows(oneWay, n)
	size := uint64(len(oneWay))
	return Lanes{Count: n, Apart: apart, Of: func(place uint64) int { return lane[place%size] }}
}

// partRows joins the rows that are nearest to each other, pair by pair, and deals the
// clusters that there are at each step among n lanes. It returns the lane of each row
// where that came out most evenly, of what is far enough apart, and how far.
func partRows(oneWay [][]time.Duration, n int) (lane []int, apart time.Duration) {
	cluster := make([]int, len(oneWay)) // by row
	for i := range cluster {
		cluster[i] = i
	}
	rows := len(oneWay)
	for {
		dealt, most := deal(cluster, n)
		a, b, d := nearestRows(oneWay, cluster)
		if a < 0 || most == len(oneWay) {
			return lane, apart
		}
		if lane == nil || apart < walkAfter || most <= rows {
			lane, apart, rows = dealt, d, most
		}
		for i, c := range cluster {
			if c == b {
				cluster[i] = a
			}
		}
	}
}

// nearestRows returns the two clusters that are nearest to each other, and how near;
// -1 if there is only one.
func nearestRows(oneWay [][]time.Duration, cluster []int) (a, b int, apart time.Duration) {
	a, b, apart = -1, -1, math.MaxInt64
	for i := range oneWay {
		for j, d := range oneWay[i] {
			if cluster[i] != cluster[j] && d < apart {
				a, b, apart = cluster[i], cluster[j], d
			}
		}
	}
	return a, b, apart
}

// deal gives each cluster, the largest first, to the lane that has fewest rows, and
// returns the lane of each row and the most that one has.
func deal(cluster []int, n int) (lane []int, most int) {
	size := make([]int, len(cluster))
	order := make([]int, len(cluster))
	for i, c := range cluster {
		size[c]++
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(size[b], size[a]) })
	rows, of := make([]int, n), make([]int, len(cluster))
	for _, c := range order {
		least := slices.Index(rows, slices.Min(rows))
		of[c] = least
		rows[least] += size[c]
	}
	lane = make([]int, len(cluster))
	for i, c := range cluster {
		lane[i] = of[c]
	}
	return lane, slices.Max(rows)
}

// Lanes parts the places of the topology among n lanes by their transit routers.
func (t *Topology) Lanes(n int) Lanes {
	if n < 2 || n > transitRouters {
		return Lanes{}
	}
	gate := slices.Repeat([]time.Duration{math.MaxInt64}, transitRouters)
	for d, g := range t.gates {
		gate[d/routerStubs] = min(gate[d/routerStubs], g.delay)
	}
	lane := func(router int) int { return router * n / transitRouters }
	least := time.Duration(math.MaxInt64)
	for a := range transitRouters {
		for b := range transitRouters {
			if lane(a) != lane(b) {
				least = min(least, 2*lanDelay+gate[a]+t.core.at(a, b)+gate[b])
			}
		}
	}
	return Lanes{Count: n, Apart: least, Of: func(place uint64) int {
		d, _ := t.stub(place)
		return lane(d / routerStubs)
	}}
}
