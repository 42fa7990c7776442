package feedtree

import "context"

// LimitUpload sets how many bytes the node may send to others in an hour, until it is
// closed; 0 is as many as it takes. Near the limit it is nobody's parent any more, and
// what it publishes itself goes on.
func (n *Node) LimitUpload(_ context.Context, bytes int64) error {
	n.net.LimitUpload(uint64(max(bytes, 0)))
	n.watchers.tell()
	return nil
}
