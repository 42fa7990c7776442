package signing

import (
	"encoding/pem"
	"fmt"
	"slices"
)

// Draft is a key state on its way between the holders of the root keys, who are
// different people on different machines: not enough of them have signed it yet. With
// it goes the certificate to which it is to be added, so that each can see what would
// change.
type Draft struct {
	before Certificate // nil: it is the feed's first state
	state  *KeyState
}

// A file holds the certificate, as MarshalPEM of it writes it, and after it the state
// as a PEM block "FEEDTREE KEY STATE DRAFT", in the layout of a key state, with the
// signatures there are. All of these are right; none is another's than a root's of the
// state or of the state before. Readers of certificates do not see the last block.
const (
	draft      = "draft"
	draftBlock = "FEEDTREE KEY STATE DRAFT"
)

// NewDraft begins a draft of the state that is to follow a certificate, nil if there is
// none yet. An error is the caller's mistake.
func NewDraft(before Certificate, s KeyState) (*Draft, error) {
	made := s.clone()
	made.sort()
	made.Signatures = nil
	d := &Draft{before, made}
	if err := d.check(); err != nil {
		return nil, fmt.Errorf("drafting a key state: %w", err)
	}
	return d, nil
}

// ParseDraft reads a draft and verifies the signatures that it has. Errors are
// [*Error].
func ParseDraft(file []byte) (*Draft, error) {
	if len(file) > maxCertificateFile {
		return nil, refuse(draft, ReasonTooLarge, "file of %d bytes, the most is %d", len(file), maxCertificateFile)
	}
	d := &Draft{}
	for rest := file; ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		if d.state != nil {
			return nil, refuse(draft, ReasonTrailing, "a PEM block %q after the draft", block.Type)
		}
		if err := d.read(block); err != nil {
			return nil, err
		}
	}
	if d.state == nil {
		return nil, refuse(draft, ReasonMalformed, "no PEM block %q in the file", draftBlock)
	}
	if err := d.verify(); err != nil {
		return nil, err
	}
	return d, nil
}

// read takes the next block of a file.
func (d *Draft) read(block *pem.Block) (err error) {
	switch {
	case block.Type == keyStateBlock:
		return d.before.add(block)
	case block.Type != draftBlock:
		return refuse(draft, ReasonMalformed, "a PEM block %q", block.Type)
	case len(block.Headers) != 0:
		return refuse(draft, ReasonMalformed, "PEM headers, which nobody signs")
	}
	d.state, err = parseKeyState(block.Bytes)
	return err
}

// MarshalPEM returns the draft as a file.
func (d *Draft) MarshalPEM() []byte {
	return append(d.before.MarshalPEM(), pem.EncodeToMemory(&pem.Block{Type: draftBlock, Bytes: d.state.Marshal()})...)
}

// Before returns the certificate to which the state is to be added, nil if it is the
// first.
func (d *Draft) Before() Certificate { return d.before }

// State returns what is to be signed, with the signatures there are. It is believed by
// nobody, and not to be modified.
func (d *Draft) State() *KeyState { return d.state }

// Missing returns how many signatures are missing: of the state's own root keys, and of
// those of the state before.
func (d *Draft) Missing() (own, before int) {
	own = max(d.state.Roots.Threshold-d.state.Roots.signed(d.state), 0)
	if d.before != nil {
		roots := d.before.Latest().Roots
		before = max(roots.Threshold-roots.signed(d.state), 0)
	}
	return own, before
}

// Sign adds the signature of a root key. One that has no say in the state is refused
// with [ReasonOtherKey], one that signed it with [ReasonStale].
func (d *Draft) Sign(id *Identity) error {
	switch {
	case !d.asks(id.public):
		return refuse(draft, ReasonOtherKey, "key %v is a root key neither of this state nor of the one before", id.public.Fingerprint())
	case d.signedBy(id.public):
		return refuse(draft, ReasonStale, "key %v signed it already", id.public.Fingerprint())
	}
	d.enter(RootSignature{id.public, id.sign(d.state.appendSigned(nil))})
	return nil
}

// Merge adds the signatures of another copy of the draft, which the holders of other
// keys signed meanwhile. It returns how many were new.
func (d *Draft) Merge(other *Draft) (added int, err error) {
	if string(d.state.appendBody(nil)) != string(other.state.appendBody(nil)) {
		return 0, refuse(draft, ReasonFork, "the two drafts do not say the same")
	}
	for _, s := range other.state.Signatures {
		if d.asks(s.Key) && !d.signedBy(s.Key) {
			d.enter(s)
			added++
		}
	}
	return added, nil
}

// Finish returns the certificate with the state, if enough have signed it.
func (d *Draft) Finish() (Certificate, error) {
	if own, before := d.Missing(); own > 0 || before > 0 {
		return nil, refuse(draft, ReasonThreshold, "%d signatures of its root keys are missing, and %d of those before", own, before)
	}
	if err := d.state.verify(); err != nil {
		return nil, err
	}
	return d.before.With(d.state)
}

func (d *Draft) enter(s RootSignature) {
	signed := *d.state // what State returned stays as it was
	signed.Signatures = append(slices.Clone(signed.Signatures), s)
	slices.SortFunc(signed.Signatures, func(a, b RootSignature) int { return a.Key.compare(b.Key) })
	d.state = &signed
}

func (d *Draft) asks(key PublicKey) bool {
	return slices.Contains(d.state.Roots.Keys, key) || d.before != nil && slices.Contains(d.before.Latest().Roots.Keys, key)
}

func (d *Draft) signedBy(key PublicKey) bool {
	return slices.ContainsFunc(d.state.Signatures, func(s RootSignature) bool { return s.Key == key })
}

// check sees to it that the state would follow if it were signed.
func (d *Draft) check() error {
	if err := d.state.check(); err != nil {
		return err
	}
	if d.before == nil {
		return nil
	}
	switch last := d.before.Latest(); {
	case d.state.URL != last.URL:
		return refuse(draft, ReasonOtherFeed, "it is for %s, the certificate for %s", d.state.URL, last.URL)
	case d.state.Version <= last.Version:
		return refuse(draft, ReasonStale, "version %d, the certificate has version %d", d.state.Version, last.Version)
	case d.state.Version-last.Version > MaxStep:
		return refuse(draft, ReasonJump, "version %d after %d, the most is %d further", d.state.Version, last.Version, MaxStep)
	}
	return nil
}

// verify checks what came in a file.
func (d *Draft) verify() error {
	if err := d.check(); err != nil {
		return err
	}
	for _, s := range d.state.Signatures {
		if !d.asks(s.Key) {
			return refuse(draft, ReasonOtherKey, "signed by key %v, which is a root key neither of this state nor of the one before", s.Key.Fingerprint())
		}
	}
	return d.state.verifySignatures()
}
