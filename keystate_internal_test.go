package feedtree

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/feedtree/feedtree/feed"
	"github.com/feedtree/feedtree/feed/store"
	"github.com/feedtree/feedtree/multicast"
	"github.com/feedtree/feedtree/signing"
)

const (
	keysURL   = "https://news.example.org/feed.xml"
	keysPlace = "https://news.example.org/.well-known/feedtree.pem"
)

var keysNoon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func testKey(t testing.TB, n byte) *signing.Identity {
	t.Helper()
	id, err := signing.FromSeed(bytes.Repeat([]byte{n}, 32))
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// The keys of the tests: two sets of roots, and who signs.
const (
	rootA, rootB, rootThief     = 1, 2, 3
	signer, nextSigner, strange = 11, 12, 13
)

// stateOf makes a version of the feed's key state with one root and one signing key.
func keyStateOf(t testing.TB, version uint32, issued time.Time, root, key byte, by ...byte) *signing.KeyState {
	t.Helper()
	var signers []*signing.Identity
	for _, n := range append(by, root) {
		signers = append(signers, testKey(t, n))
	}
	s, err := signing.SignKeyState(signing.KeyState{
		URL: keysURL, Version: version, Issued: issued,
		Roots:   signing.RootSet{Keys: []signing.PublicKey{testKey(t, root).Public()}, Threshold: 1},
		Signing: []signing.SigningKey{{Key: testKey(t, key).Public(), Until: issued.Add(signing.MaxSigning)}},
	}, signers...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func chain(t testing.TB, states ...*signing.KeyState) (c signing.Certificate) {
	t.Helper()
	for _, s := range states {
		var err error
		if c, err = c.With(s); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

func treeOf(t testing.TB, root byte) *feed.Feed {
	return &feed.Feed{Tree: &feed.Tree{
		Version: 1, Group: multicast.GroupOf(keysURL).String(), Cert: keysPlace,
		Fingerprint: testKey(t, root).Public().Fingerprint().String(),
	}}
}

// visit is one look at the feed's document and its certificate.
type visit struct {
	doc  *feed.Feed
	from string // the document's URL; "": the feed's own
	cert signing.Certificate
	err  error // instead of a certificate
	at   time.Time
}

func (v visit) take(rec *store.Feed) string {
	from := v.from
	if from == "" {
		from = keysURL
	}
	seen := announced(rec, v.doc, from, v.at)
	var got *certificateAnswer
	if seen.place != "" && (v.cert != nil || v.err != nil) {
		got = &certificateAnswer{place: seen.place, cert: v.cert, err: v.err}
	}
	return takeKeys(rec, seen, got, v.at)
}

func freshFeed() *store.Feed {
	return &store.Feed{URL: keysURL, Group: multicast.GroupOf(keysURL)}
}

// Everything that can be wrong with a feed's keys has a state and a sentence that
// says what it is and what to do, and changes nothing that was known before.
func TestBadKeysHaveAStateAndASentence(t *testing.T) {
	year := keysNoon.AddDate(1, 0, 0)
	good := chain(t, keyStateOf(t, 1, keysNoon, rootA, signer))
	elsewhere := treeOf(t, rootA)
	elsewhere.Tree.Cert = "https://cdn.example.net/feedtree.pem"
	plain := treeOf(t, rootA)
	plain.Tree.Cert = "http://news.example.org/feedtree.pem"
	otherFeed, err := signing.SignKeyState(signing.KeyState{
		URL: "https://news.example.org/other.xml", Version: 1, Issued: keysNoon,
		Roots:   signing.RootSet{Keys: []signing.PublicKey{testKey(t, rootA).Public()}, Threshold: 1},
		Signing: []signing.SigningKey{{Key: testKey(t, signer).Public(), Until: keysNoon.Add(time.Hour)}},
	}, testKey(t, rootA))
	if err != nil {
		t.Fatal(err)
	}
	parsing := func(file string) error {
		_, err := signing.ParseCertificate([]byte(file))
		return err
	}
	disagree := append(chain(t, keyStateOf(t, 1, keysNoon, rootA, signer)), keyStateOf(t, 2, keysNoon, rootThief, strange)).MarshalPEM()
	otherKind := bytes.Clone(good[0].Marshal())
	otherKind[1] = 2 // another signature algorithm
	_, errKind := signing.ParseKeyState(otherKind)
	for name, c := range map[string]struct {
		visit visit
		after time.Duration // when the status is looked at
		state KeysState
		says  []string
	}{
		"no key":          {visit{doc: &feed.Feed{}}, 0, KeysNone, nil},
		"one key":         {visit{doc: treeOf(t, rootA)}, 0, KeysSingle, nil},
		"all is well":     {visit{doc: treeOf(t, rootA), cert: good}, 0, KeysCurrent, nil},
		"not there":       {visit{doc: treeOf(t, rootA), err: errors.New("status 404")}, 0, KeysUnreachable, []string{keysPlace, "cannot be had", "404", "uploads it"}},
		"a web page":      {visit{doc: treeOf(t, rootA), err: parsing("<html>")}, 0, KeysUnreadable, []string{"cannot be read", "no PEM block"}},
		"another kind":    {visit{doc: treeOf(t, rootA), err: errKind}, 0, KeysUnreadable, []string{"Ed25519 only", "feedtree keygen"}},
		"the private key": {visit{doc: treeOf(t, rootA), err: parsing(private(t))}, 0, KeysUnreadable, []string{"private key", "make new keys"}},
		"expired":         {visit{doc: treeOf(t, rootA), cert: good}, 100 * 24 * time.Hour, KeysExpired, []string{"ended on 2027-02-19", "volunteers take over", "feedtree key rotate"}},
		"not yet expired, by a clock a day ahead": {visit{doc: treeOf(t, rootA), cert: good}, signing.MaxSigning + 24*time.Hour, KeysCurrent, nil},
		"from the future":                         {visit{doc: treeOf(t, rootA), cert: chain(t, keyStateOf(t, 1, keysNoon.Add(48*time.Hour), rootA, signer))}, 0, KeysClock, []string{"2026-11-23", "in the future", "clock is wrong"}},
		"by a clock a day behind":                 {visit{doc: treeOf(t, rootA), cert: chain(t, keyStateOf(t, 1, keysNoon.Add(24*time.Hour), rootA, signer))}, 0, KeysCurrent, nil},
		"for another feed":                        {visit{doc: treeOf(t, rootA), cert: chain(t, otherFeed)}, 0, KeysOtherFeed, []string{"other.xml", "not this feed's"}},
		"on another host":                         {visit{doc: elsewhere, cert: good}, 0, KeysOtherHost, []string{"cdn.example.net", "not on its own host"}},
		"over plain HTTP":                         {visit{doc: plain, cert: good}, 0, KeysOtherHost, []string{"http://news.example.org", "HTTPS"}},
		"led to another host":                     {visit{doc: treeOf(t, rootA), err: &strayError{"https://cdn.example.net/x"}}, 0, KeysOtherHost, []string{"leads to https://cdn.example.net/x"}},
		"a wrong fingerprint":                     {visit{doc: treeOf(t, rootB), cert: good}, 0, KeysOtherRoots, []string{"other root keys than the feed announced", "feedtree key show"}},
		"two roots that disagree":                 {visit{doc: treeOf(t, rootA), err: parsing(string(disagree))}, 0, KeysDisputed, []string{"not signed as it must be", "version 2 is signed by 0 of the root keys of version 1"}},
	} {
		rec := freshFeed()
		c.visit.at = keysNoon
		warning := c.visit.take(rec)
		b := bookOf(rec)
		got := b.status(rec.Pin, keysNoon.Add(c.after), 0)
		if got.State != c.state || (got.Sentence == "") != (c.says == nil) {
			t.Errorf("%s: %s %q, want %s", name, got.State, got.Sentence, c.state)
		}
		if c.after == 0 && warning != got.Sentence {
			t.Errorf("%s: the feed's failure is %q, its keys' sentence %q", name, warning, got.Sentence)
		}
		for _, s := range c.says {
			if !strings.Contains(got.Sentence, s) {
				t.Errorf("%s: %q does not say %q", name, got.Sentence, s)
			}
		}
		// Somebody who knew the feed before loses nothing by it.
		if c.state == KeysCurrent || c.visit.doc.Tree != nil && c.visit.doc.Tree.Fingerprint != treeOf(t, rootA).Tree.Fingerprint {
			continue
		}
		known := freshFeed()
		(visit{doc: treeOf(t, rootA), cert: good, at: keysNoon.Add(-time.Hour)}).take(known)
		pin := known.Pin
		c.visit.take(known)
		if b := bookOf(known); known.Pin != pin || b.version() != 1 {
			t.Errorf("%s: to one who knew the feed: pin %+v, version %d", name, known.Pin, b.version())
		}
	}
	// A publisher who is back after a year is believed at once.
	rec := freshFeed()
	(visit{doc: treeOf(t, rootA), cert: good, at: keysNoon}).take(rec)
	back := chain(t, good[0], keyStateOf(t, 2, year, rootA, nextSigner))
	if w := (visit{doc: treeOf(t, rootA), cert: back, at: year}).take(rec); w != "" {
		t.Error(w)
	}
	if b := bookOf(rec); b.status(rec.Pin, year, 0).State != KeysCurrent || b.version() != 2 {
		t.Errorf("after a year: %+v", b.status(rec.Pin, year, 0))
	}
	// A clock that is ahead of ours shows, as what it says is refused.
	b := bookOf(rec)
	if k := b.status(rec.Pin, year, 24*time.Hour); k.State != KeysClock || !strings.Contains(k.Sentence, "24 hours ahead") {
		t.Errorf("%+v", k)
	}
}

func private(t *testing.T) string {
	file, err := testKey(t, rootA).MarshalPEM("", nil)
	if err != nil {
		t.Fatal(err)
	}
	return string(file)
}

// The only ways of a pin: first sight, firmer, by signature, by time and many eyes,
// by hand.
func TestPinsMoveOnlyByTheRules(t *testing.T) {
	first := keyStateOf(t, 1, keysNoon, rootA, signer)
	rotated := chain(t, first, keyStateOf(t, 2, keysNoon, rootB, nextSigner, rootA))
	fingerprint := func(root byte) [32]byte { return testKey(t, root).Public().Fingerprint() }

	rec := freshFeed()
	look := func(v visit, after time.Duration) string {
		v.at = keysNoon.Add(after)
		return v.take(rec)
	}
	look(visit{doc: treeOf(t, rootA), cert: chain(t, first)}, 0)
	if rec.Pin.Fingerprint != fingerprint(rootA) || rec.Pin.How != pinHTTPS {
		t.Fatalf("first sight: %+v", rec.Pin)
	}
	if w := look(visit{doc: treeOf(t, rootThief)}, time.Hour); rec.Pin.Fingerprint != fingerprint(rootA) || !strings.Contains(w, "did not sign") {
		t.Errorf("another announcement: %+v, %q", rec.Pin, w)
	}
	if w := look(visit{doc: treeOf(t, rootThief), cert: chain(t, keyStateOf(t, 5, keysNoon, rootThief, strange))}, 2*time.Hour); rec.Pin.Fingerprint != fingerprint(rootA) || w == "" {
		t.Errorf("with a certificate of its own: %+v, %q", rec.Pin, w)
	}
	if w := look(visit{doc: treeOf(t, rootB), cert: rotated}, 3*time.Hour); rec.Pin.Fingerprint != fingerprint(rootB) || w != "" {
		t.Errorf("signed by the roots before: %+v, %q", rec.Pin, w)
	}
	b := bookOf(rec)
	if p := b.pinStatus(rec.Pin); p.MovedWhy != moveRotated || p.MovedFrom != signing.Fingerprint(fingerprint(rootA)).String() || p.Rival != "" {
		t.Errorf("a move is not shown: %+v", p)
	}
	if w := look(visit{doc: treeOf(t, rootA)}, 4*time.Hour); rec.Pin.Fingerprint != fingerprint(rootB) || w != "" {
		t.Errorf("a document that still announces the roots before: %+v, %q", rec.Pin, w)
	}

	// One that was set by hand is followed from, and stays.
	rec = freshFeed()
	rec.Pin = store.Pin{Fingerprint: fingerprint(rootA), How: pinManual, Since: keysNoon}
	look(visit{doc: treeOf(t, rootB), cert: rotated}, time.Hour)
	if b := bookOf(rec); rec.Pin.Fingerprint != fingerprint(rootA) || rec.Pin.How != pinManual || b.version() != 2 {
		t.Errorf("set by hand: %+v, version %d", rec.Pin, b.version())
	}

	// What was seen over plain HTTP yields to HTTPS.
	rec = freshFeed()
	rec.Pin = store.Pin{Fingerprint: fingerprint(rootThief), How: pinHTTP, Since: keysNoon}
	look(visit{doc: treeOf(t, rootA), cert: chain(t, first)}, time.Hour)
	if b := bookOf(rec); rec.Pin.Fingerprint != fingerprint(rootA) || rec.Pin.How != pinHTTPS || b.version() != 1 {
		t.Errorf("a rumour: %+v, version %d", rec.Pin, b.version())
	}

	// A feed that moved to another host takes no pin with it, and gives none away.
	rec = freshFeed()
	look(visit{doc: treeOf(t, rootA), cert: chain(t, first)}, 0)
	if w := look(visit{doc: treeOf(t, rootThief), from: "https://new.example.net/feed.xml"}, time.Hour); rec.Pin.Fingerprint != fingerprint(rootA) || !strings.Contains(w, "another host") {
		t.Errorf("served by another host: %+v, %q", rec.Pin, w)
	}
	moved := &store.Feed{URL: "https://new.example.net/feed.xml", Group: multicast.GroupOf("https://new.example.net/feed.xml")}
	if w := (visit{doc: treeOf(t, rootA), from: moved.URL, at: keysNoon}).take(moved); moved.Pin.How != "" || !strings.Contains(w, "the tree of another URL") {
		t.Errorf("the announcement of the old address at the new: %+v, %q", moved.Pin, w)
	}
}

// Whoever lost a root key comes back after 72 hours in which this node and others saw
// nothing else; who took the site over for less does not get its readers.
func TestALostRootIsReplacedByTimeAndManyEyes(t *testing.T) {
	lost := chain(t, keyStateOf(t, 1, keysNoon, rootA, signer))
	fresh := chain(t, keyStateOf(t, 1, keysNoon, rootB, nextSigner))
	other := testKey(t, rootB).Public().Fingerprint().String()
	for name, c := range map[string]struct {
		how   string // of the pin
		hours int    // it is seen here, each hour
		other []int  // hours at which somebody else sees it
		gap   int    // hour at which the known roots are announced again; 0: never
		moves bool
	}{
		"after 72 hours, with another":         {pinHTTPS, 73, []int{70}, 0, true},
		"a second time":                        {pinRecovered, 73, []int{70}, 0, true},
		"after 71":                             {pinHTTPS, 71, []int{70}, 0, false},
		"seen here alone":                      {pinHTTPS, 200, nil, 0, false},
		"seen by another long ago":             {pinHTTPS, 200, []int{10}, 0, false},
		"the known ones were there in between": {pinHTTPS, 100, []int{90}, 50, false},
		"set by hand":                          {pinManual, 1000, []int{70, 900}, 0, false},
	} {
		rec := freshFeed()
		(visit{doc: treeOf(t, rootA), cert: lost, at: keysNoon}).take(rec)
		rec.Pin.How = c.how
		for h := 1; h <= c.hours; h++ {
			at := keysNoon.Add(time.Duration(h) * time.Hour)
			if h == c.gap {
				(visit{doc: treeOf(t, rootA), at: at}).take(rec)
				continue
			}
			for _, seen := range c.other {
				if seen == h {
					bookOf(rec).seen("another volunteer", other, at).keep(rec)
				}
			}
			(visit{doc: treeOf(t, rootB), cert: fresh, at: at}).take(rec)
		}
		b := bookOf(rec)
		if moved := rec.Pin.Fingerprint == testKey(t, rootB).Public().Fingerprint(); moved != c.moves {
			t.Errorf("%s: moved %v, want %v: %+v", name, moved, c.moves, b.pinStatus(rec.Pin))
		}
		p := b.pinStatus(rec.Pin)
		switch {
		case c.moves && (p.How != pinRecovered || p.MovedWhy != moveRecovered || !b.latest().Lists(testKey(t, nextSigner).Public())):
			t.Errorf("%s: %+v", name, p)
		case !c.moves && (p.Rival == "" || b.status(rec.Pin, rec.Pin.Since, 0).State != KeysMoved || !b.latest().Lists(testKey(t, signer).Public())):
			t.Errorf("%s: it is not shown: %+v", name, p)
		}
	}
}

// Root keys that contradict themselves are not followed any further, whichever of
// the two things came first, until a person decides.
func TestADisputeEndsAutomaticFollowing(t *testing.T) {
	one, other := keyStateOf(t, 2, keysNoon, rootA, signer), keyStateOf(t, 2, keysNoon, rootA, strange)
	rec := freshFeed()
	(visit{doc: treeOf(t, rootA), cert: chain(t, one), at: keysNoon}).take(rec)
	if w := (visit{doc: treeOf(t, rootA), cert: chain(t, other), at: keysNoon}).take(rec); !strings.Contains(w, "contradict each other") {
		t.Errorf("%q", w)
	}
	later := chain(t, other, keyStateOf(t, 3, keysNoon, rootA, strange))
	(visit{doc: treeOf(t, rootA), cert: later, at: keysNoon}).take(rec)
	b := bookOf(rec)
	if b.version() != 2 || b.latest().Lists(testKey(t, strange).Public()) || b.status(rec.Pin, keysNoon, 0).State != KeysDisputed {
		t.Errorf("%+v", b.status(rec.Pin, keysNoon, 0))
	}
	pin := store.Pin{Fingerprint: rec.Pin.Fingerprint, How: pinManual, Since: keysNoon}
	if b, _, err := b.reset(rec.URL, pin).follow(rec.URL, pin, later, keysNoon); err != nil || b.version() != 3 {
		t.Errorf("pinned by hand: %v, version %d", err, b.version())
	}
}

// The certificate is asked for when it can help, and not with every poll.
func TestWhenTheCertificateIsAskedFor(t *testing.T) {
	state := keyStateOf(t, 1, keysNoon, rootA, signer)
	held := freshFeed()
	(visit{doc: treeOf(t, rootA), cert: chain(t, state), at: keysNoon}).take(held)
	failed := freshFeed()
	(visit{doc: treeOf(t, rootA), err: errors.New("status 500"), at: keysNoon}).take(failed)
	ends := state.Until().Sub(keysNoon)
	for name, c := range map[string]struct {
		rec    *store.Feed
		root   byte
		after  time.Duration
		urgent bool
		want   bool
	}{
		"the first time":               {freshFeed(), rootA, 0, false, true},
		"with the next poll":           {held, rootA, time.Hour, false, false},
		"the next day":                 {held, rootA, 24 * time.Hour, false, true},
		"other roots are announced":    {held, rootB, time.Hour, false, true},
		"the key is about to end":      {held, rootA, ends - 24*time.Hour, false, true},
		"it could not be had":          {failed, rootA, 20 * time.Minute, false, true},
		"it could not be had, at once": {failed, rootA, time.Minute, false, false},
		"a word depends on it":         {held, rootA, time.Minute, true, true},
		"a clock set back":             {held, rootA, -time.Hour, false, true},
	} {
		at := keysNoon.Add(c.after)
		seen := announced(c.rec, treeOf(t, c.root), keysURL, at)
		b := bookOf(c.rec)
		if got := b.wants(repin(c.rec.Pin, seen.pin), seen, c.urgent, at); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
