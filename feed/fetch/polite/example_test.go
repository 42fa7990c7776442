package polite_test

import (
	"fmt"
	"time"

	"github.com/feedtree/feedtree/feed/fetch/polite"
)

// A feed is served, is then refused for two hours, and is gone in the end.
func Example() {
	var rules polite.Rules
	var state polite.State
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for _, answer := range []polite.Answer{
		{Kind: polite.Document, Status: 200, Validators: polite.Validators{ETag: `"1"`}},
		{Kind: polite.Same, Status: 304, SaysFresh: true, Fresh: 3 * time.Hour},
		{Kind: polite.Refused, Status: 429, Reason: "status 429", RetryAfter: 2 * time.Hour},
		{Kind: polite.Refused, Status: 410, Reason: "status 410"},
	} {
		var at time.Time
		state, at = rules.Next(state, answer, now)
		wait := at.Sub(now)
		fmt.Println(answer.Status, wait.Truncate(time.Hour), state.Validators.ETag, state.Trouble.Reason, state.Trouble.Gone)
		now = at
	}
	// Output:
	// 200 1h0m0s "1"  false
	// 304 3h0m0s "1"  false
	// 429 2h0m0s "1" status 429 false
	// 410 876000h0m0s "1" status 410 true
}

// Requests to one host are a second apart; after a 429 with a Retry-After they wait
// for its end.
func ExampleHosts() {
	hosts := polite.NewHosts(polite.Rules{})
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for range 2 {
		fmt.Println(hosts.Reserve("news.example", now).Sub(now))
	}
	hosts.Begin("news.example", now)
	hosts.End("news.example", polite.Answer{Kind: polite.Refused, Status: 429, RetryAfter: time.Minute}, now)
	fmt.Println(hosts.Reserve("news.example", now).Sub(now))
	// Output:
	// 0s
	// 1s
	// 1m0s
}
