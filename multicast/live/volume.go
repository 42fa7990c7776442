package live

import (
	"sync/atomic"

	"github.com/feedtree/feedtree/multicast/tree"
)

// volume is how many bytes of messages were sent, by type: what a quiet node spends is
// not what it carries.
type volume [256]atomic.Uint64

func (v *volume) add(t tree.Type, bytes int) { v[t].Add(uint64(bytes)) }

// into adds what there is to a node's counters.
func (v *volume) into(counts map[string]uint64) {
	for t := range v {
		if n := v[t].Load(); n > 0 {
			counts["tree_sent_"+tree.Type(t).String()+"_bytes"] = n
		}
	}
}
