package feed

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash"
	"html"
	"strings"
	"time"
)

// Key identifies the item within its feed: its GUID if it has one, else title and
// link, else, for an item with none of these, its content. It is never empty.
func (it Item) Key() string {
	switch {
	case it.GUID != "":
		return "guid:" + it.GUID
	case it.Title != "" || it.Link != "":
		return "link:" + it.Title + "\n" + it.Link
	}
	sum := it.Hash()
	return "hash:" + hex.EncodeToString(sum[:])
}

// Hash is the content hash: SHA-256 over what a reader would call the content.
// Two items with the same key and different hashes are versions of one item.
//
// The tuple, each string behind its length as 8 bytes, big endian, each list
// behind its count: "feedtree/item/1", title, link, summary, content, authors
// (name, email, URI), categories (term, scheme, label), enclosures (URL, type,
// length in decimal). Plain texts count as the HTML that shows them. Neither the
// dates nor the format are in it; see the package comment.
func (it Item) Hash() [32]byte {
	t := tuple{sha256.New()}
	t.strings("feedtree/item/1", it.Title, it.Link)
	t.strings(asHTML(it.Summary, it.Also.PlainSummary), asHTML(it.Content, it.Also.PlainContent))
	t.count(len(it.Authors))
	for _, p := range it.Authors {
		t.strings(p.Name, p.Email, p.URI)
	}
	t.count(len(it.Categories))
	for _, c := range it.Categories {
		t.strings(c.Term, c.Scheme, c.Label)
	}
	t.count(len(it.Enclosures))
	for _, e := range it.Enclosures {
		t.strings(e.URL, e.Type, fmt.Sprint(e.Length))
	}
	return t.sum()
}

// seal ends the reading of an item: white space around its texts is gone, as every
// format we write would take it off, and an id that stood in for none.
func (it *Item) seal(r *raw) {
	for _, s := range []*string{
		&it.Title, &it.Link, &it.Summary, &it.Content, &it.Also.Comments, &it.Also.External, &it.Also.Image,
		&it.Also.Source.Title, &it.Also.Source.URL,
	} {
		*s = strings.TrimSpace(*s)
	}
	it.dropStandIn()
	r.sum = it.fields()
	it.source = r
}

// fields is a hash over all that Parse put into the item, to notice whether a
// caller changed it since.
func (it Item) fields() [32]byte {
	t := tuple{sha256.New()}
	h := it.Hash()
	t.strings(string(h[:]), it.GUID, fmt.Sprint(it.PermaLink))
	t.strings(it.Published.Format(time.RFC3339Nano), it.Updated.Format(time.RFC3339Nano))
	t.strings(fmt.Sprintf("%#v", it.Also), fmt.Sprintf("%#v", it.Enclosures))
	return t.sum()
}

type tuple struct{ h hash.Hash }

func (t tuple) count(n int) {
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], uint64(n))
	t.h.Write(b[:])
}

func (t tuple) strings(list ...string) {
	for _, s := range list {
		t.count(len(s))
		t.h.Write([]byte(s))
	}
}

func (t tuple) sum() (sum [32]byte) {
	t.h.Sum(sum[:0])
	return sum
}

// asHTML returns a text as HTML. Text in which HTML would see no markup is its
// own HTML: feeds say "text" and "html" of the same harmless strings.
func asHTML(s string, plain bool) string {
	if !plain || !strings.ContainsAny(s, "<&") {
		return s
	}
	if html.UnescapeString(s) == s && !markup(s) {
		return s
	}
	return html.EscapeString(s)
}

// markup reports a "<" that HTML would take for the beginning of a tag.
func markup(s string) bool {
	for i := 0; i+1 < len(s); i++ {
		if s[i] != '<' {
			continue
		}
		c := s[i+1] | 0x20
		if c >= 'a' && c <= 'z' || s[i+1] == '/' || s[i+1] == '!' || s[i+1] == '?' {
			return true
		}
	}
	return false
}

func newest(it Item) time.Time {
	if it.Updated.After(it.Published) {
		return it.Updated
	}
	return it.Published
}
