package archive

import (
	_ "embed"
	"fmt"
	"sync"

	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
)

// How a document is stored.
const (
	plain   int64 = iota
	zstd1         // zstd with the dictionary below: what the third schema wrote
	s2dict1       // S2 with the same: a third larger, in a fifth of the time
)

// dictionary1 is what documents of one item have in common. It is never changed:
// another one would be another coding.
//
//go:embed dictionary1.txt
var dictionary1 []byte

const (
	dictionaryID = 1
	mostUnpacked = 64 << 20 // bytes of one document
)

// packer and unpacker are shared by all archives of the process: they hold no state
// of a file.
var (
	packer = sync.OnceValue(func() *s2.Dict { return s2.MakeDict(dictionary1, nil) })

	unpacker = sync.OnceValue(func() *zstd.Decoder {
		d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecoderMaxMemory(mostUnpacked),
			zstd.WithDecoderDictRaw(dictionaryID, dictionary1))
		if err != nil {
			panic("archive: the options of its compression: " + err.Error())
		}
		return d
	})
)

// pack returns a document as it is stored.
func pack(doc []byte) (packed []byte, coding int64) {
	if len(doc) > mostUnpacked {
		return doc, plain
	}
	if packed = packer().Encode(nil, doc); len(packed) < len(doc) {
		return packed, s2dict1
	}
	return doc, plain
}

// unpack is the inverse of pack.
func unpack(packed []byte, coding, size int64) ([]byte, error) {
	switch {
	case coding == plain:
		return packed, nil
	case size < 0 || size > mostUnpacked:
	case coding == s2dict1:
		if n, err := s2.DecodedLen(packed); err != nil || int64(n) != size {
			break
		}
		return packer().Decode(make([]byte, size), packed)
	case coding == zstd1:
		return unpacker().DecodeAll(packed, make([]byte, 0, size))
	}
	return nil, fmt.Errorf("a document of %d bytes in coding %d", size, coding)
}
