package tree

import (
	"testing"
	"unsafe"
)

// A simulator has a million nodes, with a dozen pairs each and as many messages on their way
// at once. What they are made of fills what Go hands out for it, of more than 512 bytes with
// eight for itself: a byte more would cost all of them the next size.
func TestWhatThereAreMillionsOfFillsItsSize(t *testing.T) {
	if unsafe.Sizeof(uintptr(0)) != 8 {
		t.Skip("the sizes are those of 64 bits")
	}
	for what, size := range map[string][2]uintptr{
		"node":    {unsafe.Sizeof(Node{}), 896 - 8},
		"group":   {unsafe.Sizeof(group{}), 768 - 8},
		"line":    {unsafe.Sizeof(line{}), 416},
		"pair":    {unsafe.Sizeof(pair{}), 160},
		"message": {unsafe.Sizeof(Message{}), 240},
	} {
		if size[0] > size[1] {
			t.Errorf("a %s takes %d bytes, and had room in %d", what, size[0], size[1])
		}
	}
}
