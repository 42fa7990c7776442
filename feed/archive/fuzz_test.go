package archive_test

import (
	"bytes"
	"errors"
	"path/filepath"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/feedtree/feedtree/feed/archive"
	"github.com/feedtree/feedtree/internal/fuzz"
)

// A file that somebody hands out as an export, in the lines of JSON that it unpacks
// to. What was imported of it is a sound archive.
func FuzzImport(f *testing.F) {
	const begin = `{"kind":"feedtree archive","version":1}` + "\n"
	f.Add([]byte(begin + `{"end":{}}`))
	f.Add([]byte(begin + `{"feed":{"URL":"https://x/"}}` + "\n" + `{"item":{"Feed":"https://x/","Key":"k","Doc":"PHJzcy8+","Trust":1}}` + "\n" +
		`{"envelope":{"Seq":1,"Wire":"eA=="}}` + "\n" + `{"cursor":{"Seq":1}}` + "\n" + `{"line":{"Seq":2}}` + "\n" + `{"peer":{"ID":"p"}}` + "\n" +
		`{"setting":{"name":"n","value":"dg=="}}` + "\n" + `{"end":{}}`))
	f.Add([]byte(begin + `{"item":{"Feed":"https://x/"}}`))
	f.Add([]byte(`{"kind":"feedtree archive","version":2}`))
	a, err := archive.Open(filepath.Join(f.TempDir(), "archive.db"))
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { a.Close() })
	pack, err := zstd.NewWriter(nil)
	if err != nil {
		f.Fatal(err)
	}
	fuzz.Hold(f, func(t *testing.T, lines []byte) {
		held, err := a.Import(t.Context(), bytes.NewReader(pack.EncodeAll(lines, nil)), believing)
		if err != nil && !errors.Is(err, archive.ErrExport) && held == (archive.Exported{}) {
			t.Errorf("nothing was held, and it is not the file's fault: %v", err)
		}
	})
}
