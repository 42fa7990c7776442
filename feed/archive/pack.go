package archive

import (
	_ "embed"
	"fmt"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// How a document is stored.
const (
	plain int64 = iota
	zstd1       // zstd with the dictionary below
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

// packers are shared by all archives of the process: they hold no state of a file.
var packers = sync.OnceValue(func() (p struct {
	*zstd.Encoder
	*zstd.Decoder
}) {
	var err error
	p.Encoder, err = zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderCRC(false),
		zstd.WithEncoderDictRaw(dictionaryID, dictionary1), zstd.WithWindowSize(256<<10))
	if err == nil {
		p.Decoder, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecoderMaxMemory(mostUnpacked),
			zstd.WithDecoderDictRaw(dictionaryID, dictionary1))
	}
	if err != nil {
		panic("archive: the options of its compression: " + err.Error())
	}
	return p
})

// pack returns a document as it is stored.
func pack(doc []byte) (packed []byte, coding int64) {
	if packed = packers().EncodeAll(doc, make([]byte, 0, len(doc)/2+64)); len(packed) < len(doc) && len(doc) <= mostUnpacked {
		return packed, zstd1
	}
	return doc, plain
}

// unpack is the inverse of pack.
func unpack(packed []byte, coding, size int64) ([]byte, error) {
	switch {
	case coding == plain:
		return packed, nil
	case coding == zstd1 && 0 <= size && size <= mostUnpacked:
		return packers().DecodeAll(packed, make([]byte, 0, size))
	}
	return nil, fmt.Errorf("a document of %d bytes in coding %d", size, coding)
}
