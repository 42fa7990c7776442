package live

import (
	"testing"
	"time"

	"github.com/feedtree/feedtree/multicast/tree"
)

// What one frame costs before it is stepped: an event that is new, one that
// came before, and a message without an event.
func BenchmarkAdmit(b *testing.B) {
	id := identity(b, 1)
	run := func(name string, frame func(i int) []byte) {
		b.Run(name, func(b *testing.B) {
			var g gate
			frames := make([][]byte, 2048) // more than are remembered
			for i := range frames {
				frames[i] = frame(i)
			}
			now := time.Now()
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if _, _, ok := g.admit(now, "p", frames[i%len(frames)]); !ok {
					b.Fatal(g.refused.All())
				}
			}
		})
	}
	run("new", func(i int) []byte { return dataOf(b, groupA, news(b, id, groupA, uint64(i)+1)) })
	run("again", func(int) []byte { return dataOf(b, groupA, news(b, id, groupA, 1)) })
	run("ping", func(int) []byte { return frameOf(b, &tree.Message{Type: tree.Ping}) })
}
