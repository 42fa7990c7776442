package signing

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"github.com/feedtree/feedtree/internal/fuzz"
)

// story is a line told twice from its second event on, and the parts of it.
type story struct {
	id                          *Identity
	one, two, three             *Envelope
	beat, late                  *Envelope // heartbeats after two
	other, otherBeat, otherNext *Envelope // what a liar tells others
}

func tell(t testing.TB) (s story) {
	t.Helper()
	s.id = testIdentity(t, 0)
	at := func(minutes int) time.Time { return noon.Add(time.Duration(minutes) * time.Minute) }
	var l1, l2 Line
	s.one, l1 = say(t, s.id, Line{Epoch: 4, Head: [32]byte{7}}, false, at(0), "one")
	s.two, l2 = say(t, s.id, l1, false, at(1), "two")
	var l Line
	s.beat, l = say(t, s.id, l2, true, at(2), "")
	s.late, l = say(t, s.id, l, true, at(3), "")
	s.three, _ = say(t, s.id, l, false, at(4), "three")
	var lie Line
	s.other, lie = say(t, s.id, l1, false, at(1), "another two")
	s.otherBeat, lie = say(t, s.id, lie, true, at(5), "")
	s.otherNext, _ = say(t, s.id, lie, false, at(6), "another three")
	return s
}

// Reference §1, rule 4: two valid headers of one key, epoch and seq with different
// hashes are a proof. So is a header that names another one before it than the one
// that was said.
func TestForksAreProved(t *testing.T) {
	s := tell(t)
	firstOfMany, _ := say(t, s.id, Line{Epoch: 4, Head: [32]byte{8}}, true, noon, "")
	for name, c := range map[string]struct {
		a, b  *Envelope
		place uint64
	}{
		"two events at one place":                {s.two, s.other, 2},
		"the next event follows another":         {s.other, s.three, 2},
		"a heartbeat repeats another head":       {s.beat, s.other, 2},
		"two heartbeats of different heads":      {s.beat, s.otherBeat, 2},
		"a heartbeat, and an event after it":     {s.late, s.otherNext, 2},
		"both lines went on":                     {s.three, s.otherNext, 3},
		"the epoch begins after different heads": {firstOfMany, s.one, 0},
	} {
		for _, pair := range [][2]*Envelope{{c.a, c.b}, {c.b, c.a}} {
			p, err := ProveFork(pair[0], pair[1])
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			wire := p.Marshal()
			if len(wire) != ForkSize {
				t.Errorf("%s: %d bytes, want %d", name, len(wire), ForkSize)
			}
			got, err := OpenFork(wire)
			if err != nil || *got != *p || !bytes.Equal(got.Marshal(), wire) {
				t.Errorf("%s: read back %+v, %v", name, got, err)
			}
			if p.Place != c.place || p.First.Key != s.id.Public() || p.First.Epoch != 4 {
				t.Errorf("%s: place %d of epoch %d, want %d of 4", name, p.Place, p.First.Epoch, c.place)
			}
		}
	}
	ab, _ := ProveFork(s.two, s.other)
	ba, _ := ProveFork(s.other, s.two)
	if !bytes.Equal(ab.Marshal(), ba.Marshal()) {
		t.Error("one pair makes two proofs")
	}
}

// relabel says the same under another header, signed by the same key or another.
func relabel(t testing.TB, id *Identity, e *Envelope, change func(*Header)) *Envelope {
	t.Helper()
	h := e.Header
	change(&h)
	return open(t, seal(t, id, h, string(e.Payload)))
}

func TestWhatIsNoFork(t *testing.T) {
	s := tell(t)
	twice := *s.two // the holder of a key can sign one header twice
	twice.Signature[0] ^= 1
	for name, pair := range map[string][2]*Envelope{
		"the same":               {s.two, s.two},
		"two signatures":         {s.two, &twice},
		"one after the other":    {s.one, s.two},
		"far apart":              {s.one, s.three},
		"heartbeats of one head": {s.beat, s.late},
		"a heartbeat, its head":  {s.beat, s.two},
		"a heartbeat, the next":  {s.beat, s.three},
		"another epoch":          {s.two, relabel(t, s.id, s.other, func(h *Header) { h.Epoch++ })},
		"another group":          {s.two, relabel(t, s.id, s.other, func(h *Header) { h.Group[0]++ })},
		"another key":            {s.two, relabel(t, testIdentity(t, 1), s.other, func(*Header) {})},
	} {
		if _, err := ProveFork(pair[0], pair[1]); ReasonOf(err) != ReasonConsistent {
			t.Errorf("%s: %v, want %s", name, err, ReasonConsistent)
		}
	}
}

