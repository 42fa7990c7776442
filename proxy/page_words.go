package proxy

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/feedtree/feedtree"
)

// words is a feed's state for a person: how it is, and what happens next.
type words struct {
	Class string // "fine", "trouble" or "local": what it looks like
	Now   string
	Next  string // or ""
}

// inWords says how a feed is.
func inWords(f feedtree.FeedStatus, now time.Time) words {
	switch {
	case f.Failure != "":
		return words{"trouble", sentence(strings.TrimPrefix(f.Failure, f.URL+": ")), afterFailure(f, now)}
	case f.Role == feedtree.RoleLocal:
		return words{"local", "Stays on this machine: " + strings.TrimSuffix(f.Local, ".") + ".", nextPoll(f, now)}
	case f.Role == feedtree.RolePublisher:
		return words{"fine", "Published from here.", ""}
	case f.Apart:
		return words{"fine", "Fetched from the site" + fetchedAt(f, now) + ": none of the nodes this one is connected to carries it.", nextPoll(f, now)}
	case f.Live:
		return words{"fine", "Pushed by its publisher" + heardOf(f, now) + ".", "News comes by itself."}
	case f.Role == feedtree.RoleVolunteer:
		return words{"fine", "Polled from here, for everybody" + fetchedAt(f, now) + ".", nextPoll(f, now)}
	case f.Attached && !f.LastEvent.IsZero():
		return words{"fine", "Others poll it and pass the news on" + heardOf(f, now) + ".", ""}
	}
	return words{"fine", "Fetched from the site" + fetchedAt(f, now) + ".", nextPoll(f, now)}
}

// afterFailure says what becomes of a feed whose origin fails.
func afterFailure(f feedtree.FeedStatus, now time.Time) string {
	switch {
	case f.Reason == "status 410":
		return "Your reader keeps what is here."
	case f.Reason == "" && f.NextPoll.IsZero():
		return "Your reader keeps what is here."
	case f.Reason == "":
		return "It is looked at again " + until(now, f.NextPoll) + "."
	case f.NextPoll.IsZero():
		return "The site is not asked now. Until others bring news, your reader keeps what is here."
	}
	return "The site is asked again " + until(now, f.NextPoll) + ". Until then your reader keeps what is here."
}

func nextPoll(f feedtree.FeedStatus, now time.Time) string {
	if f.NextPoll.IsZero() {
		return ""
	}
	return "The site is asked next " + until(now, f.NextPoll) + "."
}

func heardOf(f feedtree.FeedStatus, now time.Time) string {
	if f.LastEvent.IsZero() {
		return ""
	}
	return ", heard of " + ago(now, f.LastEvent)
}

func fetchedAt(f feedtree.FeedStatus, now time.Time) string {
	if f.LastFetch.IsZero() {
		return ""
	}
	return ", last answer " + ago(now, f.LastFetch)
}

// sentence begins with a capital and ends with a stop.
func sentence(s string) string {
	s = clip(strings.TrimSpace(s))
	first, size := utf8.DecodeRuneInString(s)
	if size == 0 {
		return ""
	}
	s = string(unicode.ToUpper(first)) + s[size:]
	if !strings.HasSuffix(s, ".") && !strings.HasSuffix(s, "…") {
		s += "."
	}
	return s
}

// company is how this node stands among others, for a person.
type company struct {
	Class string // "fine", "alone" or "offline"
	Word  string
	Says  string
}

// unreached are the reasons of failure of a computer without a network.
var unreached = []string{"DNS", "connect", "timeout"}

func companyOf(s feedtree.Status) company {
	switch {
	case s.Peers > 0:
		return company{"fine", "Connected to " + plural(s.Peers, "other node", "other nodes"), "They bring news as it appears, and share the polling of sites."}
	case offline(s.Feeds):
		return company{"offline", "Offline", "No site and no other node can be reached: this computer seems to have no network. Your reader keeps getting what is here, and everything goes on by itself when the network is back."}
	}
	return company{"alone", "Alone", "No other node is connected. Sites are asked from here, politely, and all else works as usual. Others are looked for all the time."}
}

// offline reports that no feed's origin can be reached from here.
func offline(feeds []feedtree.FeedStatus) bool {
	tried := false
	for _, f := range feeds {
		if f.Role == feedtree.RolePublisher {
			continue
		}
		if !slices.Contains(unreached, f.Reason) {
			return false
		}
		tried = true
	}
	return tried
}

func plural(n int, one, many string) string {
	return thousands(n) + " " + map[bool]string{true: one, false: many}[n == 1]
}

// thousands writes a number in groups of three digits.
func thousands(n int) string {
	digits := strconv.Itoa(n)
	for i := len(digits) - 3; i > 0 && digits[i-1] != '-'; i -= 3 {
		digits = digits[:i] + "\u202f" + digits[i:]
	}
	return digits
}

// bytesText writes an amount as people read it.
func bytesText(n int64) string {
	const unit = 1000
	size, units := float64(n), []string{"bytes", "kB", "MB", "GB", "TB"}
	for size >= unit && len(units) > 1 {
		size, units = size/unit, units[1:]
	}
	if units[0] == "bytes" || size >= 100 {
		return fmt.Sprintf("%.0f %s", size, units[0])
	}
	return fmt.Sprintf("%.1f %s", size, units[0])
}

// count is one reason of refusal and how often it occurred.
type count struct {
	Reason string
	N      uint64
}

// counted sorts reasons by how often they occurred.
func counted(m map[string]uint64) []count {
	var list []count
	for reason, n := range m {
		if n > 0 {
			list = append(list, count{reason, n})
		}
	}
	slices.SortFunc(list, func(a, b count) int {
		return cmp.Or(cmp.Compare(b.N, a.N), cmp.Compare(a.Reason, b.Reason))
	})
	return list
}

// short returns the end of a peer ID, which is where IDs differ.
func short(id string) string {
	const most = 8
	if len(id) <= most {
		return id
	}
	return "…" + id[len(id)-most:]
}

// ago says how long before now something was.
func ago(now, t time.Time) string {
	if t.IsZero() {
		return "never"
	}
	if d := now.Sub(t); d >= 2*time.Second {
		return span(d) + " ago"
	}
	return "just now"
}

// until says how long after now something will be.
func until(now, t time.Time) string {
	if d := t.Sub(now); d >= time.Second {
		return "in " + span(d)
	}
	return "now"
}

func span(d time.Duration) string {
	switch {
	case d < time.Minute:
		return strconv.Itoa(int(d/time.Second)) + " s"
	case d < time.Hour:
		return strconv.Itoa(int(d/time.Minute)) + " min"
	case d < 48*time.Hour:
		return strconv.Itoa(int(d/time.Hour)) + " h"
	}
	return strconv.Itoa(int(d/(24*time.Hour))) + " days"
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }

// machine writes a time for programs, as the attribute datetime wants it.
func machine(t time.Time) string { return t.UTC().Format(time.RFC3339) }
