package signing

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/feedtree/feedtree/internal/fuzz"
)

const anyFeed = "https://example.org/feed.xml"

func testTestimony(t testing.TB) *Testimony {
	t.Helper()
	group := groupOf(anyFeed)
	return &Testimony{
		Status: 304, Strong: true, Taken: noon, Parent: ParentHash(group, testIdentity(t, 1).Public()),
		Validators: ValidatorsHash(anyFeed, `"5"`, "Sat, 21 Nov 2026 12:00:00 GMT"), Body: sha256.Sum256([]byte("<rss/>")),
		Items: []Testified{{[16]byte{1}, [32]byte{9}}, {[16]byte{1, 1}, [32]byte{8}}, {[16]byte{2}, [32]byte{7}}},
	}
}

func marshal(t testing.TB, s *Testimony) []byte {
	t.Helper()
	b, err := s.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// The comment above the encoder, byte by byte.
func TestTestimonyLayout(t *testing.T) {
	s := testTestimony(t)
	group := sha256.Sum256([]byte("feedtree/group/1https://example.org/feed.xml"))
	public := testIdentity(t, 1).Public()
	parent := sha256.Sum256(append(append([]byte("feedtree/parent/1"), group[:]...), public[:]...))
	validators := sha256.Sum256([]byte("feedtree/validators/1" +
		"\x00\x00\x00\x1chttps://example.org/feed.xml" + "\x00\x00\x00\x03\"5\"" + "\x00\x00\x00\x1dSat, 21 Nov 2026 12:00:00 GMT"))
	body := sha256.Sum256([]byte("<rss/>"))
	want := []byte{1, 1, 0x01, 0x30}
	want = binary.BigEndian.AppendUint64(want, uint64(noon.UnixMilli()))
	want = append(append(append(want, parent[:]...), validators[:]...), body[:]...)
	want = append(want, 0, 3)
	for _, it := range s.Items {
		want = append(append(want, it.Key[:]...), it.Hash[:]...)
	}
	if got := marshal(t, s); !bytes.Equal(got, want) {
		t.Errorf("got  %x\nwant %x", got, want)
	}
	sum := sha256.Sum256([]byte("feedtree/item-key/1guid:a"))
	if k := ItemKey("guid:a"); !bytes.Equal(k[:], sum[:16]) {
		t.Errorf("item key %x", k)
	}
	got, err := ParseTestimony(want)
	if err != nil || !reflect.DeepEqual(got, s) {
		t.Errorf("read %+v, %v", got, err)
	}
}

// One that leaves the items out stands for them by their hash.
func TestBriefTestimonyLayout(t *testing.T) {
	full := testTestimony(t)
	listed := marshal(t, full)
	sum := sha256.Sum256(append([]byte("feedtree/items/1"), listed[110:]...))
	brief := *full
	brief.List, brief.Items = ListHash(full.Items), nil
	want := append(bytes.Clone(listed[:110]), sum[:]...)
	want[1], want[109] = 0x01|0x04, 0
	if got := marshal(t, &brief); !bytes.Equal(got, want) {
		t.Errorf("got  %x\nwant %x", got, want)
	}
	if got, err := ParseTestimony(want); err != nil || !reflect.DeepEqual(got, &brief) {
		t.Errorf("read %+v, %v", got, err)
	}
	brief.Items = full.Items
	if _, err := brief.Marshal(); ReasonOf(err) != ReasonMalformed {
		t.Errorf("items and their hash: %v", err)
	}
}

// Two parts that are joined differently are not the same validators.
func TestValidatorsDoNotRunTogether(t *testing.T) {
	if ValidatorsHash("u", "ab", "c") == ValidatorsHash("u", "a", "bc") {
		t.Error("they do")
	}
}

// testimonyLies lists what is refused. They stand in the vectors, too.
func testimonyLies(t testing.TB) []refusedVector {
	good := marshal(t, testTestimony(t))
	var all []refusedVector
	add := func(name string, reason Reason, change func(b []byte) []byte) {
		all = append(all, refusedVector{name, reason, hex.EncodeToString(change(bytes.Clone(good)))})
	}
	add("cut short", ReasonTruncated, func(b []byte) []byte { return b[:len(b)-1] })
	add("shorter than its head", ReasonTruncated, func(b []byte) []byte { return b[:109] })
	add("one byte more", ReasonTrailing, func(b []byte) []byte { return append(b, 0) })
	add("version 2", ReasonUnsupported, func(b []byte) []byte { b[0] = 2; return b })
	add("reserved flag", ReasonUnsupported, func(b []byte) []byte { b[1] |= 8; return b })
	add("513 items", ReasonTooLarge, func(b []byte) []byte { b[108], b[109] = 2, 1; return b })
	add("status 99", ReasonMalformed, func(b []byte) []byte { b[2], b[3] = 0, 99; return b })
	add("status 600", ReasonMalformed, func(b []byte) []byte { b[2], b[3] = 2, 88; return b })
	add("time 0", ReasonMalformed, func(b []byte) []byte { clear(b[4:12]); return b })
	add("time beyond the year 9999", ReasonMalformed, func(b []byte) []byte { b[4] = 1; return b })
	add("strong without validators", ReasonMalformed, func(b []byte) []byte { clear(b[44:76]); return b })
	add("an item twice", ReasonMalformed, func(b []byte) []byte { copy(b[158:174], b[110:126]); return b })
	add("brief, with items as well", ReasonMalformed, func(b []byte) []byte { b[1] |= 4; return append(b, b[76:108]...) })
	add("brief, cut short", ReasonTruncated, func(b []byte) []byte { b[1] |= 4; b[109] = 0; return b[:141] })
	add("brief, one byte more", ReasonTrailing, func(b []byte) []byte { b[1] |= 4; b[109] = 0; return b[:143] })
	add("brief, with no hash", ReasonMalformed, func(b []byte) []byte { b[1] |= 4; b[109] = 0; return append(b[:110], make([]byte, 32)...) })
	add("items in another order", ReasonMalformed, func(b []byte) []byte { b[110] = 9; return b })
	return all
}

func TestTestimoniesAreRefused(t *testing.T) {
	for _, c := range testimonyLies(t) {
		if _, err := ParseTestimony(unhex(t, c.Wire)); ReasonOf(err) != c.Reason {
			t.Errorf("%s: %v, want %s", c.Name, err, c.Reason)
		}
	}
	long := &Testimony{Status: 200, Taken: noon}
	for i := range MaxTestified {
		long.Items = append(long.Items, Testified{Key: [16]byte{byte(i >> 8), byte(i)}})
	}
	if b := marshal(t, long); len(b) != maxTestimony {
		t.Errorf("the longest has %d bytes, want %d", len(b), maxTestimony)
	}
	long.Items = append(long.Items, Testified{Key: [16]byte{3}})
	if _, err := long.Marshal(); ReasonOf(err) != ReasonTooLarge {
		t.Errorf("one item too many: %v", err)
	}
}

// A volunteer testifies in a heartbeat, and in front of what an event carries.
func TestTestimonyInEnvelopes(t *testing.T) {
	id, s := testIdentity(t, 0), testTestimony(t)
	beat := Header{Role: Volunteer, Time: noon}
	Line{Epoch: 1}.Heartbeat(&beat)
	beat.Media = Witness
	payload := string(marshal(t, s))
	document, err := s.Before([]byte("document"))
	if err != nil || !bytes.HasSuffix(document, []byte("document")) {
		t.Fatalf("%x, %v", document, err)
	}
	if want := "572a4d18fe000000"; hex.EncodeToString(document[:8]) != want { // 110 + 3·48 bytes
		t.Errorf("the frame begins %x, want %s", document[:8], want)
	}
	event := Header{Role: Volunteer, Media: RSS, Coding: Zstd, Time: noon}
	Line{Epoch: 1}.Event(&event)
	for name, wire := range map[string][]byte{"heartbeat": seal(t, id, beat, payload), "event": seal(t, id, event, string(document))} {
		if got, err := open(t, wire).Testimony(); err != nil || !reflect.DeepEqual(got, s) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	plain := event
	plain.Coding = Plain
	publisher := event
	publisher.Role = Publisher
	for name, e := range map[string]*Envelope{
		"no frame":          open(t, seal(t, id, event, "document")),
		"another coding":    open(t, seal(t, id, plain, string(document))),
		"not a volunteer's": open(t, seal(t, id, publisher, string(document))),
	} {
		if got, err := e.Testimony(); got != nil || err != nil {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	for name, c := range map[string]struct {
		payload string
		reason  Reason
	}{
		"a frame that ends nowhere": {string(document[:40]), ReasonTruncated},
		"no length":                 {string(document[:6]), ReasonTruncated},
		"an empty frame":            {string(document[:4]) + "\x00\x00\x00\x00", ReasonTruncated},
	} {
		if _, err := open(t, seal(t, id, event, c.payload)).Testimony(); ReasonOf(err) != c.reason {
			t.Errorf("%s: %v, want %s", name, err, c.reason)
		}
	}
}

// Only what can be a testimony rides in a heartbeat, and only in a volunteer's.
func TestWhatAHeartbeatMayCarry(t *testing.T) {
	id := testIdentity(t, 0)
	payload := string(marshal(t, testTestimony(t)))
	h := Header{Role: Volunteer, Time: noon}
	Line{Epoch: 1}.Heartbeat(&h)
	h.Media = Witness
	for name, c := range map[string]struct {
		change  func(*Header)
		payload string
		reason  Reason
	}{
		"a testimony":       {func(*Header) {}, payload, ""},
		"of a publisher":    {func(h *Header) { h.Role = Publisher }, payload, ReasonMalformed},
		"of another media":  {func(h *Header) { h.Media = RSS }, payload, ReasonMalformed},
		"of no media":       {func(h *Header) { h.Media = None }, payload, ReasonMalformed},
		"compressed":        {func(h *Header) { h.Coding = Zstd }, payload, ReasonMalformed},
		"too short for one": {func(*Header) {}, payload[:109], ReasonMalformed},
		"none at all":       {func(*Header) {}, "", ReasonMalformed},
		"too long for one":  {func(*Header) {}, strings.Repeat("x", maxTestimony+1), ReasonTooLarge},
		"in an event":       {func(h *Header) { Line{Epoch: 1}.Event(h) }, payload, ReasonMalformed},
	} {
		h := h
		c.change(&h)
		wire, err := id.Seal(h, []byte(c.payload))
		if ReasonOf(err) != c.reason || err == nil && open(t, wire).Media != Witness {
			t.Errorf("%s: %v, want %q", name, err, c.reason)
		}
	}
}

const testimoniesFile = "testdata/testimonies.json"

// testimonyVectors is the file for implementers in other languages.
type testimonyVectors struct {
	About       []string          `json:"about"`
	Testimonies []testimonyVector `json:"testimonies"`
	Refused     []refusedVector   `json:"refused_testimonies"`
}

type testimonyVector struct {
	Name         string      `json:"name"`
	URL          string      `json:"url"`
	ETag         string      `json:"etag"`
	LastModified string      `json:"last_modified"`
	ParentKey    string      `json:"parent_key"`
	Body         string      `json:"body"`
	Status       uint16      `json:"status"`
	Strong       bool        `json:"strong"`
	Partial      bool        `json:"partial"`
	Taken        int64       `json:"taken_ms"`
	Items        [][2]string `json:"items"` // what names it, hash
	Wire         string      `json:"wire"`
	Brief        string      `json:"brief_wire"`    // the same, with the items left out
	Payload      string      `json:"event_payload"` // in front of the document "document"
}

var aboutTestimonies = []string{
	"Test vectors of a volunteer's testimony, version 1. Bytes are lower-case hexadecimal, integers big endian but for the length of the frame.",
	"wire = version 1 (1 byte), flags (1: 1 strong, 2 partial, 4 brief), status (2), taken_ms (8), parent (32), validators (32), SHA-256 of body (32), number of items (2), items (16 + 32 each). brief_wire: number 0, and SHA-256('feedtree/items/1', items) for them.",
	"parent = SHA-256('feedtree/parent/1', group, parent_key), or zero if parent_key is empty; group = SHA-256('feedtree/group/1', url). validators = SHA-256('feedtree/validators/1', then url, etag, last_modified, each behind its length in 4 bytes), or zero if both are empty.",
	"items: the first 16 bytes of SHA-256('feedtree/item-key/1', key) and the content hash; they ascend by the first, each once. event_payload = 57 2a 4d 18, the length of wire (4 bytes, little endian), wire, document.",
	"refused_testimonies: a reader must refuse every wire; reason is what this implementation says.",
}

func makeTestimonies(t *testing.T) testimonyVectors {
	v := testimonyVectors{About: aboutTestimonies, Refused: testimonyLies(t)}
	none := &Testimony{Status: 200, Partial: true, Taken: noon, Body: sha256.Sum256(nil)}
	for _, c := range []testimonyVector{
		{Name: "not modified", URL: anyFeed, ETag: `"5"`, LastModified: "Sat, 21 Nov 2026 12:00:00 GMT", ParentKey: testIdentity(t, 1).Public().String(), Body: hex.EncodeToString([]byte("<rss/>"))},
		{Name: "an empty document at the tree's top", URL: anyFeed},
	} {
		s := none
		if c.ETag != "" {
			s = testTestimony(t)
		}
		payload, err := s.Before([]byte("document"))
		if err != nil {
			t.Fatal(err)
		}
		c.Status, c.Strong, c.Partial, c.Taken, c.Items = s.Status, s.Strong, s.Partial, s.Taken.UnixMilli(), [][2]string{}
		for _, it := range s.Items {
			c.Items = append(c.Items, [2]string{hex.EncodeToString(it.Key[:]), hex.EncodeToString(it.Hash[:])})
		}
		brief := *s
		brief.List, brief.Items = ListHash(s.Items), nil
		c.Brief = hex.EncodeToString(marshal(t, &brief))
		c.Wire, c.Payload = hex.EncodeToString(marshal(t, s)), hex.EncodeToString(payload)
		v.Testimonies = append(v.Testimonies, c)
	}
	return v
}

func TestTestimonyVectors(t *testing.T) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(makeTestimonies(t)); err != nil {
		t.Fatal(err)
	}
	if *rewrite {
		if err := os.WriteFile(testimoniesFile, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(testimoniesFile)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, b.Bytes()) {
		t.Errorf("%s is not what this code makes: a change of the protocol wants -rewrite", testimoniesFile)
	}
	var v testimonyVectors
	if err := json.Unmarshal(got, &v); err != nil || len(v.Testimonies) == 0 || len(v.Refused) == 0 {
		t.Fatal(len(v.Testimonies), len(v.Refused), err)
	}
	for _, c := range v.Testimonies {
		s, err := ParseTestimony(unhex(t, c.Wire))
		if err != nil || s.Status != c.Status || s.Taken.UnixMilli() != c.Taken || len(s.Items) != len(c.Items) || s.Body != sha256.Sum256(unhex(t, c.Body)) {
			t.Errorf("%s: %+v, %v", c.Name, s, err)
		}
	}
}

// What ParseTestimony accepts marshals to the bytes it was read from.
func FuzzParseTestimony(f *testing.F) {
	f.Add(marshal(f, testTestimony(f)))
	for _, c := range testimonyLies(f) {
		f.Add(unhex(f, c.Wire))
	}
	fuzz.Hold(f, func(t *testing.T, b []byte) {
		s, err := ParseTestimony(b)
		if err != nil {
			if ReasonOf(err) == "" {
				t.Fatalf("%v has no reason", err)
			}
			return
		}
		if !bytes.Equal(marshal(t, s), b) {
			t.Fatalf("read %x, wrote %x", b, marshal(t, s))
		}
	})
}
