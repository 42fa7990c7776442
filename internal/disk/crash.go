package disk

import (
	"maps"
	"math/rand/v2"
	"slices"
)

const sector = 512

// Loss says what becomes of what was not synced.
type Loss uint8

// What a power failure can leave. Any of these a disk may do.
const (
	All   Loss = iota // all of it is lost
	None              // nothing of it is
	Parts             // each write is lost, kept, or kept in some of its sectors
)

// Platter is what is on a disk for certain, and what is under way to it.
type Platter struct {
	files   map[string][]byte
	own     map[string]bool // files that are the platter's to change
	pending map[string][]Op
}

// NewPlatter returns a disk that holds these files, all of them synced.
func NewPlatter(files map[string][]byte) *Platter {
	p := &Platter{files: maps.Clone(files), own: make(map[string]bool), pending: make(map[string][]Op)}
	if p.files == nil {
		p.files = make(map[string][]byte)
	}
	return p
}

// Step does the next operation of a log.
func (p *Platter) Step(op Op) {
	switch {
	case op.Kind == Mark:
	case op.Kind == Sync:
		if slices.ContainsFunc(p.pending[op.Path], func(o Op) bool { return o.Kind == Create }) {
			p.syncNames()
		}
		p.settle(op.Path, len(p.pending[op.Path]))
	case op.Kind == Delete && op.Offset == 1:
		delete(p.pending, op.Path)
		p.apply(op)
	default:
		p.pending[op.Path] = append(p.pending[op.Path], op)
	}
}

// syncNames makes sure of all files that are gone, as the sync of a directory does.
func (p *Platter) syncNames() {
	for path, ops := range p.pending {
		for i, op := range slices.Backward(ops) {
			if op.Kind == Delete {
				p.settle(path, i+1)
				break
			}
		}
	}
}

// settle makes the first n operations under way to a file certain.
func (p *Platter) settle(path string, n int) {
	for _, op := range p.pending[path][:n] {
		p.apply(op)
	}
	if p.pending[path] = p.pending[path][n:]; len(p.pending[path]) == 0 {
		delete(p.pending, path)
	}
}

// AfterPowerLoss returns what the disk holds if the power fails now. The disk goes
// on from where it was.
func (p *Platter) AfterPowerLoss(loss Loss, rng *rand.Rand) map[string][]byte {
	left := NewPlatter(p.files)
	clear(p.own) // the two share what both do not change
	for _, path := range slices.Sorted(maps.Keys(p.pending)) {
		for _, op := range p.pending[path] {
			lost := loss == All || loss == Parts && rng.IntN(2) == 0
			if lost && op.Kind == Create {
				break // nor is there what was written to it
			}
			switch {
			case lost:
			case loss == Parts && op.Kind == Write && rng.IntN(4) == 0:
				left.torn(op, rng)
			default:
				left.apply(op)
			}
		}
	}
	return left.files
}

func (p *Platter) apply(op Op) {
	switch op.Kind {
	case Create:
		p.files[op.Path] = nil
	case Delete:
		delete(p.files, op.Path)
	case Truncate:
		p.files[op.Path], p.own[op.Path] = resized(p.files[op.Path], op.Offset), true
	case Write:
		b := p.files[op.Path]
		if end := max(int64(len(b)), op.Offset+int64(len(op.Data))); !p.own[op.Path] || int64(len(b)) < end {
			b, p.own[op.Path] = resized(b, end), true
		}
		copy(b[op.Offset:], op.Data)
		p.files[op.Path] = b
	}
}

// torn keeps some sectors of a write.
func (p *Platter) torn(op Op, rng *rand.Rand) {
	for from := 0; from < len(op.Data); {
		to := min(len(op.Data), from+sector-int((op.Offset+int64(from))%sector))
		if rng.IntN(2) == 0 {
			p.apply(Op{Kind: Write, Path: op.Path, Offset: op.Offset + int64(from), Data: op.Data[from:to]})
		}
		from = to
	}
}

func resized(b []byte, size int64) []byte {
	next := make([]byte, size)
	copy(next, b)
	return next
}
