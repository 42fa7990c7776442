package signing_test

import (
	"errors"
	"fmt"
	"time"

	"github.com/feedtree/feedtree/signing"
)

// A publisher speaks along its line; whoever receives the bytes verifies them
// and asks the certificate whether that key may speak for the feed.
func Example() {
	const feed = "https://example.org/feed.xml"
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

	id, err := signing.Generate(nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	cert, err := id.Certify(feed, now, now.AddDate(1, 0, 0))
	if err != nil {
		fmt.Println(err)
		return
	}

	line := signing.Line{}.Bump(now) // or the line kept from the last time
	header := signing.Header{
		Role: signing.Publisher, Media: signing.RSS,
		Group: cert.Group, Time: now, TTL: 15 * time.Minute,
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
	if err := cert.Covers(feed, env.Key, env.Time); err != nil {
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

// A key that ssh-keygen made, or that goes where ssh-keygen's keys go.
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
