package feed

import (
	"strings"
	"time"
)

// isoDates are the shapes of dates outside RSS's own pubDate, which gofeed reads:
// RFC 3339, the W3C's profile of ISO 8601, and what people make of them.
var isoDates = []string{
	time.RFC3339Nano,
	"2006-01-02T15:04:05-0700",
	"2006-01-02T15:04Z07:00",
	"2006-01-02T15:04:05",
	"2006-01-02T15:04",
	"2006-01-02 15:04:05Z07:00",
	"2006-01-02 15:04:05 -0700",
	"2006-01-02 15:04:05",
	"2006-01-02",
	"2006-01",
	"2006",
	time.RFC1123Z,
	"Mon, 2 Jan 2006 15:04:05 -0700",
	"Mon, 2 Jan 2006 15:04:05 GMT",
}

// parseDate returns the zero time for what is no date.
func parseDate(s string) time.Time {
	s = strings.TrimSpace(s)
	if s == "" || len(s) > 64 {
		return time.Time{}
	}
	for _, layout := range isoDates {
		if t, err := time.Parse(layout, s); err == nil {
			return cleanDate(t)
		}
	}
	return time.Time{}
}

func datePointer(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return cleanDate(*t)
}

// cleanDate gives dates their one form. The epoch stands for "no date", here as
// in the broken feeds of the world; years that RFC 3339 cannot write are none.
func cleanDate(t time.Time) time.Time {
	t = t.UTC()
	if t.Year() < 1 || t.Year() > 9999 || t.Unix() == 0 {
		return time.Time{}
	}
	return t
}

func firstDate(dates ...time.Time) time.Time {
	for _, t := range dates {
		if !t.IsZero() {
			return t
		}
	}
	return time.Time{}
}

// finer returns the second of two dates if it is the first one with a fraction of
// the second that RSS dates cannot have.
func finer(rough, fine time.Time) time.Time {
	if !fine.IsZero() && fine.Truncate(time.Second).Equal(rough) {
		return fine
	}
	return rough
}

const rfc822 = "Mon, 02 Jan 2006 15:04:05 -0700"

func rssDate(t time.Time) string  { return t.UTC().Format(rfc822) }
func atomDate(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }
