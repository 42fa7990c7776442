package live

import (
	"bytes"
	"testing"

	"github.com/feedtree/feedtree/multicast"
	"github.com/feedtree/feedtree/multicast/tree"
	"google.golang.org/protobuf/encoding/protowire"
)

// An event is not copied for each neighbour that it is sent to.
func TestAnEventIsSentFromWhereItIs(t *testing.T) {
	body := make([]byte, 5000)
	frames, err := encode(&tree.Message{Type: tree.Data, Group: groupA, Edge: 1, Event: &multicast.Event{Body: body}}, nowhere)
	if err != nil || len(frames) != 1 || !same(frames[0].event, body) || len(frames[0].head) > 100 {
		t.Fatalf("%d frames, %v", len(frames), err)
	}
}

// An event stays where it arrived, unless its sender made the frame much longer: then
// holding the event must not hold the rest.
func TestAnEventHoldsLittleMoreThanItself(t *testing.T) {
	frames, err := encoded(&tree.Message{Type: tree.Data, Group: groupA, Event: &multicast.Event{Body: make([]byte, 5000)}}, nowhere)
	if err != nil {
		t.Fatal(err)
	}
	padded := protowire.AppendBytes(protowire.AppendTag(bytes.Clone(frames[0]), 1000, protowire.BytesType), make([]byte, 1<<20))
	for _, frame := range [][]byte{frames[0], padded} {
		m, _, why := decode(frame)
		if why != "" || len(m.Event.Body) != 5000 || cap(m.Event.Body) > 6000 {
			t.Fatalf("%q: %d bytes of %d", why, len(m.Event.Body), cap(m.Event.Body))
		}
		frame[len(frames[0])/2] ^= 1
		if shared, want := m.Event.Body[len(frames[0])/2-(len(frames[0])-5000)] != 0, len(frame) == len(frames[0]); shared != want {
			t.Errorf("of a frame of %d bytes: the event is the frame's own bytes: %v", len(frame), shared)
		}
	}
}