// forged lists proofs that prove nothing. They stand in the vectors, too.
func forged(t testing.TB) []refusedVector {
	s := tell(t)
	p, err := ProveFork(s.two, s.other)
	if err != nil {
		t.Fatal(err)
	}
	good := p.Marshal()
	swapped := append(bytes.Clone(good[Overhead:]), good[:Overhead]...)
	pair := func(a, b *Envelope) []byte {
		x, y := a.Wire()[:Overhead], b.Wire()[:Overhead]
		if bytes.Compare(x[:HeaderSize], y[:HeaderSize]) > 0 {
			x, y = y, x
		}
		return append(bytes.Clone(x), y...)
	}
	flip := func(at int) []byte {
		b := bytes.Clone(good)
		b[at] ^= 1
		return b
	}
	all := []refusedVector{
		{"cut short", ReasonTruncated, hex.EncodeToString(good[:ForkSize-1])},
		{"one byte more", ReasonTrailing, hex.EncodeToString(good) + "00"},
		{"in the wrong order", ReasonMalformed, hex.EncodeToString(swapped)},
		{"the same statement twice", ReasonConsistent, hex.EncodeToString(pair(s.two, s.two))},
		{"two of an honest line", ReasonConsistent, hex.EncodeToString(pair(s.two, s.three))},
		{"of different epochs", ReasonConsistent, hex.EncodeToString(pair(s.two, relabel(t, s.id, s.other, func(h *Header) { h.Epoch++ })))},
		{"of different groups", ReasonConsistent, hex.EncodeToString(pair(s.two, relabel(t, s.id, s.other, func(h *Header) { h.Group[0]++ })))},
		{"of different keys", ReasonConsistent, hex.EncodeToString(pair(s.two, relabel(t, testIdentity(t, 1), s.other, func(*Header) {})))},
		{"a payload's hash altered", ReasonSignature, hex.EncodeToString(flip(offSum + 31))},
		{"a signature altered", ReasonSignature, hex.EncodeToString(flip(HeaderSize))},
		{"the other signature altered", ReasonSignature, hex.EncodeToString(flip(Overhead + HeaderSize))},
		{"another version", ReasonUnsupported, hex.EncodeToString(flip(0))},
	}
	return all
}

func TestForgedProofsAreRefused(t *testing.T) {
	for _, c := range forged(t) {
		if _, err := OpenFork(unhex(t, c.Wire)); ReasonOf(err) != c.Reason {
			t.Errorf("%s: %v, want %s", c.Name, err, c.Reason)
		}
	}
}

// An honest source crashes anywhere between storing and sending, and is started
// again from its state or from any older one. Each start is a new epoch. No two of
// all its statements are a proof.
func TestAnHonestSourceIsNeverProvedToFork(t *testing.T) {
	const seed = 5
	rng := rand.New(rand.NewPCG(seed, 0))
	id := testIdentity(t, 0)
	states, clock := []Line{{}}, noon
	var said []*Envelope
	for range 40 {
		l := states[rng.IntN(len(states))] // mostly a backup
		clock = clock.Add(time.Duration(rng.IntN(1000)) * time.Second)
		l = l.Bump(clock)
		for range rng.IntN(6) {
			e, next := say(t, id, l, rng.IntN(3) == 0, clock, string(rune('a'+rng.IntN(26))))
			said, states, l = append(said, e), append(states, next), next
		}
	}
	for i, a := range said {
		for _, b := range said[:i] {
			if p, err := ProveFork(a, b); err == nil {
				t.Fatalf("seed %d: %v %d/%d and %v %d/%d: proved at %d", seed, a.Kind, a.Epoch, a.Seq, b.Kind, b.Epoch, b.Seq, p.Place)
			}
		}
	}
}

