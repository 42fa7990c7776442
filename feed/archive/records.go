package archive

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/feedtree/feedtree/feed/store"
)

// The columns of each table that its rows' checksums cover, in their order, and
// the checksum. What a write gives and a read gets is in the same order.
const (
	feedColumns = `id, url, grp, asked, read, content_type, etag, last_modified, fetched, not_before,
		interval, moved, local, pin, pin_how, pin_since, cert, failure, origin, sum`
	documentColumns = `feed, body, sum`
	envelopeColumns = `arrival, grp, source, epoch, seq, beat, until, kept, size, wire, sum`
	cursorColumns   = `moved, grp, source, epoch, seq, sum`
	lineColumns     = `grp, source, epoch, seq, head, beat, sum`
	peerColumns     = `id, addrs, seen, sum`
	settingColumns  = `name, value, sum`
)

// summed ends the values of a row with its checksum.
func summed(table string, values ...any) []any { return append(values, sumOf(table, values...)) }

func feedRow(id int64, f store.Feed) []any {
	return summed("feeds", id, f.URL, f.Group[:], millis(f.Asked), millis(f.Read), f.ContentType, f.Validators.ETag,
		f.Validators.LastModified, millis(f.Fetched), millis(f.NotBefore), int64(f.Interval), f.Moved, f.Local,
		f.Pin.Fingerprint[:], f.Pin.How, millis(f.Pin.Since), orNull(f.Cert), f.Failure, orNull(f.Origin))
}

func feedOf(row []any) store.Feed {
	f := store.Feed{URL: row[1].(string), Group: as32(row[2]), Asked: since(row[3]), Read: since(row[4]), ContentType: row[5].(string)}
	f.Validators = store.Validators{ETag: row[6].(string), LastModified: row[7].(string)}
	f.Fetched, f.NotBefore, f.Interval = since(row[8]), since(row[9]), time.Duration(row[10].(int64))
	f.Moved, f.Local = row[11].(string), row[12].(string)
	f.Pin = store.Pin{Fingerprint: as32(row[13]), How: row[14].(string), Since: since(row[15])}
	f.Cert, _ = row[16].([]byte)
	f.Failure = row[17].(string)
	f.Origin, _ = row[18].([]byte)
	return f
}

func envelopeRow(arrival int64, e store.Envelope, kept bool) []any {
	return summed("envelopes", arrival, e.Group[:], e.Source[:], int64(e.Epoch), int64(e.Seq), int64(e.Beat), millis(e.Until),
		flag(kept), int64(len(e.Wire)), blob(e.Wire))
}

func envelopeOf(row []any) store.Envelope {
	return store.Envelope{Group: as32(row[1]), Source: as32(row[2]), Epoch: uint64(row[3].(int64)), Seq: uint64(row[4].(int64)),
		Beat: uint64(row[5].(int64)), Until: since(row[6]), Wire: row[9].([]byte)}
}

func cursorRow(moved int64, c store.Cursor) []any {
	return summed("cursors", moved, c.Group[:], c.Source[:], int64(c.Epoch), int64(c.Seq))
}

func cursorOf(row []any) store.Cursor {
	return store.Cursor{Group: as32(row[1]), Source: as32(row[2]), Epoch: uint64(row[3].(int64)), Seq: uint64(row[4].(int64))}
}

func lineRow(l store.Line) []any {
	return summed("lines", l.Group[:], l.Source[:], int64(l.Epoch), int64(l.Seq), l.Head[:], int64(l.Beat))
}

func lineOf(row []any) store.Line {
	return store.Line{Group: as32(row[0]), Source: as32(row[1]), Epoch: uint64(row[2].(int64)), Seq: uint64(row[3].(int64)),
		Head: as32(row[4]), Beat: uint64(row[5].(int64))}
}

func peerRow(p store.Peer, most int) []any {
	addrs, err := json.Marshal(slices.Concat([]string{}, p.Addrs[:min(len(p.Addrs), most)]))
	if err != nil {
		panic("archive: strings that are no JSON: " + err.Error())
	}
	return summed("peers", []byte(p.ID), string(addrs), millis(p.Seen))
}

func peerOf(row []any) (store.Peer, error) {
	p := store.Peer{ID: string(row[0].([]byte)), Seen: since(row[2])}
	if err := json.Unmarshal([]byte(row[1].(string)), &p.Addrs); err != nil {
		return p, fmt.Errorf("addresses of peer %x: %w", p.ID, err)
	}
	return p, nil
}

func settingRow(name string, value []byte) []any { return summed("settings", name, blob(value)) }
