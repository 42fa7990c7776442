package archive

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"

	"github.com/feedtree/feedtree/feed/store"
)

// ErrExport is what is wrong with a file that is to be imported.
var ErrExport = errors.New("not a whole export of an archive")

const (
	importBatch   = 500
	importBytes   = 16 << 20  // of items and envelopes in one transaction
	longestRecord = 512 << 20 // bytes that a file may make this program hold
)

// Prove reads an envelope by the keys of a feed, as its record has them. It returns
// the items that stand in the envelope, as whose word they are to be believed, or
// why the envelope is not to be kept at all.
type Prove func(feed store.Feed, e store.Envelope) ([]store.Item, error)

// Import merges an export into the archive: what is held already stays as it is,
// so that the same file again changes nothing. It is believed as an archive is, with
// its pins for feeds that are new here, but for what it says that publishers signed:
// an item becomes signed only by an envelope that proves it, in the words that
// stand there, and until then is unconfirmed. Cursors and lines of one's own only
// move forward. An import that fails or is interrupted leaves what it did by then;
// doing it again completes it.
func (a *Archive) Import(ctx context.Context, r io.Reader, prove Prove) (Exported, error) {
	unpacked, err := zstd.NewReader(r, zstd.WithDecoderMaxMemory(longestRecord))
	if err != nil {
		return Exported{}, err
	}
	defer unpacked.Close()
	in := &importing{a: a, ctx: ctx, lines: json.NewDecoder(unpacked), feeds: make(map[string]bool), prove: prove}
	var first record
	if err := in.lines.Decode(&first); err != nil || first.Kind != exportKind {
		return Exported{}, fmt.Errorf("%w: it does not begin as one", ErrExport)
	}
	if first.Version != exportVersion {
		return Exported{}, fmt.Errorf("%w: its format is %d, this version knows %d: use the newer version", ErrExport, first.Version, exportVersion)
	}
	for {
		var next record
		switch err := in.lines.Decode(&next); {
		case errors.Is(err, io.EOF):
			return in.held, errors.Join(in.flush(), fmt.Errorf("%w: it ends early, after %d items", ErrExport, in.held.Items))
		case err != nil:
			return in.held, errors.Join(in.flush(), fmt.Errorf("%w: after %d items: %w", ErrExport, in.held.Items, err))
		}
		if next.End != nil {
			return in.held, in.flush()
		}
		if err := in.take(next); err != nil {
			return in.held, err
		}
	}
}

// importing is an import in progress.
type importing struct {
	a      *Archive
	ctx    context.Context
	lines  *json.Decoder
	feeds  map[string]bool
	prove  Prove
	batch  store.Batch
	raised []store.Item // which envelopes of the batch prove
	bytes  int          // of both
	held   Exported
}

func (in *importing) take(r record) error {
	switch {
	case r.Feed != nil:
		return in.feed(*r.Feed)
	case r.Item != nil:
		if !in.feeds[r.Item.Feed] {
			return fmt.Errorf("%w: an item comes before its feed %.200q", ErrExport, r.Item.Feed)
		}
		in.item(*r.Item)
	case r.Envelope != nil:
		if len(in.batch.Items) > 0 { // what it proves comes first
			if err := in.flush(); err != nil {
				return err
			}
		}
		if err := in.envelope(*r.Envelope); err != nil {
			return err
		}
	default:
		in.held.Others++
		return in.other(r)
	}
	if in.bytes >= importBytes || len(in.batch.Items)+len(in.batch.Envelopes) >= importBatch {
		return in.flush()
	}
	return nil
}

func (in *importing) flush() error {
	b, raised := in.batch, in.raised
	in.batch, in.raised, in.bytes = store.Batch{}, nil, 0
	if _, err := in.a.Apply(in.ctx, b); err != nil {
		return err
	}
	return in.a.raise(in.ctx, raised)
}

// feed takes a feed's record if there is none: what is known here is newer, and a
// pin is never moved.
func (in *importing) feed(f store.Feed) error {
	in.feeds[f.URL] = true
	in.held.Feeds++
	_, ok, err := in.a.Feed(in.ctx, f.URL)
	if err != nil || ok {
		return err
	}
	_, err = in.a.Apply(in.ctx, store.Batch{Feed: &f})
	return err
}

func (in *importing) other(r record) error {
	if err := in.flush(); err != nil {
		return err
	}
	switch {
	case r.Cursor != nil:
		_, err := in.a.Apply(in.ctx, store.Batch{Cursors: []store.Cursor{*r.Cursor}})
		return err
	case r.Line != nil:
		_, err := in.a.Apply(in.ctx, store.Batch{Line: r.Line})
		if errors.Is(err, store.ErrLine) {
			return nil // it is further here
		}
		return err
	case r.Peer != nil:
		return in.a.PutPeers(in.ctx, []store.Peer{*r.Peer})
	case r.Setting != nil:
		_, ok, err := in.a.Setting(in.ctx, r.Setting.Name)
		if err != nil || ok {
			return err
		}
		return in.a.PutSetting(in.ctx, r.Setting.Name, r.Setting.Value)
	}
	return nil // of a kind that a later version of the same format may add
}
