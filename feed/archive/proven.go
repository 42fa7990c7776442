package archive

import (
	"context"

	"github.com/feedtree/feedtree/feed/store"
)

// item takes an item with less trust than it claims, if that takes a proof.
func (in *importing) item(it store.Item) {
	if it.Trust == store.Signed {
		it.Trust = store.Unconfirmed
	}
	in.batch.Items = append(in.batch.Items, it)
	in.bytes += len(it.Doc)
	in.held.Items++
}

// envelope takes an envelope if it is one, with those of its items that are held.
func (in *importing) envelope(e store.Envelope) error {
	feeds, err := in.a.feedsOf(in.ctx, e.Group)
	if err != nil {
		return err
	}
	if len(feeds) == 0 {
		feeds = []store.Feed{{Group: e.Group}} // of a feed that was left
	}
	for _, f := range feeds {
		proven, err := in.prove(f, e)
		if err != nil {
			in.held.Refused++
			return nil
		}
		if err := in.believe(f, e, proven); err != nil {
			return err
		}
	}
	in.batch.Envelopes = append(in.batch.Envelopes, e)
	in.bytes += len(e.Wire)
	in.held.Envelopes++
	return nil
}

// believe raises the trust of versions that are held as from an envelope. What they
// say is taken from there too: the file may have put other words in their place.
func (in *importing) believe(f store.Feed, e store.Envelope, proven []store.Item) error {
	for _, it := range proven {
		held, found, err := in.a.version(in.ctx, f.URL, it.Key, it.Hash)
		if err != nil {
			return err
		}
		if found && held.Trust < it.Trust && held.Source == e.Source && held.Epoch == e.Epoch && held.Seq == e.Seq {
			it.Feed, it.Source, it.Epoch, it.Seq = f.URL, e.Source, e.Epoch, e.Seq
			in.raised = append(in.raised, it)
			in.bytes += len(it.Doc)
		}
	}
	return nil
}

// raise gives versions that are held the document and the trust of others, and
// leaves them where they are among the versions of their item.
func (a *Archive) raise(ctx context.Context, items []store.Item) error {
	if len(items) == 0 {
		return nil
	}
	leaves := a.prepare(items)
	return a.write(ctx, func(t *transaction) {
		for _, in := range leaves {
			s := t.shelf(in.item.Feed)
			if t.err != nil {
				return
			}
			versions, _ := s.versions(in.item.Key)
			for _, have := range versions {
				if have.item.Hash == in.item.Hash && have.item.Trust < in.item.Trust {
					s.raise(in, have)
				}
			}
			s.close()
		}
	})
}

func (s *shelf) raise(in, have leaf) {
	in.feed, in.current, in.item.Seen, in.item.Received = s.feed, have.current, have.item.Seen, have.item.Received
	s.renew(in)
	s.bytes += in.size - have.size
	if have.current {
		s.t.exec(dropIndexed, have.item.Seen)
		s.index(have.item.Seen, in.words)
	}
}

// feedsOf returns the feeds of a group. There is one, but while it moves.
func (a *Archive) feedsOf(ctx context.Context, group [32]byte) ([]store.Feed, error) {
	var found []store.Feed
	err := a.readRows(ctx, "feeds", func(row []any, whole bool) {
		if whole {
			found = append(found, feedOf(row))
		}
	}, `SELECT `+feedColumns+` FROM feeds WHERE grp = ? ORDER BY url`, group[:])
	return found, err
}

// version returns a version of an item without its document.
func (a *Archive) version(ctx context.Context, feedURL, key string, hash [32]byte) (it store.Item, found bool, err error) {
	err = a.readRows(ctx, "items", func(row []any, _ bool) {
		if l, ok := leafOf(row); ok && l.item.Key == key && l.item.Hash == hash {
			it, found = l.item, true
		}
	}, `SELECT `+leafColumns+` FROM items WHERE feed = (SELECT id FROM feeds WHERE url = ?) AND name = ?`, feedURL, nameOf(key))
	return it, found, err
}
