package fetch

import (
	"bytes"
	"encoding/xml"
	"io"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/html/charset"

	"github.com/feedtree/feedtree/feed/fetch/polite"
)

const (
	syndication = "http://purl.org/rss/1.0/modules/syndication/"
	headTokens  = 2000           // tokens of XML that are read in search of the first item
	longestWish = 24 * time.Hour // whoever wants more wants nothing that helps a reader
)

// readWishes reads what the head of an RSS document asks of those who poll it, as
// far as it is well formed. What follows the first item is not looked at. Atom and
// JSON Feed have no such words; Atom may borrow sy:*.
func readWishes(doc []byte) polite.Wishes {
	d := xml.NewDecoder(bytes.NewReader(doc))
	d.Strict = false
	d.CharsetReader = func(label string, in io.Reader) (io.Reader, error) { return charset.NewReaderLabel(label, in) }
	h := head{frequency: 1}
	for range headTokens {
		token, err := d.Token()
		if err != nil || !h.take(token) {
			break
		}
	}
	if h.period > 0 {
		h.wishes.Period = min(h.period/time.Duration(h.frequency), longestWish)
	}
	return h.wishes
}

// head is what was read of a document's head so far.
type head struct {
	path      []xml.Name
	wishes    polite.Wishes
	period    time.Duration
	frequency int
}

// take reads a token, and reports whether the head goes on.
func (h *head) take(token xml.Token) bool {
	switch t := token.(type) {
	case xml.StartElement:
		if t.Name.Local == "item" || t.Name.Local == "entry" {
			return false
		}
		h.path = append(h.path, t.Name)
	case xml.EndElement:
		h.path = h.path[:max(len(h.path)-1, 0)]
	case xml.CharData:
		if text := strings.TrimSpace(string(t)); text != "" && len(h.path) > 0 {
			h.text(text)
		}
	}
	return true
}

// text takes in what an element holds, if it is a wish.
func (h *head) text(text string) {
	name, in := h.path[len(h.path)-1], ""
	if len(h.path) > 1 {
		in = h.path[len(h.path)-2].Local
	}
	number, err := strconv.Atoi(text)
	positive := err == nil && number > 0
	switch {
	case name.Space == syndication && name.Local == "updatePeriod":
		h.period = periods[strings.ToLower(text)]
	case name.Space == syndication && name.Local == "updateFrequency" && positive:
		h.frequency = number
	case name.Local == "ttl" && in == "channel" && positive:
		h.wishes.TTL = min(time.Duration(min(number, 1<<20))*time.Minute, longestWish)
	case name.Local == "hour" && in == "skipHours" && err == nil && number >= 0 && number <= 24:
		h.wishes.Hours |= 1 << (number % 24) // RSS 0.91 counts from 1 to 24
	case name.Local == "day" && in == "skipDays":
		for day := time.Sunday; day <= time.Saturday; day++ {
			if strings.EqualFold(text, day.String()) {
				h.wishes.Days |= 1 << day
			}
		}
	}
}

// periods are the words of sy:updatePeriod.
var periods = map[string]time.Duration{
	"hourly": time.Hour, "daily": 24 * time.Hour, "weekly": 7 * 24 * time.Hour,
	"monthly": 30 * 24 * time.Hour, "yearly": 365 * 24 * time.Hour,
}
