package signing

import (
	"encoding/hex"
	"encoding/pem"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"
)

type keyStateVector struct {
	Name        string          `json:"name"`
	URL         string          `json:"url"`
	Group       string          `json:"group"`
	Version     uint32          `json:"version"`
	Issued      int64           `json:"issued_s"`
	Threshold   int             `json:"threshold"`
	Roots       []string        `json:"roots"`
	Signing     []signingVector `json:"signing"`
	Revoked     []revokedVector `json:"revoked"`
	Signers     []string        `json:"signers"`
	Fingerprint string          `json:"fingerprint"`
	Wire        string          `json:"wire"`
}

type signingVector struct {
	Key   string `json:"key"`
	Until int64  `json:"until_s"`
}

type revokedVector struct {
	Key   string `json:"key"`
	Epoch uint64 `json:"epoch"`
	Seq   uint64 `json:"seq"`
}

type stepVector struct {
	Before string `json:"before"`
	After  string `json:"after"`
	Reason Reason `json:"reason"`
}

type sealedVector struct {
	Passphrase string `json:"passphrase"`
	Public     string `json:"public"`
	Seed       string `json:"seed"`
	PEM        string `json:"pem"`
}

// namedStates are the states of the vectors by name, in order.
func namedStates(t *testing.T) (names []string, states map[string]*KeyState) {
	all, old, roots := history(t)
	states = map[string]*KeyState{}
	add := func(name string, s *KeyState) { names, states[name] = append(names, name), s }
	for i, name := range []string{"first", "another signing key", "other roots", "a key revoked"} {
		add(name, all[i])
	}
	add("two of three roots", fullState(t))
	lie := func(name string, change func(*KeyState), by ...*Identity) {
		s := all[3].clone()
		s.Version++
		change(s)
		add(name, signState(t, *s, by...))
	}
	lie("of another feed", func(s *KeyState) { s.URL += "2" }, roots)
	lie("too far", func(s *KeyState) { s.Version += MaxStep }, roots)
	lie("the same version again", func(s *KeyState) { s.Version, s.Revoked = 4, nil }, roots)
	lie("by roots that were replaced", func(s *KeyState) { s.Roots.Keys = []PublicKey{old.public} }, old)
	return names, states
}

func addKeyStates(t *testing.T, v *vectors) {
	names, states := namedStates(t)
	for _, name := range names {
		v.KeyStates = append(v.KeyStates, describeState(name, states[name]))
	}
	for _, step := range [][2]string{
		{"first", "another signing key"}, {"first", "other roots"}, {"first", "a key revoked"},
		{"another signing key", "other roots"}, {"other roots", "a key revoked"}, {"a key revoked", "other roots"},
		{"a key revoked", "a key revoked"}, {"a key revoked", "of another feed"}, {"a key revoked", "too far"},
		{"a key revoked", "the same version again"}, {"a key revoked", "by roots that were replaced"}, {"first", "by roots that were replaced"},
	} {
		v.Steps = append(v.Steps, stepVector{step[0], step[1], ReasonOf(states[step[1]].Follows(states[step[0]]))})
	}
	good := states["a key revoked"]
	refused := func(name string, reason Reason, wire []byte) {
		v.RefusedKeyStates = append(v.RefusedKeyStates, refusedVector{name, reason, hex.EncodeToString(wire)})
	}
	altered := good.Marshal()
	altered[offKeyURL+8] ^= 1
	refused("URL altered", ReasonSignature, altered)
	refused("cut short", ReasonTruncated, good.Marshal()[:200])
	refused("one byte more", ReasonTrailing, append(good.Marshal(), 0))
	lie := func(name string, reason Reason, change func(*KeyState)) {
		s := good.clone()
		change(s)
		refused(name, reason, signLie(*s, identityOf(t, 2)))
	}
	lie("91 days", ReasonMalformed, func(s *KeyState) { s.Signing[0].Until = s.Issued.Add(91 * 24 * time.Hour) })
	lie("a root signs", ReasonMalformed, func(s *KeyState) { s.Signing[0].Key = s.Roots.Keys[0] })
	lie("signed by fewer roots than it takes", ReasonThreshold, func(s *KeyState) {
		s.Roots.Keys, s.Roots.Threshold = append(s.Roots.Keys, identityOf(t, 3).public), 2
		slices.SortFunc(s.Roots.Keys, PublicKey.compare)
	})
	v.Certificate = string(certificateOf(t, states["first"], states["other roots"], good).MarshalPEM())
	v.EncryptedKeys = []sealedVector{{
		"correct horse", testIdentity(t, 0).Public().String(), rfcSeeds[0], string(sealedPEM(sealed(t, testIdentity(t, 0), "correct horse"))),
	}}
}

