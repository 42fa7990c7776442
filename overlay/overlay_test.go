package overlay_test

import (
	"fmt"
	"testing"
	"testing/quick"

	"github.com/feedtree/feedtree/overlay"
)

func ExampleKey_Closer() {
	key := overlay.KeyOf([]byte("a group"))
	a, b := overlay.ID("node a"), overlay.ID("node b")
	if key.Closer(b.Key(), a.Key()) {
		a, b = b, a
	}
	fmt.Println(key.Closer(a.Key(), b.Key()), key.Closer(b.Key(), a.Key()), key.Closer(a.Key(), a.Key()))
	// Output: true false false
}

func TestCommonPrefix(t *testing.T) {
	base := overlay.Key{}
	for _, tc := range []struct {
		byteAt int
		value  byte
		want   int
	}{
		{0, 0x80, 0}, {0, 0x01, 7}, {1, 0x80, 8}, {31, 0x01, 255}, {0, 0x00, 256},
	} {
		other := base
		other[tc.byteAt] = tc.value
		if got := base.CommonPrefix(other); got != tc.want {
			t.Errorf("byte %d = %#x: common prefix %d, want %d", tc.byteAt, tc.value, got, tc.want)
		}
	}
}

// XOR is a metric with one point at each distance (Maymounkov and Mazières,
// 2002, §2.1): symmetric, zero only for equal keys, and for every key and
// distance there is exactly one key.
func TestXORMetric(t *testing.T) {
	metric := func(a, b, c overlay.Key) bool {
		symmetric := a.Distance(b) == b.Distance(a)
		identity := a.Distance(a) == overlay.Key{}
		unidirectional := a.Distance(a.Distance(b)) == b
		total := a.Closer(b, c) != a.Closer(c, b) || b == c
		return symmetric && identity && unidirectional && total
	}
	if err := quick.Check(metric, nil); err != nil {
		t.Fatal(err)
	}
}
