package scenario

import (
	"fmt"
	"os"
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
		return latency{name: fmt.Sprintf("matrix of %d cities", len(m)), delay: oversim.Matrix(m, access)}, nil
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
	return latency{name: fmt.Sprintf("matrix of %d measured hosts", len(m)), delay: oversim.Matrix(m, access)}, nil
}
