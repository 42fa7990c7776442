package scenario

import (
	"fmt"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	oversim "github.com/feedtree/feedtree/overlay/sim"
)

// access is the mean delay between a node and its place in the matrix.
const access = 5 * time.Millisecond

// A latency is a model of the network under the overlay.
type latency struct {
	name     string
	delay    oversim.Latency
	topology *oversim.Topology // nil of a matrix
	matrix   [][]time.Duration // nil of a topology
}

// lanes parts a network of so many nodes into n lanes; 0: as many as serve the processors
// there are.
func (l latency) lanes(n, nodes int) oversim.Lanes {
	if n == 0 {
		n = min(max(runtime.GOMAXPROCS(0), nodes/laneLeast), lanesMost)
	}
	var lanes oversim.Lanes
	if l.topology != nil {
		lanes = l.topology.Lanes(n)
	} else {
		lanes = oversim.MatrixLanes(l.matrix, min(n, len(l.matrix)/2))
	}
	lanes.Do = atOnce
	return lanes
}

// Several lanes to a processor, so that none waits for one whose lane had more to do; and
// who talks to whom is near in memory too. With sixteen instead of two a run of 100,000
// nodes takes a fifth less time. As many are still far enough apart.
const (
	lanesMost = 16
	laneLeast = 1000 // nodes: among fewer, waiting for each other costs more
)

// atOnce runs f(0) to f(n-1) on as many processors as there are: who has ended one begins
// the next.
func atOnce(n int, f func(k int)) {
	var begun atomic.Int32
	work := func() {
		for k := int(begun.Add(1)) - 1; k < n; k = int(begun.Add(1)) - 1 {
			f(k)
		}
	}
	var others sync.WaitGroup
	for range min(n, runtime.GOMAXPROCS(0)) - 1 {
		others.Go(work)
	}
	work()
	others.Wait()
}

// direct is the delay of one message straight from one place to another.
func (l latency) direct(from, to uint64) time.Duration { return l.delay(from, to, 1<<63) }

func readLatency(cfg Config) (latency, error) {
	if cfg.Latency == "transit-stub" {
		t := oversim.NewTransitStub(cfg.Seed)
		return latency{name: "transit-stub", delay: t.Latency(), topology: t}, nil
	}
	if cfg.MatrixFile == "" {
		m := oversim.SmallMatrix()
		return latency{name: fmt.Sprintf("matrix of %d cities", len(m)), delay: oversim.Matrix(m, access), matrix: m}, nil
	}
	f, err := os.Open(cfg.MatrixFile)
	if err != nil {
		return latency{}, fmt.Errorf("latency file: %w", err)
	}
	defer func() { _ = f.Close() }()
	m, err := oversim.ReadMatrix(f)
	if err != nil {
		return latency{}, fmt.Errorf("latency file %s: %w", cfg.MatrixFile, err)
	}
	return latency{name: fmt.Sprintf("matrix of %d measured hosts", len(m)), delay: oversim.Matrix(m, access), matrix: m}, nil
}
