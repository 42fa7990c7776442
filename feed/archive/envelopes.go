package archive

import (
	"context"
	"slices"
	"time"

	"github.com/feedtree/feedtree/feed/store"
)

const insertEnvelope = `INSERT INTO envelopes (` + envelopeColumns + `) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`

func (t *transaction) putEnvelope(e store.Envelope) {
	e.Until = store.Kept(e.Until)
	if e.Beat != 0 {
		t.putBeat(e)
		return
	}
	latest := false
	t.held(func(row []any, whole bool) {
		kept, _ := row[7].(int64)
		switch latest = whole && kept == 0; {
		case latest:
			t.lengthen(row, e.Until)
		case whole:
			e.Wire = envelopeOf(row).Wire // the first one stands, and is among the latest again
		}
	}, `grp = ? AND source = ? AND epoch = ? AND seq = ? AND beat = 0`, e.Group[:], e.Source[:], int64(e.Epoch), int64(e.Seq))
	if latest {
		return
	}
	t.exec(`DELETE FROM envelopes WHERE grp = ? AND source = ? AND epoch = ? AND seq = ? AND beat = 0`,
		e.Group[:], e.Source[:], int64(e.Epoch), int64(e.Seq))
	t.insertEnvelope(e)
	for t.err == nil {
		source, over := t.limits.Fullest(t.shares(e.Group))
		if !over {
			return
		}
		t.retire(e.Group, source)
	}
}

// held calls do with the envelopes of a place, of which there is one at most. It
// may write: the rows are all read by then.
func (t *transaction) held(do func(row []any, whole bool), where string, args ...any) {
	var found []any
	var sound bool
	t.rows("envelopes", func(row []any, whole bool) { found, sound = row, whole },
		`SELECT `+envelopeColumns+` FROM envelopes WHERE `+where, args...)
	if found != nil && t.err == nil {
		do(found, sound)
	}
}

// retire takes a source's first event out of the latest of a group. It stays as
// long as it proves an item.
func (t *transaction) retire(group, source [32]byte) {
	t.held(func(row []any, whole bool) {
		t.exec(`DELETE FROM envelopes WHERE arrival = ?`, row[0])
		var proves int64
		if e := (store.Envelope{}); whole {
			e = envelopeOf(row)
			if t.one([]any{&proves}, `SELECT count(*) FROM feeds JOIN items ON feed = id WHERE grp = ? AND items.epoch = ? AND items.seq = ?
				AND items.source = ? AND items.source <> x''`, e.Group[:], int64(e.Epoch), int64(e.Seq), e.Source[:]) && proves > 0 {
				e.Until = time.Time{}
				t.exec(insertEnvelope, envelopeRow(row[0].(int64), e, true)...)
			}
		}
	}, `grp = ? AND source = ? AND beat = 0 AND NOT kept ORDER BY epoch < 0, epoch, seq < 0, seq LIMIT 1`, group[:], source[:])
}

// putBeat keeps a heartbeat if it is its source's latest.
func (t *transaction) putBeat(e store.Envelope) {
	stands := false
	t.held(func(row []any, whole bool) {
		if whole {
			have := envelopeOf(row)
			switch c := have.Compare(e); {
			case c == 0:
				t.lengthen(row, e.Until)
				stands = true
				return
			case c > 0:
				stands = true
				return
			}
			e.Until = store.Longer(have.Until, e.Until)
		}
		t.exec(`DELETE FROM envelopes WHERE arrival = ?`, row[0])
	}, `grp = ? AND source = ? AND beat <> 0`, e.Group[:], e.Source[:])
	if stands {
		return
	}
	t.insertEnvelope(e)
	t.exec(`DELETE FROM envelopes WHERE arrival IN (SELECT arrival FROM envelopes
		WHERE grp = ? AND beat <> 0 ORDER BY arrival DESC LIMIT -1 OFFSET ?)`, e.Group[:], t.limits.Sources)
}

func (t *transaction) insertEnvelope(e store.Envelope) {
	t.exec(insertEnvelope, envelopeRow(t.newID("envelopes"), e, false)...)
}

// lengthen gives a stored envelope the longer of two leases.
func (t *transaction) lengthen(row []any, asked time.Time) {
	e := envelopeOf(row)
	if until := store.Longer(e.Until, asked); !until.Equal(e.Until) {
		e.Until = until
		next := envelopeRow(row[0].(int64), e, false)
		t.exec(`UPDATE envelopes SET until = ?, sum = ? WHERE arrival = ?`, next[6], next[10], row[0])
	}
}

