package score

import (
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// judgeManner looks at what a request says besides what it asks for.
func (c *client) judgeManner(e Entry, added string) {
	switch {
	case e.Request.Get("Cookie") != "":
		c.fault(Plain, e, "a cookie is sent")
	case e.Request.Get("Referer") != "":
		c.fault(Plain, e, "a referrer is sent: %s", e.Request.Get("Referer"))
	case added != "":
		c.fault(Plain, e, "the client added %q to the query", added)
	}
	agent := e.Request.Get("User-Agent")
	switch {
	case agent == "":
		c.fault(Named, e, "no User-Agent")
	case !versioned.MatchString(agent):
		c.fault(Named, e, "User-Agent without a version: %s", agent)
	case !contact.MatchString(agent):
		c.fault(Named, e, "User-Agent without a contact: %s", agent)
	case e.Full && !strings.Contains(strings.ToLower(e.Request.Get("Accept-Encoding")), "gzip"):
		c.fault(Named, e, "no gzip in Accept-Encoding: %q", e.Request.Get("Accept-Encoding"))
	}
}

var (
	versioned = regexp.MustCompile(`^[^/\s]+/\S`)
	contact   = regexp.MustCompile(`https?://\S|\S@\S+\.\S`)
)

// freshFor is how long an answer stays fresh (RFC 9111 §4.2.1), and whether it says
// so.
func freshFor(h http.Header, now time.Time) (time.Duration, bool) {
	for directive := range strings.SplitSeq(strings.ToLower(strings.Join(h.Values("Cache-Control"), ",")), ",") {
		directive = strings.TrimSpace(directive)
		if directive == "no-cache" || directive == "no-store" {
			return 0, true
		}
		if value, ok := strings.CutPrefix(directive, "max-age="); ok {
			age, err := strconv.ParseInt(strings.Trim(value, `"`), 10, 64)
			if err != nil {
				return 0, true
			}
			had, _ := strconv.ParseInt(h.Get("Age"), 10, 64)
			return max(time.Duration(min(age, 1<<32)-min(had, 1<<32))*time.Second, 0), true
		}
	}
	if expires, err := http.ParseTime(h.Get("Expires")); err == nil {
		return max(expires.Sub(dateOf(h, now)), 0), true
	}
	return 0, h.Get("Expires") != ""
}

// retryAfter is how long a 429 or 503 wants the client to wait (RFC 9110 §10.2.3).
func retryAfter(e Entry) (time.Duration, bool) {
	value := strings.TrimSpace(e.Response.Get("Retry-After"))
	if seconds, err := strconv.ParseInt(value, 10, 64); err == nil {
		return time.Duration(min(max(seconds, 0), 1<<32)) * time.Second, true
	}
	if date, err := http.ParseTime(value); err == nil {
		return max(date.Sub(dateOf(e.Response, e.Time)), 0), true
	}
	return pause, e.Status == http.StatusTooManyRequests || e.Status == http.StatusServiceUnavailable
}

func dateOf(h http.Header, now time.Time) time.Time {
	if date, err := http.ParseTime(h.Get("Date")); err == nil {
		return date
	}
	return now
}
