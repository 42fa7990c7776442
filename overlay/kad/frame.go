package kad

import (
	"bufio"
	"encoding/binary"
	"io"
	"sync"

	"github.com/libp2p/go-libp2p/core/network"
)

// MaxFrame is the longest frame there is: an envelope with its largest payload,
// and room for the message around it.
const MaxFrame = 1<<20 + 64<<10

// lengthBytes is how long the varint of a length at most is.
const lengthBytes = 3

// step is how much memory a frame gets before its bytes are there.
const step = 64 << 10

// A frameError is why a stream's bytes are no frames. It says under which
// counter that goes.
type frameError struct {
	reason counter
	text   string
}

func (e *frameError) Error() string { return e.text }

var (
	errOversize  = &frameError{refusedOversize, "a frame longer than the limit"}
	errMalformed = &frameError{refusedMalformed, "a frame length that is empty or not in its shortest form"}
	errTruncated = &frameError{refusedTruncated, "the stream ended inside a frame"}
	errSlow      = &frameError{refusedSlow, "a frame did not arrive in time"}
	errMemory    = &frameError{refusedMemory, "no memory left for a frame"}
)

// arrived reports whether a whole frame waits in r.
func arrived(r *bufio.Reader) bool {
	b, _ := r.Peek(min(r.Buffered(), lengthBytes))
	length, n := binary.Uvarint(b)
	return n > 0 && length <= uint64(r.Buffered()-n)
}

// readFrame reads a frame. The memory of one longer than step is reserved, and stays so
// unless there is an error.
func readFrame(r *bufio.Reader, scope network.StreamScope) ([]byte, error) {
	length, err := readLength(r)
	if err != nil {
		return nil, err
	}
	if length <= step {
		return readBody(r, length)
	}
	if scope.ReserveMemory(length, network.ReservationPriorityMedium) != nil {
		return nil, errMemory
	}
	frame, err := readBody(r, length)
	if err != nil {
		scope.ReleaseMemory(length)
	}
	return frame, err
}

// readLength reads the length in front of a frame. io.EOF means that the stream
// ended where a frame may begin. The shortest form is the only one, so that a
// frame has one encoding.
func readLength(r *bufio.Reader) (int, error) {
	var length uint64
	for i := range lengthBytes {
		b, err := r.ReadByte()
		switch {
		case err == io.EOF && i > 0:
			return 0, errTruncated
		case err != nil:
			return 0, err
		}
		length |= uint64(b&0x7f) << (7 * i)
		if b&0x80 != 0 {
			continue
		}
		if b == 0 {
			return 0, errMalformed // empty, or a last byte that adds nothing
		}
		if length > MaxFrame {
			return 0, errOversize
		}
		return int(length), nil
	}
	return 0, errOversize
}

// readBody reads the length bytes of a frame into memory of its own. It never
// holds more than step bytes beyond twice what has arrived.
func readBody(r *bufio.Reader, length int) ([]byte, error) {
	frame := make([]byte, 0, min(length, step))
	for len(frame) < length {
		if len(frame) == cap(frame) {
			grown := make([]byte, len(frame), min(length, 2*cap(frame)))
			copy(grown, frame)
			frame = grown
		}
		n, err := io.ReadFull(r, frame[len(frame):cap(frame)])
		frame = frame[:len(frame)+n]
		switch {
		case err == io.EOF || err == io.ErrUnexpectedEOF:
			return nil, errTruncated
		case err != nil:
			return nil, err
		}
	}
	return frame, nil
}

// A parcel is a frame to send, in parts: what many neighbours are sent is there once,
// however many of them are slow to take it.
type parcel [][]byte

func (p parcel) len() (n int) {
	for _, part := range p {
		n += len(part)
	}
	return n
}

// scratch is memory to put frames together in.
var scratch = sync.Pool{New: func() any { return new([]byte) }}

// writeFrames writes frames, each with its length in front, in one call: a stream makes
// packets of what it is given at once. A part that is large goes by itself, not copied.
func writeFrames(w io.Writer, frames []parcel) error {
	whole := scratch.Get().(*[]byte)
	defer scratch.Put(whole)
	b := (*whole)[:0]
	for _, frame := range frames {
		b = binary.AppendUvarint(b, uint64(frame.len()))
		for _, part := range frame {
			if len(part) <= batchBytes {
				b = append(b, part...)
				continue
			}
			if _, err := w.Write(b); err != nil {
				return err
			}
			if _, err := w.Write(part); err != nil {
				return err
			}
			b = b[:0]
		}
	}
	*whole = b
	if len(b) == 0 {
		return nil
	}
	_, err := w.Write(b)
	return err
}

func size(frames []parcel) (n int) {
	for _, frame := range frames {
		n += frame.len()
	}
	return n
}
