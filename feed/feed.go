package feed

import "time"

// Format is a family of feed documents. The numbers are those of the media types
// in signed envelopes.
type Format uint8

const (
	RSS      Format = 1 + iota // RSS 0.90 to 2.0 and RSS 1.0; rendered as 2.0
	Atom                       // Atom 0.3 and 1.0; rendered as 1.0
	JSONFeed                   // JSON Feed 1.0 and 1.1; rendered as 1.1
)

// String names the format as people do.
func (f Format) String() string {
	switch f {
	case RSS:
		return "RSS"
	case Atom:
		return "Atom"
	case JSONFeed:
		return "JSON Feed"
	}
	return "unknown format"
}

// MediaType returns the registered type of documents in the format, without
// parameters; every document that Render writes is UTF-8.
func MediaType(f Format) string {
	switch f {
	case RSS:
		return "application/rss+xml"
	case Atom:
		return "application/atom+xml"
	case JSONFeed:
		return "application/feed+json"
	}
	return "application/octet-stream"
}

// Feed is one document: the channel and its items in document order.
// It is a value: copies may share what they point to, which nobody changes.
type Feed struct {
	Format  Format
	Version string // as the document states it: "0.91", "1.0", "2.0", "1.1"

	ID          string // atom:id; RSS and JSON Feed have none
	Title       string // plain text
	Link        string // the site, for people
	Self        string // rel=self or feed_url: what the feed says its own URL is
	Description string
	Language    string
	Updated     time.Time

	About  About         // what few readers look at
	Hubs   []string      // WebSub hubs
	TTL    time.Duration // RSS ttl: how long a reader may cache
	Tree   *Tree         // ft:tree, if the feed can be had by push
	Poll   *Poll         // ft:poll, the publisher's word to volunteers
	Items  []Item
	source *head // nil: made by hand

	// Defects is what Parse had to repair or leave out, for people; at most 16.
	Defects []string
}

// About holds the rest of what a channel says of itself.
type About struct {
	Authors    []Person
	Categories []Category
	Rights     string
	Generator  string
	Image      Image
}

// Image is a picture that stands for a channel.
type Image struct{ URL, Title, Link string }

// Item is one entry of a feed.
type Item struct {
	GUID      string // guid or id, byte for byte; "" if the source gave none
	PermaLink bool   // the GUID is also the item's address (RSS isPermaLink)
	Title     string // plain text
	Link      string
	Published time.Time // zero: not said
	Updated   time.Time // zero: not said

	Authors    []Person
	Categories []Category
	Summary    string // HTML, unless Also.PlainSummary
	Content    string // HTML, unless Also.PlainContent
	Enclosures []Enclosure
	Also       Also

	source *raw // nil: made by hand
}

// Also holds the rest of what an item says.
type Also struct {
	PlainSummary, PlainContent bool // not HTML but text, the source says

	Comments string // page for comments
	External string // the page that a link blog's item is about
	Image    string
	Source   Source // the feed that the item was taken from
}

// Source names the feed from which an item was republished.
type Source struct {
	Title string `json:"title,omitempty"`
	URL   string `json:"url,omitempty"`
}

// Person is an author.
type Person struct {
	Name  string `json:"name,omitempty"`
	Email string `json:"email,omitempty"`
	URI   string `json:"uri,omitempty"`
}

// Category is a tag, with the vocabulary it is from and the name to show, if any.
type Category struct {
	Term   string `json:"term"`
	Scheme string `json:"scheme,omitempty"`
	Label  string `json:"label,omitempty"`
}

// Enclosure is a file that comes with an item. Length is 0 if not known.
type Enclosure struct {
	URL    string
	Type   string
	Length int64
	Title  string
}

// Date returns when the item was published, else when it was updated, else zero.
func (it Item) Date() time.Time {
	if it.Published.IsZero() {
		return it.Updated
	}
	return it.Published
}
