package fetch

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// maxDelay bounds every delay a server can name: beyond a year it means never.
const maxDelay = 366 * 24 * time.Hour

// freshness reads how long an answer stays fresh, whether that is said at all, and
// whether it is for one reader only (RFC 9111): max-age less the age it has
// already, else Expires.
func freshness(h http.Header, now time.Time) (fresh time.Duration, said, private bool) {
	for _, value := range h.Values("Cache-Control") {
		for directive := range strings.SplitSeq(value, ",") {
			name, argument, _ := strings.Cut(strings.TrimSpace(directive), "=")
			switch strings.ToLower(strings.TrimSpace(name)) {
			case "max-age":
				if age, ok := seconds(strings.Trim(strings.TrimSpace(argument), `"`)); ok && !said {
					fresh, said = age, true
				}
			case "no-cache":
				fresh, said = 0, true
			case "private", "no-store":
				private = true
			}
		}
	}
	if said {
		if age, ok := seconds(h.Get("Age")); ok {
			fresh = max(fresh-age, 0)
		}
		return fresh, said, private
	}
	// RFC 9111 §5.3: an Expires that is no date means a time in the past.
	if value := h.Get("Expires"); value != "" {
		said = true
		if expires, err := http.ParseTime(value); err == nil {
			fresh = clamp(expires.Sub(serverTime(h, now)))
		}
	}
	return fresh, said, private
}

// retryAfter reads how long a server wants to be left alone, in seconds or up
// to a date by its own clock (RFC 9110 §10.2.3).
func retryAfter(h http.Header, now time.Time) time.Duration {
	value := strings.TrimSpace(h.Get("Retry-After"))
	if delay, ok := seconds(value); ok {
		return delay
	}
	if date, err := http.ParseTime(value); err == nil {
		return clamp(date.Sub(serverTime(h, now)))
	}
	return 0
}

// serverTime is the time by the clock that wrote the other dates.
func serverTime(h http.Header, now time.Time) time.Time {
	if date, err := http.ParseTime(h.Get("Date")); err == nil {
		return date
	}
	return now
}

// dated is what the clock of who answers says now: a cache passes on the date of
// the answer it holds, and says how old that is (RFC 9111 §5.1).
func dated(h http.Header) time.Time {
	date, err := http.ParseTime(h.Get("Date"))
	if err != nil {
		return time.Time{}
	}
	age, _ := seconds(strings.TrimSpace(h.Get("Age")))
	return date.Add(age)
}

// seconds reads a delay in whole seconds. Larger than any number is still a
// number.
func seconds(s string) (time.Duration, bool) {
	if s == "" || strings.Trim(s, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n > int64(maxDelay/time.Second) {
		return maxDelay, true
	}
	return time.Duration(n) * time.Second, true
}

func clamp(d time.Duration) time.Duration { return min(max(d, 0), maxDelay) }

// Links returns the targets of the answer's Link headers with a relation
// (RFC 8288), absolute, in order.
func (r *Result) Links(rel string) []string {
	base, err := url.Parse(r.URL)
	if err != nil {
		return nil
	}
	var targets []string
	for _, header := range r.Link {
		for header != "" {
			var target string
			var rels []string
			target, rels, header = nextLink(header)
			for _, one := range rels {
				if strings.EqualFold(one, rel) {
					if u, err := base.Parse(target); err == nil {
						targets = append(targets, u.String())
					}
					break
				}
			}
		}
	}
	return targets
}

// nextLink cuts the first link off a Link header.
func nextLink(header string) (target string, rels []string, rest string) {
	_, header, ok := strings.Cut(header, "<")
	if !ok {
		return "", nil, ""
	}
	target, header, ok = strings.Cut(header, ">")
	if !ok {
		return "", nil, ""
	}
	for {
		header = strings.TrimLeft(header, " \t;")
		if header == "" || header[0] == ',' {
			return strings.TrimSpace(target), rels, header
		}
		end := strings.IndexAny(header, "=;,")
		if end < 0 {
			return strings.TrimSpace(target), rels, ""
		}
		name := strings.TrimSpace(header[:end])
		var value string
		if header[end] == '=' {
			value, header = parameter(header[end+1:])
		} else {
			header = header[end:]
		}
		// Of several rel parameters the first counts.
		if strings.EqualFold(name, "rel") && rels == nil {
			rels = strings.Fields(value)
		}
	}
}

// parameter reads a token or a quoted string.
func parameter(s string) (value, rest string) {
	s = strings.TrimLeft(s, " \t")
	if !strings.HasPrefix(s, `"`) {
		end := strings.IndexAny(s, ";,")
		if end < 0 {
			end = len(s)
		}
		return strings.TrimSpace(s[:end]), s[end:]
	}
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] == '"':
			return b.String(), s[i+1:]
		case s[i] == '\\' && i+1 < len(s):
			i++
		}
		b.WriteByte(s[i])
	}
	return b.String(), ""
}
