package proxy

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/feedtree/feedtree/feed/opml"
)

// The settings as their projects document them: Miniflux #4087, CommaFeed #1735,
// Fusion #235; tt-rss #436 has none.
func TestReadersText(t *testing.T) {
	text := ReadersText()
	for _, want := range []string{
		"FETCHER_ALLOW_PRIVATE_NETWORKS=1", "http-client.block-local-addresses=false", "FUSION_ALLOW_PRIVATE_FEEDS=true", "Tiny Tiny RSS",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
}

// What a list is wrapped with is what the proxy answers to, in every form.
func TestOPMLKnowsTheForms(t *testing.T) {
	for _, form := range slices.Sorted(maps.Keys(forms)) {
		l := opml.New("", []opml.Feed{{URL: "http://127.0.0.1:8089/" + form + "/" + example}})
		if feeds, _ := opml.Unwrap(l, "http://127.0.0.1:8089").Feeds(); feeds[0].URL != example {
			t.Errorf("%s is not unwrapped: %s", form, feeds[0].URL)
		}
	}
	feeds, _ := opml.Wrap(opml.New("", []opml.Feed{{URL: example}}), "http://127.0.0.1:8089").Feeds()
	if format, rest, ok := split(strings.TrimPrefix(feeds[0].URL, "http://127.0.0.1:8089")); !ok || format != own || rest != example {
		t.Errorf("wrapped as %s", feeds[0].URL)
	}
}
