package signing

import (
	"bytes"
	"encoding/pem"
	"strings"
	"testing"
	"time"

	"github.com/feedtree/feedtree/internal/fuzz"
)

// history is a feed's key states: a signing key is added by the first roots, then
// the roots are replaced, then the new ones change a key.
func history(t testing.TB) (states []*KeyState, old, roots *Identity) {
	old, roots = identityOf(t, 1), identityOf(t, 2)
	s := KeyState{
		URL: feedURL, Version: 1, Issued: noon, Roots: RootSet{[]PublicKey{old.public}, 1},
		Signing: []SigningKey{{identityOf(t, 11).public, noon.Add(time.Hour)}},
	}
	step := func(by ...*Identity) {
		states = append(states, signState(t, s, by...))
		s.Version++
		s.Issued = s.Issued.Add(time.Hour)
	}
	step(old)
	s.Signing = []SigningKey{{identityOf(t, 12).public, noon.Add(24 * time.Hour)}}
	step(old)
	s.Roots.Keys = []PublicKey{roots.public}
	step(old, roots)
	s.Revoked = []Revocation{{identityOf(t, 12).public, 5, 40}}
	s.Signing = []SigningKey{{identityOf(t, 13).public, noon.Add(48 * time.Hour)}}
	step(roots)
	return states, old, roots
}

