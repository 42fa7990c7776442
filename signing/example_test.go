package signing_test

import (
	"errors"
	"fmt"
	"time"

	"github.com/feedtree/feedtree/signing"
)

// A publisher speaks along its line; whoever receives the bytes verifies them
// and asks the feed's key state whether that key may speak for the feed.
func Example() {
	const feed = "https://example.org/feed.xml"
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

	root, err := signing.Generate(nil) // kept offline
	if err != nil {
		fmt.Println(err)
		return
	}
	id, err := signing.Generate(nil) // where the feed is published from
	if err != nil {
		fmt.Println(err)
		return
	}
	state, err := signing.SignKeyState(signing.KeyState{
		URL: feed, Version: 1, Issued: now,
		Roots:   signing.RootSet{Keys: []signing.PublicKey{root.Public()}, Threshold: 1},
		Signing: []signing.SigningKey{{Key: id.Public(), Until: now.Add(signing.MaxSigning)}},
	}, root)
	if err != nil {
		fmt.Println(err)
		return
	}

	line := signing.Line{}.Bump(now) // or the line kept from the last time
	header := signing.Header{
		Role: signing.Publisher, Media: signing.RSS, KeyState: state.Version,
		Group: state.Group(), Time: now, TTL: 15 * time.Minute,
	}
	line.Event(&header)
	wire, err := id.Seal(header, []byte("<rss>…</rss>"))
	if err != nil {
		fmt.Println(err)
		return
	}

	// The receiver.
	env, err := signing.Open(wire)
	if err != nil {
		fmt.Println("counted as", signing.ReasonOf(err))
		return
	}
	if err := state.Covers(&env.Header, now); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%v %d by the %v: %s %s\n", env.Kind, env.Seq, env.Role, env.Media, env.Payload)

	// The publisher again: it stores the next line before it sends the bytes.
	line, err = line.Advance(env)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("line at", line.Seq)

	wire[len(wire)-1] ^= 1
	_, err = signing.Open(wire)
	fmt.Println(signing.ReasonOf(err))
	// Output:
	// event 1 by the publisher: application/rss+xml <rss>…</rss>
	// line at 1
	// payload
}

// A reader knows the fingerprint that the feed announced when it first saw it. By
// the certificate it comes to the keys in force, also after the roots changed.
func ExampleCertificate() {
	const feed = "https://example.org/feed.xml"
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	first, err1 := signing.Generate(nil)
	second, err2 := signing.Generate(nil)
	id, err3 := signing.Generate(nil)
	if err := errors.Join(err1, err2, err3); err != nil {
		fmt.Println(err)
		return
	}
	state := signing.KeyState{
		URL: feed, Version: 1, Issued: now,
		Roots:   signing.RootSet{Keys: []signing.PublicKey{first.Public()}, Threshold: 1},
		Signing: []signing.SigningKey{{Key: id.Public(), Until: now.Add(signing.MaxSigning)}},
	}
	one, err := signing.SignKeyState(state, first)
	if err != nil {
		fmt.Println(err)
		return
	}
	state.Version, state.Roots.Keys = 2, []signing.PublicKey{second.Public()}
	two, err := signing.SignKeyState(state, first, second) // by the old roots and the new
	if err != nil {
		fmt.Println(err)
		return
	}
	certificate, err := signing.Certificate{one}.With(two)
	if err != nil {
		fmt.Println(err)
		return
	}

	// The reader.
	got, err := signing.ParseCertificate(certificate.MarshalPEM())
	if err != nil {
		fmt.Println(err)
		return
	}
	known, err := got.From(feed, first.Public().Fingerprint())
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("version", known.Latest().Version)

	// An older certificate takes nothing back.
	_, err = known.Learn(signing.Certificate{one})
	fmt.Println(signing.ReasonOf(err))
	// Output:
	// version 2
	// stale
}

// A key in the open is in the format of ssh-keygen, and those of ssh-keygen are
// read; with a passphrase the format is our own.
func ExampleParseIdentity() {
	id, err := signing.Generate(nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	file, err := id.MarshalPEM("feed of example.org", []byte("correct horse"))
	if err != nil {
		fmt.Println(err)
		return
	}

	_, err = signing.ParseIdentity(file, nil)
	fmt.Println(errors.Is(err, signing.ErrPassphrase), err)

	again, err := signing.ParseIdentity(file, func() ([]byte, error) { return []byte("correct horse"), nil })
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(again.Public() == id.Public())
	// Output:
	// true the key file is encrypted: its passphrase is needed
	// true
}
