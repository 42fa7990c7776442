package kad

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"runtime"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p/core/network"

	"github.com/feedtree/feedtree/internal/fuzz"
)

// anything has memory for all.
var anything = &network.NullScope{}

func encode(frames ...[]byte) []byte {
	var parcels []parcel
	for _, frame := range frames {
		parcels = append(parcels, parcel{frame})
	}
	return encodeParts(parcels...)
}

func encodeParts(frames ...parcel) []byte {
	var b bytes.Buffer
	if err := writeFrames(&b, frames); err != nil {
		panic(err)
	}
	return b.Bytes()
}

// Frames that wait for one neighbour leave together, in their order, and a large one
// among them neither overtakes nor is overtaken.
func TestFramesLeaveTogether(t *testing.T) {
	ls := newLinks()
	var l *link
	for _, size := range []int{10, 20, batchBytes + 1, 30, batchBytes - 30, 1} {
		var err error
		if l, _, err = ls.push("p", parcel{make([]byte, size)}); err != nil {
			t.Fatal(err)
		}
	}
	var got [][]int
	for {
		var sizes []int
		for _, frame := range ls.pop(l, nil) {
			sizes = append(sizes, frame.len())
		}
		if sizes == nil {
			break
		}
		got = append(got, sizes)
	}
	if want := "[[10 20] [32769] [30 32738] [1]]"; fmt.Sprint(got) != want || ls.bytes != 0 {
		t.Errorf("%v, %d bytes left, want %s and none", got, ls.bytes, want)
	}
	r := bufio.NewReader(bytes.NewReader(encode(make([]byte, 10), make([]byte, 2*batchBytes), make([]byte, 20))))
	for _, want := range []int{10, 2 * batchBytes, 20} {
		if frame, err := readFrame(r, anything); err != nil || len(frame) != want {
			t.Errorf("%d bytes, %v; want %d", len(frame), err, want)
		}
	}
}

// A writer rests where frames follow each other within a second, and else ends at once.
func TestAWriterRestsOnlyInAStream(t *testing.T) {
	ls, now, writers := newLinks(), time.Now(), 0
	for i, x := range []struct {
		pause time.Duration // before the next frame
		then  next
	}{
		{0, end}, {10 * time.Second, end}, {restFor - 1, wait}, {100 * time.Millisecond, wait}, {restFor, end}, {10 * time.Second, end},
	} {
		now = now.Add(x.pause)
		if l := ls.byPeer["p"]; l != nil {
			l.tire(now)
		}
		l, start, err := ls.push("p", parcel{[]byte("x")})
		if err != nil {
			t.Fatal(err)
		}
		if start != nil {
			writers++
		}
		ls.pop(l, nil)
		if then := ls.finish(l, now); then != x.then || l.rests != (then == wait) || (l.wake != nil) != (then == wait) {
			t.Errorf("after frame %d the writer does %v, rests: %v, want %v", i, then, l.rests, x.then)
		}
	}
	if writers != 5 {
		t.Errorf("%d writers, want 5: one for each frame but the fourth", writers)
	}
}

// A frame that is sent in parts arrives as one, however large its parts are.
func TestPartsArriveAsOneFrame(t *testing.T) {
	large := bytes.Repeat([]byte("l"), batchBytes+1)
	frames := []parcel{{[]byte("head"), []byte("body")}, {[]byte("head"), large, nil}, {large, []byte("tail")}, {nil, []byte("alone")}}
	r := bufio.NewReader(bytes.NewReader(encodeParts(frames...)))
	for _, want := range frames {
		if frame, err := readFrame(r, anything); err != nil || !bytes.Equal(frame, bytes.Join(want, nil)) {
			t.Errorf("%d bytes, %v; want %d", len(frame), err, want.len())
		}
	}
	if _, err := readFrame(r, anything); err != io.EOF {
		t.Errorf("after the last frame: %v", err)
	}
}

func TestFrameSizes(t *testing.T) {
	for _, size := range []int{1, 127, 128, step - 1, step, step + 1, 3 * step, MaxFrame} {
		r := bufio.NewReader(bytes.NewReader(encode(make([]byte, size))))
		if frame, err := readFrame(r, anything); err != nil || len(frame) != size {
			t.Errorf("%d bytes: %d, %v", size, len(frame), err)
		}
		if _, err := readFrame(r, anything); err != io.EOF {
			t.Errorf("after the last frame: %v", err)
		}
	}
}

// The memory for a frame follows what arrives: an announcement alone is worth
// no more than one step.
func TestAnnouncedLengthCostsLittle(t *testing.T) {
	head := encode(make([]byte, MaxFrame))[:3]
	input := append(head, make([]byte, 100)...)
	const times = 20
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range times {
		if _, err := readFrame(bufio.NewReaderSize(bytes.NewReader(input), 16), anything); !errors.Is(err, errTruncated) {
			t.Fatal(err)
		}
	}
	runtime.ReadMemStats(&after)
	if got := (after.TotalAlloc - before.TotalAlloc) / times; got > 2*step {
		t.Errorf("%d bytes allocated for a frame that never came", got)
	}
}

func FuzzReadFrame(f *testing.F) {
	f.Add(encode([]byte("one"), []byte("two"), make([]byte, 200)))
	f.Add([]byte{0})
	f.Add([]byte{0x81, 0x00})
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0xff})
	f.Add([]byte{0x80})
	f.Add([]byte{5, 'a'})
	f.Add([]byte{0xff, 0xff, 0x43, 1, 2, 3})
	fuzz.Hold(f, func(t *testing.T, input []byte) {
		r := bufio.NewReader(bytes.NewReader(input))
		var frames [][]byte
		var err error
		for err == nil {
			var frame []byte
			if frame, err = readFrame(r, anything); err == nil {
				if len(frame) == 0 || len(frame) > MaxFrame {
					t.Fatalf("a frame of %d bytes", len(frame))
				}
				frames = append(frames, frame)
			}
		}
		var bad *frameError
		if err != io.EOF && !errors.As(err, &bad) {
			t.Fatalf("untyped error %v", err)
		}
		if back := encode(frames...); !bytes.HasPrefix(input, back) || err == io.EOF && len(back) != len(input) {
			t.Fatalf("%x reads as %x", input, back)
		}
	})
}
