package archive

import (
	"context"
	"database/sql"
	"slices"
	"time"

	"github.com/feedtree/feedtree/feed/store"
)

func (t *transaction) putEnvelope(e store.Envelope) {
	e.Until = store.Kept(e.Until)
	if e.Beat != 0 {
		t.putBeat(e)
		return
	}
	var arrival int64
	var until sql.NullInt64
	if t.one([]any{&arrival, &until}, `SELECT arrival, until FROM envelopes WHERE grp = ? AND source = ? AND epoch = ? AND seq = ? AND beat = 0`,
		e.Group[:], e.Source[:], int64(e.Epoch), int64(e.Seq)) {
		t.lengthen(arrival, since(until), e.Until)
		return
	}
	t.insertEnvelope(e)
	for t.err == nil {
		source, over := t.limits.Fullest(t.shares(e.Group))
		if !over {
			return
		}
		t.exec(`DELETE FROM envelopes WHERE arrival = (SELECT arrival FROM envelopes
			WHERE grp = ? AND source = ? AND beat = 0 ORDER BY epoch < 0, epoch, seq < 0, seq LIMIT 1)`, e.Group[:], source[:])
	}
}

// putBeat keeps a heartbeat if it is its source's latest.
func (t *transaction) putBeat(e store.Envelope) {
	var arrival, epoch, seq, beat int64
	var until sql.NullInt64
	if t.one([]any{&arrival, &epoch, &seq, &beat, &until}, `SELECT arrival, epoch, seq, beat, until FROM envelopes
		WHERE grp = ? AND source = ? AND beat <> 0`, e.Group[:], e.Source[:]) {
		held := store.Envelope{Epoch: uint64(epoch), Seq: uint64(seq), Beat: uint64(beat)}
		switch c := held.Compare(e); {
		case c == 0:
			t.lengthen(arrival, since(until), e.Until)
			return
		case c > 0:
			return
		}
		e.Until = store.Longer(since(until), e.Until)
		t.exec(`DELETE FROM envelopes WHERE arrival = ?`, arrival)
	}
	t.insertEnvelope(e)
	t.exec(`DELETE FROM envelopes WHERE arrival IN (SELECT arrival FROM envelopes
		WHERE grp = ? AND beat <> 0 ORDER BY arrival DESC LIMIT -1 OFFSET ?)`, e.Group[:], t.limits.Sources)
}

func (t *transaction) insertEnvelope(e store.Envelope) {
	t.exec(`INSERT INTO envelopes (grp, source, epoch, seq, beat, until, size, wire) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
		e.Group[:], e.Source[:], int64(e.Epoch), int64(e.Seq), int64(e.Beat), millis(e.Until), len(e.Wire), notNil(e.Wire))
}

// lengthen gives a stored envelope the longer of two leases.
func (t *transaction) lengthen(arrival int64, held, asked time.Time) {
	if until := store.Longer(held, asked); !until.Equal(held) {
		t.exec(`UPDATE envelopes SET until = ? WHERE arrival = ?`, millis(until), arrival)
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
		`SELECT source, count(*), sum(size) FROM envelopes WHERE grp = ? AND beat = 0 GROUP BY source`, group[:])
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
	var epoch, seq int64
	if t.one([]any{&epoch, &seq}, `SELECT epoch, seq FROM cursors WHERE grp = ? AND source = ?`, c.Group[:], c.Source[:]) &&
		!(store.Cursor{Epoch: uint64(epoch), Seq: uint64(seq)}).Before(c) {
		return
	}
	t.exec(`INSERT OR REPLACE INTO cursors (grp, source, epoch, seq) VALUES (?, ?, ?, ?)`,
		c.Group[:], c.Source[:], int64(c.Epoch), int64(c.Seq))
	t.exec(`DELETE FROM cursors WHERE moved IN (SELECT moved FROM cursors WHERE grp = ? ORDER BY moved DESC LIMIT -1 OFFSET ?)`,
		c.Group[:], t.limits.Sources)
}

// Envelopes implements store.Store.
func (a *Archive) Envelopes(ctx context.Context, group [32]byte, limit int) ([]store.Envelope, error) {
	const columns = `SELECT source, epoch, seq, beat, until, wire FROM envelopes `
	events, err := a.envelopes(ctx, group, columns+`WHERE grp = ? AND beat = 0 ORDER BY arrival DESC LIMIT ?`, limit)
	if err != nil {
		return nil, err
	}
	slices.Reverse(events)
	store.InLine(events)
	beats, err := a.envelopes(ctx, group, columns+`WHERE grp = ? AND beat <> 0 ORDER BY arrival LIMIT ?`, -1)
	if err != nil {
		return nil, err
	}
	return append(events, beats...), nil
}

func (a *Archive) envelopes(ctx context.Context, group [32]byte, query string, limit int) ([]store.Envelope, error) {
	var found []store.Envelope
	var source, wire []byte
	var epoch, seq, beat int64
	var until sql.NullInt64
	err := a.read(ctx, func() {
		found = append(found, store.Envelope{Group: group, Source: [32]byte(source), Epoch: uint64(epoch), Seq: uint64(seq),
			Beat: uint64(beat), Wire: wire, Until: since(until)})
		wire = nil
	}, []any{&source, &epoch, &seq, &beat, &until, &wire}, query, group[:], limit)
	return found, err
}

// Leased implements store.Store.
func (a *Archive) Leased(ctx context.Context) ([][32]byte, error) {
	var groups [][32]byte
	var group []byte
	err := a.read(ctx, func() { groups = append(groups, [32]byte(group)) }, []any{&group},
		`SELECT DISTINCT grp FROM envelopes WHERE until IS NOT NULL ORDER BY grp`)
	return groups, err
}

// Expire implements store.Store.
func (a *Archive) Expire(ctx context.Context, now time.Time) error {
	return a.write(ctx, func(t *transaction) {
		t.exec(`DELETE FROM envelopes WHERE until <= ?`, now.UnixMilli())
	})
}