// An epoch begins with the last head that its source knows, and so a follower
// knows whether it missed something between two of them.
func TestEpochsAreLinked(t *testing.T) {
	s := tell(t)
	at := s.three.Line()
	for name, c := range map[string]struct {
		from   Line // what the source knew when it began anew
		beat   bool
		linked bool
	}{
		"nothing is missing":            {at, false, true},
		"nothing, and a heartbeat":      {at, true, true},
		"it knew less, from a backup":   {s.two.Line(), false, false},
		"it knew nothing":               {Line{}, false, false},
		"it knew more than came so far": {s.otherNext.Line(), false, false},
	} {
		next := c.from.Bump(noon.Add(time.Hour))
		e, _ := say(t, s.id, next, c.beat, noon.Add(time.Hour), "first")
		if e.Prev != c.from.Head {
			t.Errorf("%s: prev %x, want the head %x", name, e.Prev, c.from.Head)
		}
		got, err := at.Advance(e)
		if err != nil || got.Epoch != next.Epoch {
			t.Errorf("%s: %+v, %v: an honest follower goes along", name, got, err)
		}
		if at.Linked(e) != c.linked {
			t.Errorf("%s: linked %v", name, at.Linked(e))
		}
	}
	if at.Linked(s.three) {
		t.Error("an event of the same epoch links nothing")
	}
	h := Header{Role: Publisher, Media: Atom, Kind: Event, Epoch: 9, Seq: 2, Time: noon}
	if _, err := s.id.Seal(h, []byte("x")); ReasonOf(err) != ReasonMalformed {
		t.Errorf("event 2 after nothing: %v", err)
	}
}

const forksFile = "testdata/forks.json"

// forkVectors is the file for implementers in other languages.
type forkVectors struct {
	About  []string        `json:"about"`
	Proofs []forkVector    `json:"proofs"`
	Forged []refusedVector `json:"refused_proofs"`
}

type forkVector struct {
	Name  string `json:"name"`
	Key   string `json:"key"`
	Group string `json:"group"`
	Epoch uint64 `json:"epoch"`
	Place uint64 `json:"place"`
	Wire  string `json:"wire"`
}

var aboutForks = []string{
	"Test vectors of the proof that a source forked its line. All bytes are lower-case hexadecimal. Headers and signatures are those of vectors.json.",
	"proofs: wire = header (172 bytes), signature (64), header (172), signature (64), the smaller header first, compared byte by byte. Both headers have the same key, group and epoch. Each names hashes of places: an event its own hash for its seq and its prev for the seq before, a heartbeat its prev for its seq. It is a proof if they name different hashes for a place; place is one such.",
	"refused_proofs: a verifier must refuse every wire; reason is what this implementation says.",
}

func makeForks(t *testing.T) forkVectors {
	v := forkVectors{About: aboutForks, Forged: forged(t)}
	s := tell(t)
	for _, c := range []struct {
		name string
		a, b *Envelope
	}{{"two events", s.two, s.other}, {"an event and the next", s.other, s.three}, {"a heartbeat and an event", s.beat, s.other}, {"two heartbeats", s.beat, s.otherBeat}} {
		p, err := ProveFork(c.a, c.b)
		if err != nil {
			t.Fatal(err)
		}
		v.Proofs = append(v.Proofs, forkVector{c.name, c.a.Key.String(), hex.EncodeToString(c.a.Group[:]), c.a.Epoch, p.Place, hex.EncodeToString(p.Marshal())})
	}
	return v
}

func TestForkVectors(t *testing.T) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(makeForks(t)); err != nil {
		t.Fatal(err)
	}
	if *rewrite {
		if err := os.WriteFile(forksFile, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(forksFile)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, b.Bytes()) {
		t.Errorf("%s is not what this code makes: a change of the protocol wants -rewrite", forksFile)
	}
	var v forkVectors
	if err := json.Unmarshal(got, &v); err != nil || len(v.Proofs) == 0 || len(v.Forged) == 0 {
		t.Fatal(len(v.Proofs), len(v.Forged), err)
	}
	for _, c := range v.Proofs {
		p, err := OpenFork(unhex(t, c.Wire))
		if err != nil || p.First.Key.String() != c.Key || p.First.Epoch != c.Epoch || p.Place != c.Place {
			t.Errorf("%s: %+v, %v", c.Name, p, err)
		}
	}
}

// What OpenFork accepts marshals to the bytes it was read from.
func FuzzOpenFork(f *testing.F) {
	for _, c := range forged(f) {
		f.Add(unhex(f, c.Wire))
	}
	s := tell(f)
	p, err := ProveFork(s.two, s.other)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(p.Marshal())
	fuzz.Hold(f, func(t *testing.T, wire []byte) {
		p, err := OpenFork(wire)
		if err != nil {
			if ReasonOf(err) == "" {
				t.Fatalf("%v has no reason", err)
			}
			return
		}
		if !bytes.Equal(p.Marshal(), wire) {
			t.Fatalf("read %x, wrote %x", wire, p.Marshal())
		}
		x, _ := p.First.names(p.Place)
		if y, _ := p.Second.names(p.Place); x == y {
			t.Fatal("no contradiction")
		}
	})
}
