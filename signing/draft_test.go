package signing

import (
	"bytes"
	"testing"
	"time"
)

// shared is a certificate whose root keys are of three people, two of whom must sign,
// and the state that is to follow it.
func shared(t testing.TB) (c Certificate, next KeyState, holders []*Identity) {
	holders = []*Identity{identityOf(t, 1), identityOf(t, 2), identityOf(t, 3)}
	s := KeyState{URL: feedURL, Version: 1, Issued: noon, Signing: []SigningKey{{identityOf(t, 11).public, noon.Add(time.Hour)}}}
	for _, id := range holders {
		s.Roots.Keys = append(s.Roots.Keys, id.public)
	}
	s.Roots.Threshold = 2
	c = certificateOf(t, signState(t, s, holders...))
	next = *c.Latest()
	next.Version, next.Issued = 2, noon.Add(time.Hour)
	next.Signing = []SigningKey{{identityOf(t, 12).public, noon.Add(24 * time.Hour)}}
	return c, next, holders
}

func draftOf(t testing.TB, c Certificate, s KeyState) *Draft {
	t.Helper()
	d, err := NewDraft(c, s)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// passed is a draft as the next holder gets it.
func passed(t testing.TB, d *Draft) *Draft {
	t.Helper()
	file := d.MarshalPEM()
	got, err := ParseDraft(file)
	if err != nil || !bytes.Equal(got.MarshalPEM(), file) {
		t.Fatalf("%v\n%s\nis read as\n%s", err, file, got.MarshalPEM())
	}
	return got
}

// Each holder signs by itself, and what comes of it is what all signing at once make.
func TestDraftIsSignedOneByOne(t *testing.T) {
	c, next, holders := shared(t)
	d := draftOf(t, c, next)
	for i, id := range []*Identity{holders[2], holders[0]} {
		if own, before := d.Missing(); own != 2-i || before != 2-i {
			t.Fatalf("%d and %d are missing, want %d", own, before, 2-i)
		}
		if _, err := d.Finish(); ReasonOf(err) != ReasonThreshold {
			t.Fatalf("finished with %d signatures: %v", i, err)
		}
		if got, err := ParseCertificate(d.MarshalPEM()); err != nil || got.Latest().Version != 1 {
			t.Fatalf("a reader of certificates sees the draft: %v", err)
		}
		d = passed(t, d)
		if err := d.Sign(id); err != nil {
			t.Fatal(err)
		}
	}
	made, err := passed(t, d).Finish()
	if err != nil {
		t.Fatal(err)
	}
	at, err := SignKeyState(next, holders[0], holders[2])
	if err != nil || !made.Latest().Equal(at) {
		t.Errorf("%v: another state than the two sign together", err)
	}
	if _, err := c.Learn(made); err != nil {
		t.Errorf("subscribers do not follow: %v", err)
	}
}

func TestDraftOfOtherRoots(t *testing.T) {
	c, next, holders := shared(t)
	fresh := identityOf(t, 7)
	next.Roots = RootSet{[]PublicKey{fresh.public}, 1}
	d := draftOf(t, c, next)
	for _, by := range []*Identity{holders[0], holders[1]} {
		if err := d.Sign(by); err != nil {
			t.Fatal(err)
		}
	}
	if own, before := d.Missing(); own != 1 || before != 0 {
		t.Errorf("%d of its own and %d before are missing, want 1 and 0", own, before)
	}
	if err := d.Sign(fresh); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Finish(); err != nil {
		t.Error(err)
	}
}

func TestDraftMerge(t *testing.T) {
	c, next, holders := shared(t)
	one, other := draftOf(t, c, next), draftOf(t, c, next)
	if err := errorsOf(one.Sign(holders[0]), other.Sign(holders[1])); err != nil {
		t.Fatal(err)
	}
	for _, want := range []int{1, 0} {
		if added, err := one.Merge(other); err != nil || added != want {
			t.Fatalf("%d added, %v, want %d", added, err, want)
		}
	}
	if _, err := one.Finish(); err != nil {
		t.Error(err)
	}
	next.Revoked = []Revocation{{identityOf(t, 11).public, 1, 1}}
	next.Signing = next.Signing[:1]
	if _, err := one.Merge(draftOf(t, c, next)); ReasonOf(err) != ReasonFork {
		t.Errorf("of another change: %v", err)
	}
}

func errorsOf(all ...error) error {
	for _, err := range all {
		if err != nil {
			return err
		}
	}
	return nil
}

func TestDraftRefused(t *testing.T) {
	c, next, holders := shared(t)
	d := draftOf(t, c, next)
	if err := d.Sign(holders[0]); err != nil {
		t.Fatal(err)
	}
	if err := d.Sign(holders[0]); ReasonOf(err) != ReasonStale {
		t.Errorf("signed twice: %v", err)
	}
	if err := d.Sign(identityOf(t, 9)); ReasonOf(err) != ReasonOtherKey {
		t.Errorf("signed by a stranger: %v", err)
	}
	change := func(do func(*KeyState)) *Draft {
		s := *d.State().clone()
		do(&s)
		return &Draft{c, &s}
	}
	stranger := identityOf(t, 9)
	for name, bad := range map[string]struct {
		file []byte
		want Reason
	}{
		"changed after it was signed": {change(func(s *KeyState) { s.Signing[0].Until = s.Signing[0].Until.Add(time.Hour) }).MarshalPEM(), ReasonSignature},
		"signed by a stranger": {change(func(s *KeyState) {
			s.Signatures = []RootSignature{{stranger.public, stranger.sign(s.appendSigned(nil))}}
		}).MarshalPEM(), ReasonOtherKey},
		"twice by one":            {change(func(s *KeyState) { s.Signatures = append(s.Signatures, s.Signatures[0]) }).MarshalPEM(), ReasonMalformed},
		"of the version in force": {change(func(s *KeyState) { s.Version = 1 }).MarshalPEM(), ReasonStale},
		"far ahead":               {change(func(s *KeyState) { s.Version += MaxStep + 1 }).MarshalPEM(), ReasonJump},
		"of another feed":         {change(func(s *KeyState) { s.URL = "https://other.example/" }).MarshalPEM(), ReasonOtherFeed},
		"no draft":                {c.MarshalPEM(), ReasonMalformed},
		"two":                     {append(d.MarshalPEM(), (&Draft{nil, d.state}).MarshalPEM()...), ReasonTrailing},
		"a certificate behind it": {append(d.MarshalPEM(), c.MarshalPEM()...), ReasonTrailing},
		"too large":               {bytes.Repeat([]byte("x"), maxCertificateFile+1), ReasonTooLarge},
	} {
		if got, err := ParseDraft(bad.file); ReasonOf(err) != bad.want || got != nil {
			t.Errorf("%s: %v, want %s", name, err, bad.want)
		}
	}
}

func TestPublicKeyOfOpenSSH(t *testing.T) {
	key := identityOf(t, 1).Public()
	line, err := key.MarshalPublic()
	if err != nil || !bytes.HasPrefix(line, []byte("ssh-ed25519 AAAA")) {
		t.Fatalf("%s %v", line, err)
	}
	if got, err := ParsePublic(append(bytes.TrimSpace(line), " anna@home\n"...)); err != nil || got != key {
		t.Errorf("%v, %v", got, err)
	}
	for _, bad := range []string{"", "ssh-ed25519 AAAA", "ecdsa-sha2-nistp256 AAAAE2VjZHNhLXNoYTItbmlzdHAyNTYAAAAIbmlzdHAyNTYAAABBBEmKSENjQEezOmxkZMy7opKgwFB9nkt5YRrYMjNuG5N87uRgg6CLrbo5wAdT/y6v0mKV0U2w0WZ2YB/++Tpockg="} {
		if got, err := ParsePublic([]byte(bad)); err == nil {
			t.Errorf("%q is read as %v", bad, got)
		}
	}
}
