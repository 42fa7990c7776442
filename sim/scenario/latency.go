package scenario

import (
	"fmt"
	"os"
	"runtime"
	"sync"
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

// lanes parts a network among the processors there are.
func (l latency) lanes(n int) oversim.Lanes {
	if n == 0 {
		n = min(runtime.GOMAXPROCS(0), lanesMost)
	}
	var lanes oversim.Lanes
	if l.topology != nil {
		lanes = l.topology.Lanes(n)
	} else {
		lanes = oversim.MatrixLanes(l.matrix, n)
	}
	lanes.Do = atOnce
	return lanes
}

// lanesMost are as many as are still far enough apart.
const lanesMost = 8

// atOnce runs f(0) to f(n-1) on as many processors.
func atOnce(n int, f func(k int)) {
	var others sync.WaitGroup
	for k := 1; k < n; k++ {
		others.Go(func() { f(k) })
	}
	f(0)
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
