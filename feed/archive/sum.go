package archive

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
)

// sumOf is the checksum of a row: over the name of its table and all its values
// but the checksum itself, each with its type and length. It finds what a disk or
// memory did by accident; whoever can write the file can also write the checksum.
//
//	table ‖ 0 ‖ { 'n' | 'i' int64 | 'f' float64 | 'b' len uint32 bytes | 's' len uint32 bytes }…
//
// The first 63 bits of SHA-256 of this, as a number that is not negative.
func sumOf(table string, values ...any) int64 {
	b := make([]byte, 0, 512)
	b = append(append(b, table...), 0)
	for _, value := range values {
		switch v := value.(type) {
		case nil:
			b = append(b, 'n')
		case int64:
			b = binary.BigEndian.AppendUint64(append(b, 'i'), uint64(v))
		case float64:
			b = binary.BigEndian.AppendUint64(append(b, 'f'), math.Float64bits(v))
		case []byte:
			b = append(binary.BigEndian.AppendUint32(append(b, 'b'), uint32(len(v))), v...)
		case string:
			b = append(binary.BigEndian.AppendUint32(append(b, 's'), uint32(len(v))), v...)
		default:
			panic(fmt.Sprintf("archive: a value of type %T has no checksum", v))
		}
	}
	return head(sha256.Sum256(b))
}

func head(sum [32]byte) int64 { return int64(binary.BigEndian.Uint64(sum[:8]) >> 1) }

// nameOf is what an item is looked up by: short where keys are long. Keys that
// share it are told apart by themselves.
func nameOf(key string) int64 { return head(sha256.Sum256([]byte(key))) }

// whole reports whether a row that ends with its checksum is as it was written.
func whole(table string, row []any) bool {
	last := len(row) - 1
	return row[last] == any(sumOf(table, row[:last]...))
}
