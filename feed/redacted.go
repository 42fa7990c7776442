package feed

import (
	"net/url"
	"regexp"
)

var urlInText = regexp.MustCompile(`https?://[^\s"'<>]+`)

// Redacted returns a text for a log, which others than the feeds' owner may read:
// of each URL in it that is not [Public], only scheme and host are left.
func Redacted(text string) string {
	return urlInText.ReplaceAllStringFunc(text, func(raw string) string {
		if ok, _ := Public(raw); ok {
			return raw
		}
		u, err := url.Parse(raw)
		if err != nil {
			return "(an address)"
		}
		return u.Scheme + "://" + u.Host + "/…"
	})
}