func certificateOf(t testing.TB, states ...*KeyState) (c Certificate) {
	t.Helper()
	for _, s := range states {
		var err error
		if c, err = c.With(s); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

func TestCertificateKeepsWhatLeadsToTheLatest(t *testing.T) {
	states, old, roots := history(t)
	c := certificateOf(t, states...)
	if len(c) != 3 || c[0] != states[0] || c[1] != states[2] || c.Latest() != states[3] {
		t.Fatalf("%d states kept, want the first of each pair of roots and the latest", len(c))
	}
	for name, file := range map[string][]byte{
		"as written":    c.MarshalPEM(),
		"from Windows":  bytes.ReplaceAll(c.MarshalPEM(), []byte("\n"), []byte("\r\n")),
		"with text":     append([]byte("Feed: example.org\n\n"), append(c.MarshalPEM(), "bye\n"...)...),
		"without \\n":   bytes.TrimSpace(c.MarshalPEM()),
		"among others":  append(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte{1}}), c.MarshalPEM()...),
		"every version": append(append(Certificate{states[0], states[1]}, states[2]), states[3]).MarshalPEM(),
	} {
		got, err := ParseCertificate(file)
		if err != nil || !got.Latest().Equal(states[3]) {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for who, f := range map[string]Fingerprint{"the first roots": old.public.Fingerprint(), "the roots in force": roots.public.Fingerprint()} {
			from, err := got.From(feedURL, f)
			if err != nil || from.Latest().Version != 4 {
				t.Errorf("%s, from %s: %v", name, who, err)
			}
		}
	}
	for _, held := range states { // whoever was away, and however long, comes to the latest
		got, err := Certificate{held}.Learn(c)
		if err != nil || !got.Latest().Equal(states[3]) {
			t.Errorf("from version %d: %v", held.Version, err)
		}
	}
}

func TestCertificateSkipsAreWithinReach(t *testing.T) {
	root := identityOf(t, 1)
	s := testState(t)
	s.Roots.Keys = []PublicKey{root.public}
	c := certificateOf(t, signState(t, s, root))
	for range 3 {
		s.Version += MaxStep
		var err error
		if c, err = c.With(signState(t, s, root)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := ParseCertificate(c.MarshalPEM()); err != nil {
		t.Errorf("what With made is refused: %v", err)
	}
}

func TestCertificateRefused(t *testing.T) {
	states, _, roots := history(t)
	good := certificateOf(t, states...).MarshalPEM()
	private, err := roots.MarshalPEM("", nil)
	if err != nil {
		t.Fatal(err)
	}
	locked, err := roots.MarshalPEM("", []byte("secret"))
	if err != nil {
		t.Fatal(err)
	}
	block := func(b []byte) []byte { return pem.EncodeToMemory(&pem.Block{Type: keyStateBlock, Bytes: b}) }
	for name, c := range map[string]struct {
		file   []byte
		reason Reason
		says   string
	}{
		"empty":                  {nil, ReasonMalformed, `no PEM block "FEEDTREE KEY STATE"`},
		"a web page":             {[]byte("<!doctype html><title>404</title>"), ReasonMalformed, "no PEM block"},
		"cut short":              {good[:100], ReasonTruncated, "does not end"},
		"huge":                   {make([]byte, maxCertificateFile+1), ReasonTooLarge, "65537 bytes"},
		"the private key":        {private, ReasonMalformed, "holds a private key"},
		"with the private key":   {append(bytes.Clone(good), private...), ReasonMalformed, "holds a private key"},
		"with an encrypted one":  {append(bytes.Clone(good), locked...), ReasonMalformed, "holds a private key"},
		"PEM headers":            {pem.EncodeToMemory(&pem.Block{Type: keyStateBlock, Headers: map[string]string{"URL": "x"}, Bytes: states[0].Marshal()}), ReasonMalformed, "PEM headers"},
		"a state cut short":      {block(states[0].Marshal()[:90]), ReasonTruncated, "bytes of"},
		"the newer first":        {Certificate{states[2], states[0]}.MarshalPEM(), ReasonStale, "version 1, version 3 is known"},
		"twice the same":         {Certificate{states[0], states[0]}.MarshalPEM(), ReasonStale, "version 1 again"},
		"a link missing":         {Certificate{states[0], states[3]}.MarshalPEM(), ReasonThreshold, "0 of the root keys of version 1"},
		"roots that do not know": {Certificate{states[0], signState(t, KeyState{URL: feedURL, Version: 2, Issued: noon, Roots: RootSet{[]PublicKey{roots.public}, 1}}, roots)}.MarshalPEM(), ReasonThreshold, "version 2 is signed by 0"},
		"of two feeds":           {Certificate{states[0], signState(t, KeyState{URL: feedURL + "2", Version: 2, Issued: noon, Roots: states[0].Roots}, identityOf(t, 1))}.MarshalPEM(), ReasonOtherFeed, "it is for https://example.org/feed.xml2"},
	} {
		got, err := ParseCertificate(c.file)
		if got != nil || ReasonOf(err) != c.reason || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %s … %s", name, err, c.reason, c.says)
		}
	}
}

// trusting is what a careless reader would do with what is found: believe it. Each
// attack works on him, and not on one who goes by From and Learn.
type trusting struct{ held Certificate }

func (r *trusting) learn(c Certificate) { r.held = c }

// security.md §5, row 11, what of it is about key states.
func TestAttacksWithKeyStates(t *testing.T) {
	states, old, roots := history(t)
	thief := identityOf(t, 66)
	all := certificateOf(t, states...)
	first, current := Certificate{states[0]}, all
	lie := func(s KeyState, by ...*Identity) Certificate { return Certificate{signState(t, s, by...)} }
	thiefs := KeyState{
		URL: feedURL, Version: 5, Issued: noon, Roots: RootSet{[]PublicKey{thief.public}, 1},
		Signing: []SigningKey{{thief.public, noon.Add(time.Hour)}},
	}
	thiefs.Signing[0].Key = identityOf(t, 67).public
	with := func(change func(*KeyState)) KeyState {
		s := *states[3].clone()
		s.Version = 5
		change(&s)
		return s
	}
	for name, a := range map[string]struct {
		held   Certificate
		sent   Certificate
		reason Reason
	}{
		"replay":                             {current, Certificate{states[3]}, ""}, // nothing happens
		"rollback to before the revocation":  {current, Certificate{states[2]}, ReasonStale},
		"rollback to the first":              {current, first, ReasonStale},
		"cross-feed":                         {current, lie(with(func(s *KeyState) { s.URL = "https://example.org/other.xml" }), roots), ReasonOtherFeed},
		"fast-forward":                       {current, lie(with(func(s *KeyState) { s.Version = maxVersion }), roots), ReasonJump},
		"bad rotation, by nobody known":      {current, lie(thiefs, thief), ReasonThreshold},
		"bad rotation, by a signing key":     {current, lie(thiefs, thief, identityOf(t, 13)), ReasonThreshold},
		"bad rotation, by the old roots":     {current, lie(thiefs, thief, old), ReasonReplaced},
		"two of one version":                 {current, lie(with(func(s *KeyState) { s.Version, s.Revoked = 4, nil }), roots), ReasonFork},
		"another history":                    {current, append(Certificate{states[0], states[1]}, lie(with(func(s *KeyState) { s.Version, s.Roots.Keys = 3, []PublicKey{thief.public} }), old, thief)...), ReasonReplaced},
		"rotation whose new root is missing": {current, lie(with(func(s *KeyState) { s.Roots = RootSet{[]PublicKey{roots.public}, 1} }), roots), ""},
	} {
		var careless trusting
		careless.learn(a.held)
		careless.learn(a.sent)
		got, err := a.held.Learn(a.sent)
		switch {
		case a.reason == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case a.reason != "" && (ReasonOf(err) != a.reason || !got.Latest().Equal(a.held.Latest())):
			t.Errorf("%s: %v, want %s and nothing changed", name, err, a.reason)
		case a.reason != "" && careless.held.Latest().Equal(a.held.Latest()):
			t.Errorf("%s: does nothing to one without any defence, so it proves nothing", name)
		}
	}
	// What needs the new roots' own consent cannot even be read.
	if _, err := SignKeyState(thiefs, old); ReasonOf(err) != ReasonThreshold {
		t.Errorf("new roots that did not sign: %v", err)
	}
	// First contact is by fingerprint alone.
	if _, err := lie(thiefs, thief).From(feedURL, roots.public.Fingerprint()); ReasonOf(err) != ReasonOtherRoots {
		t.Errorf("another fingerprint: %v", err)
	}
	if _, err := all.From(feedURL+"2", roots.public.Fingerprint()); ReasonOf(err) != ReasonOtherFeed {
		t.Errorf("another feed: %v", err)
	}
}

// The feed's clock and ours may be a day apart; a key whose time is over is over.
func TestCovers(t *testing.T) {
	states, old, roots := history(t)
	s := states[3] // key 13 until noon + 48 h, key 12 revoked after (5, 40)
	end := noon.Add(48 * time.Hour)
	for name, c := range map[string]struct {
		key        PublicKey
		epoch, seq uint64
		said, came time.Time
		reason     Reason
	}{
		"the signing key":                      {identityOf(t, 13).public, 1, 1, noon, noon, ""},
		"its last second":                      {identityOf(t, 13).public, 1, 1, end, end, ""},
		"a second late":                        {identityOf(t, 13).public, 1, 1, end.Add(time.Second), end, ReasonExpired},
		"in time, by a clock a day fast":       {identityOf(t, 13).public, 1, 1, end, end.Add(24 * time.Hour), ""},
		"freeze: in time, it says, a week on":  {identityOf(t, 13).public, 1, 1, end, end.Add(7 * 24 * time.Hour), ReasonExpired},
		"by a clock a day slow":                {identityOf(t, 13).public, 1, 1, noon, noon.Add(-24 * time.Hour), ""},
		"a year later":                         {identityOf(t, 13).public, 9, 1, noon.AddDate(1, 0, 0), noon.AddDate(1, 0, 0), ReasonExpired},
		"revoked, its last word":               {identityOf(t, 12).public, 5, 40, noon, noon, ""},
		"revoked, before it":                   {identityOf(t, 12).public, 4, 99, noon, noon, ""},
		"revoked, after it":                    {identityOf(t, 12).public, 5, 41, noon, noon, ReasonRevoked},
		"revoked, another epoch":               {identityOf(t, 12).public, 6, 1, noon, noon, ReasonRevoked},
		"fast-forward: revoked, the last word": {identityOf(t, 12).public, MaxNumber, MaxNumber, noon, noon, ReasonRevoked},
		"a key no longer listed":               {identityOf(t, 11).public, 1, 1, noon, noon, ReasonOtherKey},
		"a root":                               {roots.public, 1, 1, noon, noon, ReasonOtherKey},
		"a root replaced":                      {old.public, 1, 1, noon, noon, ReasonOtherKey},
	} {
		h := Header{Key: c.key, Group: groupOf(feedURL), Epoch: c.epoch, Seq: c.seq, Time: c.said}
		if err := s.Covers(&h, c.came); ReasonOf(err) != c.reason || err != nil && c.reason == "" {
			t.Errorf("%s: %v, want %q", name, err, c.reason)
		}
		h.Group[0]++
		if err := s.Covers(&h, c.came); ReasonOf(err) != ReasonOtherFeed {
			t.Errorf("%s, in another group: %v", name, err)
		}
	}
	if s.Revokes(identityOf(t, 12).public, 5, 40) || !s.Revokes(identityOf(t, 12).public, 5, 41) || s.Revokes(identityOf(t, 13).public, 5, 41) {
		t.Error("Revokes and Covers disagree")
	}
	if !s.Lists(identityOf(t, 13).public) || s.Lists(identityOf(t, 12).public) {
		t.Error("Lists")
	}
}

func FuzzParseCertificate(f *testing.F) {
	states, _, _ := history(f)
	c := certificateOf(f, states...)
	f.Add(c.MarshalPEM())
	f.Add(c[:1].MarshalPEM())
	f.Add(c.MarshalPEM()[:90])
	fuzz.Hold(f, func(t *testing.T, file []byte) {
		c, err := ParseCertificate(file)
		if err != nil {
			if ReasonOf(err) == "" {
				t.Fatalf("refused without a reason: %v", err)
			}
			return
		}
		again, err := ParseCertificate(c.MarshalPEM())
		if err != nil || !bytes.Equal(again.MarshalPEM(), c.MarshalPEM()) {
			t.Fatalf("marshal then parse: %v", err)
		}
	})
}
