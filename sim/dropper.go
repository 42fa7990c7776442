package sim

import "github.com/feedtree/feedtree/multicast/tree"

// drop returns what a node that shirks lets out of a message it wants to send,
// nil for nothing: it answers, acknowledges and keeps alive, and says of no
// event that it exists. What it publishes itself it does not send either.
func drop(m *tree.Message) *tree.Message {
	if m.Event != nil {
		return nil
	}
	bare := *m
	bare.Heads, bare.Entries = nil, nil
	for _, e := range m.Entries {
		if m.Type == tree.Heads && e.Flags&tree.Fresh == 0 {
			continue // it would say nothing but heads
		}
		e.Heads = nil
		bare.Entries = append(bare.Entries, e)
	}
	if m.Type == tree.Heads && len(bare.Entries) == 0 {
		return nil
	}
	return &bare
}
