package live

import (
	"bytes"
	"math/rand"
	"reflect"
	"runtime"
	"slices"
	"testing"
	"testing/quick"
	"time"

	"github.com/feedtree/feedtree/internal/fuzz"
	"github.com/feedtree/feedtree/multicast"
	"github.com/feedtree/feedtree/multicast/live/internal/wire"
	"github.com/feedtree/feedtree/multicast/tree"
	"github.com/feedtree/feedtree/overlay"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

func nowhere(overlay.ID) [][]byte { return nil }

// within makes any message one that a node may send: types known, lists and
// IDs within the caps, no list empty but not nil, an event where one belongs.
func within(m tree.Message) tree.Message {
	m.Type, m.Others = m.Type%tree.Fork+1, 0 // that is no part of it on the wire
	m.Via %= multicast.ViaLazy + 1
	m.Path, m.Peers = idsWithin(m.Path, maxPath), idsWithin(m.Peers, maxPeers)
	if s := m.Span; s != nil {
		m.Span = &tree.Span{Stamp: stampsMasked(s.Stamp)[0], From: s.From & maxNumber, To: s.To & maxNumber}
	}
	m.Heads = stampsMasked(cut(m.Heads, maxHeads)...)
	m.Entries = cut(m.Entries, maxEntries)
	for i := range m.Entries {
		m.Entries[i].Heads = stampsMasked(cut(m.Entries[i].Heads, maxHeads)...)
	}
	m.RTT = m.RTT.Abs().Truncate(time.Microsecond) % time.Hour
	if m.Self != nil {
		own := standWithinBounds(*m.Self)
		m.Self = &own
	}
	m.Posts = cut(m.Posts, len(m.Path)+len(m.Peers))
	if k := len(m.Path) + len(m.Peers); k == 0 || len(m.Posts) < k {
		m.Posts = nil
	}
	for i := range m.Posts {
		m.Posts[i] = standWithinBounds(m.Posts[i])
	}
	if !carries(m.Type) {
		m.Event = nil
	} else {
		m.Event = &multicast.Event{Body: []byte("a body")}
	}
	return m
}

func standWithinBounds(s tree.Standing) tree.Standing {
	s.Delay = s.Delay.Abs().Truncate(time.Microsecond) % time.Hour
	for i := range s.At.At {
		s.At.At[i] %= 60_000_000
	}
	s.At.Height, s.At.Err = s.At.Height&0xffffff, s.At.Err&0x1ff+1
	return s
}

func stampsMasked(stamps ...multicast.Stamp) []multicast.Stamp {
	for i := range stamps {
		s := &stamps[i]
		s.Epoch, s.Seq, s.Beat = s.Epoch&maxNumber, s.Seq&maxNumber, s.Beat&maxNumber
	}
	return stamps
}

func cut[T any](s []T, most int) []T {
	if len(s) == 0 {
		return nil
	}
	return s[:min(len(s), most)]
}

func idsWithin(ids []overlay.ID, most int) []overlay.ID {
	ids = cut(ids, most)
	for i := range ids {
		ids[i] = "n" + ids[i]
		ids[i] = ids[i][:min(len(ids[i]), maxID)]
	}
	return ids
}

func roundTrip(t *testing.T, m *tree.Message) *tree.Message {
	t.Helper()
	frames, err := encoded(m, nowhere)
	if err != nil || len(frames) != 1 {
		t.Fatalf("%d frames, %v", len(frames), err)
	}
	got, _, r := decode(frames[0])
	if r != "" {
		t.Fatalf("refused (%s): %+v", r, m)
	}
	return got
}

func TestEveryMessageRoundTrips(t *testing.T) {
	same := func(m tree.Message) bool {
		m = within(m)
		got := roundTrip(t, &m)
		if !reflect.DeepEqual(*got, m) {
			t.Logf("\nsent %+v\ngot  %+v", m, *got)
			return false
		}
		return true
	}
	if err := quick.Check(same, &quick.Config{MaxCount: 500, Rand: rand.New(rand.NewSource(1))}); err != nil {
		t.Fatal(err)
	}
}

// Each field by itself survives, so a field added to tree.Message and
// forgotten in the codec fails here by name.
func TestEveryFieldOfAMessageIsSent(t *testing.T) {
	rng := rand.New(rand.NewSource(2))
	message := reflect.TypeFor[tree.Message]()
	for i := range message.NumField() {
		name := message.Field(i).Name
		m := tree.Message{Type: tree.Ping}
		v := reflect.ValueOf(&m).Elem().Field(i)
		for v.IsZero() || v.Kind() == reflect.Slice && v.Len() == 0 {
			random, ok := quick.Value(v.Type(), rng)
			if !ok {
				t.Fatalf("no random %s", name)
			}
			v.Set(random)
		}
		if name == "Posts" {
			m.Path = slices.Repeat([]overlay.ID{"n"}, len(m.Posts))
		}
		if name == "Event" {
			m.Type = tree.Data
		} else if name != "Type" {
			m.Type-- // within adds one
		}
		m = within(m)
		if name != "Type" && name != "Event" {
			m.Type, m.Event = tree.Ping, nil
		}
		if got := roundTrip(t, &m); !reflect.DeepEqual(*got, m) {
			t.Errorf("%s does not survive the wire:\nsent %+v\ngot  %+v", name, m, *got)
		}
	}
}

func TestFieldsOfWireAreAllBounded(t *testing.T) {
	check := func(m proto.Message, s shape) {
		fields := m.ProtoReflect().Descriptor().Fields()
		for i := range fields.Len() {
			if _, ok := s[fields.Get(i).Number()]; !ok {
				t.Errorf("%s has no bound", fields.Get(i).FullName())
			}
		}
		if fields.Len() != len(s) {
			t.Errorf("%s has %d fields, %d bounds", m.ProtoReflect().Descriptor().FullName(), fields.Len(), len(s))
		}
	}
	check(&wire.Frame{}, frameShape)
	check(&wire.Stamp{}, stampShape)
	check(&wire.Entry{}, entryShape)
	check(&wire.Node{}, nodeShape)
	check(&wire.Standing{}, standShape)
}

func TestAddressesTravelWithTheNodesNamed(t *testing.T) {
	long := bytes.Repeat([]byte{'x'}, maxAddr+1)
	book := map[overlay.ID][][]byte{
		"a": {[]byte("a1"), long, nil, []byte("a2"), []byte("a3"), []byte("a4"), []byte("a5")},
		"b": {[]byte("b1")},
		"d": {[]byte("never mentioned")},
	}
	m := &tree.Message{Type: tree.Ack, Path: []overlay.ID{"a", "b", "a"}, Peers: []overlay.ID{"b", "c"}}
	frames, err := encoded(m, func(id overlay.ID) [][]byte { return book[id] })
	if err != nil {
		t.Fatal(err)
	}
	got, contacts, r := decode(frames[0])
	if r != "" || !reflect.DeepEqual(got, m) {
		t.Fatalf("%q %+v", r, got)
	}
	want := []contact{
		{"a", [][]byte{[]byte("a1"), []byte("a2"), []byte("a3"), []byte("a4")}},
		{"b", [][]byte{[]byte("b1")}},
		{"c", nil},
	}
	if !reflect.DeepEqual(contacts, want) {
		t.Fatalf("contacts %v, want %v", contacts, want)
	}
}

// Heads of more groups than a frame takes are told in several frames, which
// together say the same.
func TestHeadsOfManyGroupsAreSplit(t *testing.T) {
	m := &tree.Message{Type: tree.Heads}
	for i := range 3 * maxEntries {
		m.Entries = append(m.Entries, tree.Entry{
			Group: multicast.Group{byte(i), byte(i >> 8)},
			Heads: []multicast.Stamp{{Seq: uint64(i), Source: multicast.Source{1}}},
		})
	}
	frames, err := encoded(m, nowhere)
	if err != nil {
		t.Fatal(err)
	}
	var entries []tree.Entry
	for _, f := range frames {
		part, _, r := decode(f)
		if r != "" {
			t.Fatal(r)
		}
		entries = append(entries, part.Entries...)
	}
	if !reflect.DeepEqual(entries, m.Entries) {
		t.Fatalf("%d entries came out of %d", len(entries), len(m.Entries))
	}
	m.Type = tree.Sync
	if _, err := encoded(m, nowhere); err == nil {
		t.Fatal("a sync was sent in parts; a part says that the other edges do not exist")
	}
}

func TestEncodeRefusesWhatDecodeWould(t *testing.T) {
	for name, m := range map[string]*tree.Message{
		"path":       {Path: make([]overlay.ID, maxPath+1)},
		"peers":      {Peers: make([]overlay.ID, maxPeers+1)},
		"heads":      {Heads: make([]multicast.Stamp, maxHeads+1)},
		"entries":    {Entries: make([]tree.Entry, maxEntries+1)},
		"entry":      {Entries: []tree.Entry{{Heads: make([]multicast.Stamp, maxHeads+1)}}},
		"event":      {Type: tree.Data, Event: &multicast.Event{Body: make([]byte, MaxEvent+1)}},
		"empty id":   {Path: []overlay.ID{""}},
		"long id":    {Path: []overlay.ID{overlay.ID(make([]byte, maxID+1))}},
		"empty body": {Type: tree.Data, Event: &multicast.Event{}},
		"no event":   {Type: tree.Data},
		"an event":   {Event: &multicast.Event{Body: []byte("in a join")}},
	} {
		if m.Type == 0 {
			m.Type = tree.Join
		}
		if frames, err := encoded(m, nowhere); err == nil {
			if _, _, r := decode(frames[0]); r == "" {
				t.Errorf("%s beyond its bound was sent and accepted", name)
			} else {
				t.Errorf("%s beyond its bound was sent, then refused (%s)", name, r)
			}
		}
	}
}

func TestBadFramesAreRefusedByReason(t *testing.T) {
	frame := func(f *wire.Frame) []byte {
		b, err := proto.Marshal(f)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	ping := func(change func(*wire.Frame)) []byte {
		f := &wire.Frame{Type: uint32(tree.Ping)}
		change(f)
		return frame(f)
	}
	g, node := make([]byte, 32), &wire.Node{Id: []byte("n")}
	twice := append(ping(func(*wire.Frame) {}), ping(func(*wire.Frame) {})...)
	for name, tc := range map[string]struct {
		frame []byte
		want  reason
	}{
		"nothing":       {nil, frameType},
		"garbage":       {[]byte("GET / HTTP/1.1\r\n\r\n"), frameMalformed},
		"truncated":     {ping(func(f *wire.Frame) { f.Group = g })[:10], frameMalformed},
		"too large":     {make([]byte, MaxFrame+1), frameTooLarge},
		"type 0":        {frame(&wire.Frame{Ver: 1}), frameType},
		"a later type":  {frame(&wire.Frame{Type: uint32(tree.Fork) + 1}), frameType},
		"type 257":      {frame(&wire.Frame{Type: 257}), frameType},
		"a field twice": {twice, frameTooMany},
		"a group":       {protowire.AppendTag(nil, 30, protowire.StartGroupType), frameMalformed},
		"nowhere on earth": {ping(func(f *wire.Frame) {
			f.Self = &wire.Standing{At: slices.Repeat([]byte{0x7f}, coordBytes)}
		}), frameBounds},
		"half a coordinate": {ping(func(f *wire.Frame) { f.Self = &wire.Standing{At: make([]byte, coordBytes/2)} }), frameBounds},
		"years of delay":    {ping(func(f *wire.Frame) { f.Self = &wire.Standing{Delay: maxMicros + 1} }), frameBounds},
		"years away":        {ping(func(f *wire.Frame) { f.Rtt = maxMicros + 1 }), frameBounds},
		"heavier than all":  {ping(func(f *wire.Frame) { f.Self = &wire.Standing{Weight: 1 << 32} }), frameBounds},
		"posts of nobody":   {ping(func(f *wire.Frame) { f.Posts = []*wire.Standing{{Weight: 1}} }), frameMalformed},
		"group of 31":       {ping(func(f *wire.Frame) { f.Group = g[1:] }), frameBounds},
		"flags of 9 bits":   {ping(func(f *wire.Frame) { f.Flags = 256 }), frameBounds},
		"via unknown":       {ping(func(f *wire.Frame) { f.Via = uint32(multicast.ViaLazy) + 1 }), frameBounds},
		"hops of 9 bits":    {ping(func(f *wire.Frame) { f.Hops = 256 }), frameBounds},
		"huge seq":          {ping(func(f *wire.Frame) { f.Heads = []*wire.Stamp{{Source: g, Seq: 1 << 53}} }), frameBounds},
		"huge epoch":        {ping(func(f *wire.Frame) { f.Stamp = &wire.Stamp{Source: g, Epoch: 1 << 53} }), frameBounds},
		"huge beat": {ping(func(f *wire.Frame) {
			f.Entries = []*wire.Entry{{Group: g, Heads: []*wire.Stamp{{Source: g, Beat: 1 << 53}}}}
		}), frameBounds},
		"tag of 15":         {ping(func(f *wire.Frame) { f.Heads = []*wire.Stamp{{Source: g, Tag: g[:15]}} }), frameBounds},
		"huge range":        {ping(func(f *wire.Frame) { f.To = 1<<64 - 1 }), frameBounds},
		"wrong wire type":   {protowire.AppendVarint(protowire.AppendTag(nil, 7, protowire.VarintType), 1), frameMalformed},
		"short source":      {ping(func(f *wire.Frame) { f.Stamp = &wire.Stamp{Source: g[1:], Epoch: 1 << 40} }), frameBounds},
		"no source":         {ping(func(f *wire.Frame) { f.Stamp = &wire.Stamp{Epoch: 1 << 63, Seq: 1 << 63, Beat: 1 << 63} }), frameBounds},
		"empty heads":       {ping(func(f *wire.Frame) { f.Heads = []*wire.Stamp{{}} }), frameBounds},
		"empty entries":     {ping(func(f *wire.Frame) { f.Entries = []*wire.Entry{{}} }), frameBounds},
		"node without id":   {ping(func(f *wire.Frame) { f.Nodes = []*wire.Node{{Addrs: [][]byte{g}}} }), frameMalformed},
		"long id":           {ping(func(f *wire.Frame) { f.Nodes = []*wire.Node{{Id: make([]byte, maxID+1)}} }), frameBounds},
		"long address":      {ping(func(f *wire.Frame) { f.Nodes = []*wire.Node{{Id: g, Addrs: [][]byte{make([]byte, maxAddr+1)}}} }), frameBounds},
		"many addresses":    {ping(func(f *wire.Frame) { f.Nodes = []*wire.Node{{Id: g, Addrs: slices.Repeat([][]byte{g}, maxAddrs+1)}} }), frameTooMany},
		"unmentioned node":  {ping(func(f *wire.Frame) { f.Nodes = []*wire.Node{node} }), frameMalformed},
		"no such node":      {ping(func(f *wire.Frame) { f.Nodes, f.Path = []*wire.Node{node}, []uint32{0, 1} }), frameMalformed},
		"no such node ever": {ping(func(f *wire.Frame) { f.Nodes, f.Path = []*wire.Node{node}, []uint32{0, 1<<32 - 1} }), frameMalformed},
		"long path":         {ping(func(f *wire.Frame) { f.Nodes, f.Path = []*wire.Node{node}, make([]uint32, maxPath+1) }), frameTooMany},
		"many peers":        {ping(func(f *wire.Frame) { f.Nodes, f.Peers = []*wire.Node{node}, make([]uint32, maxPeers+1) }), frameTooMany},
		"many heads":        {ping(func(f *wire.Frame) { f.Heads = slices.Repeat([]*wire.Stamp{{Source: g}}, maxHeads+1) }), frameTooMany},
		"many entries":      {ping(func(f *wire.Frame) { f.Entries = slices.Repeat([]*wire.Entry{{Group: g}}, maxEntries+1) }), frameTooMany},
		"event in a ping":   {ping(func(f *wire.Frame) { f.Event = g }), frameMalformed},
		"data, no event":    {frame(&wire.Frame{Type: uint32(tree.Data)}), frameMalformed},
		"oversize event":    {frame(&wire.Frame{Type: uint32(tree.Data), Event: make([]byte, MaxEvent+1)}), frameBounds},
	} {
		if m, _, got := decode(tc.frame); got != tc.want || m != nil {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

// Fields that a later version adds are skipped, so that it can add them.
func TestFieldsOfALaterVersionAreSkipped(t *testing.T) {
	frames, err := encoded(&tree.Message{Type: tree.Ping, Ver: 7}, nowhere)
	if err != nil {
		t.Fatal(err)
	}
	later := protowire.AppendBytes(protowire.AppendTag(frames[0], 40, protowire.BytesType), []byte("news"))
	m, _, r := decode(later)
	if r != "" || m.Ver != 7 {
		t.Fatalf("%q %+v", r, m)
	}
}

// What a frame makes the decoder allocate is proportional to the frame.
func TestDecodeAllocatesInProportion(t *testing.T) {
	empty := bytes.Repeat([]byte{19<<3&0x7f | 2 | 0x80, 19 >> 4, 0}, MaxFrame/3) // entries of no bytes
	stamp := append([]byte{10, 32}, make([]byte, 32)...)
	entry := append([]byte{10, 32}, make([]byte, 32)...)
	for range maxHeads {
		entry = protowire.AppendBytes(protowire.AppendTag(entry, 4, protowire.BytesType), stamp)
	}
	full := []byte{8, byte(tree.Heads)}
	for len(full)+len(entry)+4 < MaxFrame {
		full = protowire.AppendBytes(protowire.AppendTag(full, 19, protowire.BytesType), entry)
	}
	for name, frame := range map[string][]byte{"empty entries": empty, "full entries": full} {
		if got := allocated(func() { decode(frame) }); got > 16*MaxFrame {
			t.Errorf("%s: %d bytes allocated for a frame of %d", name, got, len(frame))
		}
	}
	if _, _, r := decode(full); r != "" {
		t.Errorf("the largest honest frame is refused: %s", r)
	}
}

func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// FuzzDecode: no frame makes the decoder panic, and what it accepts can be
// sent on unchanged.
func FuzzDecode(f *testing.F) {
	rng := rand.New(rand.NewSource(3))
	for typ := tree.Join; typ <= tree.Crown; typ++ {
		random, _ := quick.Value(reflect.TypeFor[tree.Message](), rng)
		m := within(random.Interface().(tree.Message))
		m.Type, m.Event = typ, nil
		if typ == tree.Data {
			m.Event = &multicast.Event{Body: []byte("an envelope")}
		}
		m.Entries = cut(m.Entries, 3)
		frames, err := encoded(&m, nowhere)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(frames[0])
	}
	f.Add([]byte{})
	f.Add([]byte("\x08\x01\x0b\x0b\x0b"))
	fuzz.Hold(f, func(t *testing.T, frame []byte) {
		m, _, r := decode(frame)
		if r != "" {
			return
		}
		again := roundTrip(t, m)
		if !reflect.DeepEqual(m, again) {
			t.Fatalf("accepted %+v, sent on as %+v", m, again)
		}
	})
}