func describeState(name string, s *KeyState) keyStateVector {
	group := s.Group()
	v := keyStateVector{
		Name: name, URL: s.URL, Group: hex.EncodeToString(group[:]), Version: s.Version, Issued: s.Issued.Unix(),
		Threshold: s.Roots.Threshold, Signing: []signingVector{}, Revoked: []revokedVector{},
		Fingerprint: s.Fingerprint().String(), Wire: hex.EncodeToString(s.Marshal()),
	}
	for _, k := range s.Roots.Keys {
		v.Roots = append(v.Roots, k.String())
	}
	for _, k := range s.Signing {
		v.Signing = append(v.Signing, signingVector{k.Key.String(), k.Until.Unix()})
	}
	for _, r := range s.Revoked {
		v.Revoked = append(v.Revoked, revokedVector{r.Key.String(), r.Epoch, r.Seq})
	}
	for _, by := range s.Signatures {
		v.Signers = append(v.Signers, by.Key.String())
	}
	return v
}

func TestVectorsKeyStates(t *testing.T) {
	v := readVectors(t)
	states := map[string]*KeyState{}
	for _, c := range v.KeyStates {
		s, err := ParseKeyState(unhex(t, c.Wire))
		if err != nil {
			t.Fatalf("%s: %v", c.Name, err)
		}
		if got := describeState(c.Name, s); !equalVectors(got, c) {
			t.Errorf("%s\n got %+v\nwant %+v", c.Name, got, c)
		}
		states[c.Name] = s
	}
	for _, c := range v.RefusedKeyStates {
		if _, err := ParseKeyState(unhex(t, c.Wire)); ReasonOf(err) != c.Reason {
			t.Errorf("%s: %v, want %s", c.Name, err, c.Reason)
		}
	}
	for _, c := range v.Steps {
		if err := states[c.After].Follows(states[c.Before]); ReasonOf(err) != c.Reason {
			t.Errorf("%s after %s: %v, want %q", c.After, c.Before, err, c.Reason)
		}
	}
	if c, err := ParseCertificate([]byte(v.Certificate)); err != nil || string(c.MarshalPEM()) != v.Certificate {
		t.Errorf("certificate: %v", err)
	}
	for _, c := range v.EncryptedKeys {
		id, err := ParseIdentity([]byte(c.PEM), secret(c.Passphrase))
		if err != nil || id.Public().String() != c.Public || hex.EncodeToString(id.key.Seed()) != c.Seed {
			t.Errorf("encrypted key: %v, %v", id, err)
		}
		if block, _ := pem.Decode([]byte(c.PEM)); block == nil || block.Type != "FEEDTREE ENCRYPTED KEY" {
			t.Errorf("%s", c.PEM)
		}
	}
}

func equalVectors(a, b keyStateVector) bool {
	same := slices.Equal(a.Roots, b.Roots) && slices.Equal(a.Signing, b.Signing) && slices.Equal(a.Revoked, b.Revoked) && slices.Equal(a.Signers, b.Signers)
	return same && a.Wire == b.Wire && a.URL == b.URL && a.Group == b.Group && a.Version == b.Version &&
		a.Issued == b.Issued && a.Threshold == b.Threshold && a.Fingerprint == b.Fingerprint
}

// A verifier of another language that shares nothing with this one but the file's
// own description agrees with it about all of it.
func TestVectorsInAnotherLanguage(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("python3 is not installed")
	}
	out, err := exec.Command(python, "testdata/verify.py", vectorsFile).CombinedOutput()
	if err != nil || !strings.HasPrefix(string(out), "ok: ") {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Logf("%s", out)
}