func (t *transaction) shares(group [32]byte) []store.Share {
	var shares []store.Share
	var s store.Share
	var source []byte
	t.each(func() {
		copy(s.Source[:], source)
		shares = append(shares, s)
	}, []any{&source, &s.Count, &s.Bytes},
		`SELECT source, count(*), sum(size) FROM envelopes WHERE grp = ? AND beat = 0 AND NOT kept GROUP BY source`, group[:])
	return shares
}

// endLeases drops leased envelopes until they are within their limit, if the
// batch brought some.
func (t *transaction) endLeases(batch []store.Envelope) {
	if !slices.ContainsFunc(batch, func(e store.Envelope) bool { return !e.Until.IsZero() }) {
		return
	}
	var held int64
	t.one([]any{&held}, `SELECT coalesce(sum(size), 0) FROM envelopes WHERE until IS NOT NULL`)
	for t.err == nil && held > t.limits.LeasedBytes {
		var size int64
		t.one([]any{&size}, `DELETE FROM envelopes WHERE arrival = (SELECT arrival FROM envelopes WHERE until IS NOT NULL
			ORDER BY until, grp, source, epoch < 0, epoch, seq < 0, seq, beat < 0, beat LIMIT 1) RETURNING size`)
		held -= size
	}
}

func (t *transaction) putCursor(c store.Cursor) {
	ahead := false
	t.rows("cursors", func(row []any, whole bool) { ahead = whole && !cursorOf(row).Before(c) },
		`SELECT `+cursorColumns+` FROM cursors WHERE grp = ? AND source = ?`, c.Group[:], c.Source[:])
	if ahead {
		return
	}
	t.exec(`INSERT OR REPLACE INTO cursors (`+cursorColumns+`) VALUES (?, ?, ?, ?, ?, ?)`, cursorRow(t.newID("cursors"), c)...)
	t.exec(`DELETE FROM cursors WHERE moved IN (SELECT moved FROM cursors WHERE grp = ? ORDER BY moved DESC LIMIT -1 OFFSET ?)`,
		c.Group[:], t.limits.Sources)
}

// Envelopes implements store.Store.
func (a *Archive) Envelopes(ctx context.Context, group [32]byte, limit int) ([]store.Envelope, error) {
	const latest = `SELECT ` + envelopeColumns + ` FROM envelopes WHERE grp = ? AND `
	events, err := a.envelopes(ctx, latest+`beat = 0 AND NOT kept ORDER BY arrival DESC LIMIT ?`, group[:], limit)
	if err != nil {
		return nil, err
	}
	slices.Reverse(events)
	store.InLine(events)
	beats, err := a.envelopes(ctx, latest+`beat <> 0 ORDER BY arrival`, group[:])
	if err != nil {
		return nil, err
	}
	return append(events, beats...), nil
}

// Proof returns the envelope in which an item came, which proves who said it. Of
// an item that was fetched there is none, nor of one whose envelope was let go.
func (a *Archive) Proof(ctx context.Context, item store.Item) (store.Envelope, bool, error) {
	found, err := a.envelopes(ctx, `SELECT `+envelopeColumns+` FROM envelopes WHERE beat = 0 AND source = ? AND epoch = ? AND seq = ?
		AND grp = (SELECT grp FROM feeds WHERE url = ?)`, item.Source[:], int64(item.Epoch), int64(item.Seq), item.Feed)
	if err != nil || len(found) == 0 {
		return store.Envelope{}, false, err
	}
	return found[0], true, nil
}

func (a *Archive) envelopes(ctx context.Context, query string, args ...any) ([]store.Envelope, error) {
	var found []store.Envelope
	err := a.readRows(ctx, "envelopes", func(row []any, whole bool) {
		if whole {
			found = append(found, envelopeOf(row))
		} else {
			a.withhold("envelopes", row[0])
		}
	}, query, args...)
	return found, err
}

// Leased implements store.Store.
func (a *Archive) Leased(ctx context.Context) ([][32]byte, error) {
	var groups [][32]byte
	var group []byte
	err := a.read(ctx, func() { groups = append(groups, as32(group)) }, []any{&group},
		`SELECT DISTINCT grp FROM envelopes WHERE until IS NOT NULL ORDER BY grp`)
	return groups, err
}

// Expire implements store.Store.
func (a *Archive) Expire(ctx context.Context, now time.Time) error {
	return a.write(ctx, func(t *transaction) {
		t.exec(`DELETE FROM envelopes WHERE until <= ?`, now.UnixMilli())
	})
}
