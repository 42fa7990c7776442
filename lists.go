package feedtree

import (
	"context"

	"github.com/feedtree/feedtree/feed/witness"
	"github.com/feedtree/feedtree/signing"
)

// A testimony to a document that has not changed would list the same items again:
// with thirty of them 1.5 KiB for every member, where 32 bytes say as much to all who
// have the list, from an earlier testimony or because they fetched the document.

// mostBrief is how many testimonies in a row leave a group's list out: who came
// since and has it from nowhere waits no longer.
const mostBrief = 7

// lists are the latest two of a feed: what its group was told, and what this node
// saw at the origin.
type lists struct {
	told, own list
	briefs    int // testimonies to told since the one that listed it
}

// list is the items of a testimony with their hash.
type list struct {
	hash  [32]byte
	items []witness.Item
}

// shorten returns a testimony as it is to be told in a heartbeat: without its items
// if the group knows them.
func (b *bench) shorten(t *signing.Testimony) *signing.Testimony {
	hash := signing.ListHash(t.Items)
	b.mu.Lock()
	defer b.mu.Unlock()
	if hash != b.lists.told.hash || b.lists.briefs >= mostBrief {
		return t
	}
	brief := *t
	brief.List, brief.Items = hash, nil
	return &brief
}

// testify puts a testimony in front of the last of the payloads that are to be told,
// or returns it if there are none: then it is what a heartbeat carries, without its items
// if the group knows them. One that makes a payload too large is left out. What was said
// is to be heeded once it is told.
func (b *bench) testify(parts []part, t *signing.Testimony) (beat []byte, said *signing.Testimony, err error) {
	if t == nil {
		return nil, nil, nil
	}
	last := &parts[len(parts)-1]
	if last.payload == nil {
		said = b.shorten(t)
		beat, err = said.Marshal()
		return beat, said, err
	}
	with, err := t.Before(last.payload)
	if err != nil || len(with) > signing.MaxPayload {
		return nil, nil, err
	}
	last.payload = with
	return nil, t, nil
}

// heeds notes what a testimony told the group of a list, said by whomever.
func (b *bench) heeds(t *signing.Testimony, items []witness.Item) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case t.List == [32]byte{}:
		b.lists.told, b.lists.briefs = list{signing.ListHash(t.Items), items}, 0
	case t.List == b.lists.told.hash:
		b.lists.briefs++
	default: // whoever knows that list was told it where this node was not
		b.lists.told, b.lists.briefs = list{t.List, items}, mostBrief
	}
}

// sees notes a list that the origin showed to this node.
func (b *bench) sees(t *signing.Testimony, items []witness.Item) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.lists.own = list{signing.ListHash(t.Items), items}
}

// listed returns the items that a hash stands for, if this node has them.
func (n *Node) listed(ctx context.Context, s *standing, hash [32]byte) ([]witness.Item, bool) {
	if items, ok := s.bench.listed(hash); ok {
		return items, true
	}
	held, err := n.held(ctx, s.url)
	if err != nil || held == nil {
		return nil, false
	}
	t := held.testimony()
	s.bench.sees(t, statementOf(t).Items)
	return s.bench.listed(hash) // what is held may be another list
}

func (b *bench) listed(hash [32]byte) ([]witness.Item, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, l := range []list{b.lists.told, b.lists.own} {
		if l.hash == hash && l.items != nil {
			return l.items, true
		}
	}
	return nil, false
}
