package witness

import (
	"bytes"
	"cmp"
	"slices"
	"time"
)

// Source is who speaks: a public key.
type Source = [32]byte

// Item is one version of one item: what names it, and the hash of its content.
type Item struct {
	Key  [16]byte
	Hash [32]byte
}

// Statement is what somebody says that the origin answered.
type Statement struct {
	By         Source
	Own        bool     // it is this node's own fetch; By is not looked at
	Network    string   // where By is, as this node has found out; "": not known
	Parent     [32]byte // what By says of its place in the tree; zero: it has no parent
	Taken      time.Time
	Strong     bool // Validators stand for one sequence of bytes
	Partial    bool // Items are not all of the document
	Validators [32]byte
	Body       [32]byte // hash of the document; zero: not known
	Items      []Item   // in ascending order of Key, each once
}

// Config bounds a panel. A zero field means its default.
type Config struct {
	K       int           // independent volunteers that corroborate: 2
	Trial   time.Duration // how long after an item came it can be disputed: 24 h
	Items   int           // remembered: 2048; the first to come go first
	Sources int           // whose latest statement is remembered: 32; the longest silent go first
}

const (
	defaultK       = 2
	defaultTrial   = 24 * time.Hour
	defaultItems   = 2048
	defaultSources = 32
	mostLiars      = 1024
)

func (c Config) withDefaults() Config {
	c.K = cmp.Or(c.K, defaultK)
	c.Trial = cmp.Or(c.Trial, defaultTrial)
	c.Items = cmp.Or(c.Items, defaultItems)
	c.Sources = cmp.Or(c.Sources, defaultSources)
	return c
}

// Panel weighs the statements about one feed. It is not safe for concurrent use.
type Panel struct {
	cfg    Config
	heard  uint64 // statements so far
	latest []held // of each source, the one heard last at the end
	docket map[Item]*docket
	order  []Item // of the docket, the first to come first
	liars  map[Source]bool
	jailed []Source // the liars, the first caught first
}

// held is a statement that is remembered.
type held struct {
	Statement
	voice voice
}

// Finding is what follows from a statement.
type Finding struct {
	Changed []Item // whose state is another now
	Liars   []Liar
}

// Liar is a volunteer that was caught.
type Liar struct {
	By  Source
	Own bool // by what this node itself got; else by others
}

// New returns an empty panel.
func New(c Config) *Panel {
	return &Panel{cfg: c.withDefaults(), docket: map[Item]*docket{}, liars: map[Source]bool{}}
}

// SetTrial changes how long an item can be disputed.
func (p *Panel) SetTrial(d time.Duration) { p.cfg.Trial = cmp.Or(d, defaultTrial) }

// Hear takes a statement. One that is older than the last of its source changes
// nothing, and so does a liar's.
func (p *Panel) Hear(now time.Time, s Statement) Finding {
	if s.Own {
		s.By = Source{}
	}
	if s.Taken.After(now) {
		s.Taken = now
	}
	h := held{s, voice{by: s.By, own: s.Own, network: s.Network, parent: s.Parent}}
	before, spoke := p.take(s.By, s.Own)
	if p.liars[s.By] && !s.Own {
		return Finding{}
	}
	if spoke && s.Taken.Before(before.Taken) {
		p.latest = append(p.latest, before)
		return Finding{}
	}
	p.heard++
	c := changes{p: p, was: map[Item]State{}}
	fresh := p.list(now, &h, &c)
	p.dispute(now, &h, before.Items, &c)
	p.disputed(&h, fresh, &c)
	p.refute(&h, &c)
	p.latest = append(p.latest, h)
	liars := p.convict(&h, &c)
	p.forget()
	return Finding{Changed: c.list(), Liars: liars}
}

// Expel forgets what a source said and hears it no more, as one that was caught.
func (p *Panel) Expel(by Source) Finding {
	c := changes{p: p, was: map[Item]State{}}
	p.expel(by, &c)
	return Finding{Changed: c.list()}
}

// Pardon lets a source be heard again.
func (p *Panel) Pardon(by Source) {
	if p.liars[by] {
		delete(p.liars, by)
		p.jailed = slices.DeleteFunc(p.jailed, func(s Source) bool { return s == by })
	}
}

// Locate notes in which network a source is, if that is found out after it spoke.
func (p *Panel) Locate(by Source, network string) Finding {
	c := changes{p: p, was: map[Item]State{}}
	for i := range p.latest {
		if h := &p.latest[i]; !h.Own && h.By == by {
			h.Network, h.voice.network = network, network
		}
	}
	for _, it := range p.order {
		d := p.docket[it]
		for _, side := range []voices{d.pro, d.contra, d.refuted} {
			if i := slices.IndexFunc(side, voice{by: by}.is); i >= 0 && side[i].network != network {
				c.at(it)
				side[i].network = network
			}
		}
	}
	return Finding{Changed: c.list()}
}

// Undecided reports whether an item that a source listed the last time is unconfirmed,
// so that it matters where the source is.
func (p *Panel) Undecided(by Source) bool {
	for i := range p.latest {
		h := &p.latest[i]
		if h.Own || h.By != by {
			continue
		}
		return slices.ContainsFunc(h.Items, func(it Item) bool { return !p.Seen(it) && p.State(it) == Unconfirmed })
	}
	return false
}

// take removes and returns the latest statement of a source.
func (p *Panel) take(by Source, own bool) (held, bool) {
	for i, h := range p.latest {
		if h.Own == own && h.By == by {
			p.latest = slices.Delete(p.latest, i, i+1)
			return h, true
		}
	}
	return held{}, false
}

// forget keeps the panel within its bounds.
func (p *Panel) forget() {
	for len(p.latest) > p.cfg.Sources {
		i := slices.IndexFunc(p.latest, func(h held) bool { return !h.Own })
		p.latest = slices.Delete(p.latest, i, i+1)
	}
	for len(p.order) > p.cfg.Items {
		delete(p.docket, p.order[0])
		p.order = p.order[1:]
	}
}

// Counts is what a status shows.
type Counts struct {
	Witnesses    int // volunteers whose latest statement is remembered
	Liars        int
	Corroborated int // items
	Disputed     int
	Contradicted int
}

// Counts counts what is remembered.
func (p *Panel) Counts() Counts {
	n := Counts{Liars: len(p.liars)}
	for _, h := range p.latest {
		if !h.Own {
			n.Witnesses++
		}
	}
	for _, d := range p.docket {
		switch d.state(p.cfg.K) {
		case Corroborated:
			n.Corroborated++
		case Disputed:
			n.Disputed++
		case Contradicted:
			n.Contradicted++
		}
	}
	return n
}

// lists finds a key among items.
func lists(items []Item, key [16]byte) (Item, bool) {
	i, ok := slices.BinarySearchFunc(items, key, func(it Item, key [16]byte) int { return bytes.Compare(it.Key[:], key[:]) })
	if !ok {
		return Item{}, false
	}
	return items[i], true
}

func has(items []Item, it Item) bool {
	found, ok := lists(items, it.Key)
	return ok && found == it
}
