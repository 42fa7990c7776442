package archive

import (
	"runtime"
	"sync"

	"github.com/feedtree/feedtree/feed/store"
)

// The columns of an item. Those before the checksum are covered by it, and the
// checksum's lowest bit is the flag current, which changes alone. body is the
// checksum of the document, which stands last so that it need not be read.
const (
	leafColumns = `seen, feed, key, hash, trust, source, epoch, seq, published, received, size, content_type, coding, body, current, sum`
	leafWidth   = 16
	itemColumns = leafColumns + `, doc`
)

// leaf is a version of an item with what its row says beyond the item.
type leaf struct {
	item    store.Item // without its document, except on the way in
	feed    int64
	current bool
	size    int64 // of the document as given
	coding  int64
	body    int64
	packed  []byte
	words   []byte // what a search finds it by
}

// prepare does for items what needs no database, by all processors but the one
// that the writer has for itself if there is one: what waits for it is the rest.
func (a *Archive) prepare(items []store.Item) []leaf {
	leaves := make([]leaf, len(items))
	processors := max(1, runtime.GOMAXPROCS(0)-a.writer.Stats().InUse)
	share := max(16, (len(items)+processors-1)/processors)
	var all sync.WaitGroup
	for from := 0; from < len(items); from += share {
		to := min(from+share, len(items))
		work := func() {
			for i := from; i < to; i++ {
				leaves[i] = newLeaf(items[i])
			}
		}
		if to == len(items) {
			work()
			break
		}
		all.Go(work)
	}
	all.Wait()
	return leaves
}

func newLeaf(item store.Item) leaf {
	item.Published, item.Received = store.Kept(item.Published), store.Kept(item.Received)
	l := leaf{item: item, size: int64(len(item.Doc))}
	l.packed, l.coding = pack(item.Doc)
	l.body = sumOf("documents of items", blob(l.packed))
	l.words = searchable(item.Doc)
	return l
}

// row is a leaf's row in the order of itemColumns.
func (l leaf) row() []any {
	i := l.item
	row := []any{i.Seen, l.feed, []byte(i.Key), blob(i.Hash[:]), int64(i.Trust), key32(i.Source), int64(i.Epoch), int64(i.Seq),
		millis(i.Published), millis(i.Received), l.size, i.ContentType, l.coding, l.body}
	sum := sumOf("items", row...)&^1 | flag(l.current)
	return append(row, flag(l.current), sum, blob(l.packed))
}

// leafOf reads a row that begins with leafColumns, and says whether it is whole.
// The document is looked at by openLeaf.
func leafOf(row []any) (leaf, bool) {
	current, isFlag := row[leafWidth-2].(int64)
	sum, isSum := row[leafWidth-1].(int64)
	if !isFlag || !isSum || current>>1 != 0 || sum != sumOf("items", row[:leafWidth-2]...)&^1|current {
		return leaf{}, false
	}
	l := leaf{feed: row[1].(int64), current: current == 1, size: row[10].(int64), coding: row[12].(int64), body: row[13].(int64)}
	l.item = store.Item{Seen: row[0].(int64), Key: string(row[2].([]byte)), Hash: as32(row[3]), Trust: store.Trust(row[4].(int64)),
		Source: as32(row[5]), Epoch: uint64(row[6].(int64)), Seq: uint64(row[7].(int64)),
		Published: since(row[8]), Received: since(row[9]), ContentType: row[11].(string)}
	return l, true
}

// openLeaf reads a row of itemColumns, with the item's document.
func openLeaf(row []any) (leaf, bool) {
	l, ok := leafOf(row)
	packed, isBlob := row[leafWidth].([]byte)
	if !ok || !isBlob || sumOf("documents of items", packed) != l.body {
		return leaf{}, false
	}
	doc, err := unpack(packed, l.coding, l.size)
	if err != nil {
		return leaf{}, false
	}
	l.item.Doc, l.packed = doc, packed
	return l, true
}
