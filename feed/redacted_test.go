package feed

import "testing"

func TestRedacted(t *testing.T) {
	for in, want := range map[string]string{
		"https://example.org/feed.xml":                         "https://example.org/feed.xml",
		"https://ann:pass@example.org/feed":                    "https://example.org/…",
		`poll https://example.org/f?token=abc: status 500`:     "poll https://example.org/… status 500",
		"from https://example.org/a to http://nas.lan/x?y=z, ": "from https://example.org/a to http://nas.lan/… ",
		"https://example.org/token/abc":                        "https://example.org/…",
		"nothing":                                              "nothing",
	} {
		if got := Redacted(in); got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
}
