package feed

import (
	"io"
	"mime"
	"regexp"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html/charset"
)

// Decode returns the text of a document as [Parse] reads it, for readers of other
// documents that come in the same disorder: in UTF-8, with characters that XML
// admits, and "\n" at the ends of lines. It is never an error; what had to be
// repaired is said in defects.
func Decode(doc []byte, contentType string) (text string, repaired []string) {
	var d defects
	text = decode(doc, contentType, &d)
	return text, d.list
}

// decode turns the bytes of a document into UTF-8 that XML admits: the charset is
// found, line ends are normalised as XML demands, and characters that may not
// stand in a document are taken out.
//
// What counts, in this order: a byte order mark; the bytes themselves, since text
// with characters beyond ASCII that is valid UTF-8 is hardly ever anything else;
// the charset of the Content-Type; the XML declaration; at last Windows-1252, which
// can read any byte.
func decode(doc []byte, contentType string, d *defects) string {
	text := toUTF8(string(doc), contentType, d)
	if clean := strings.Map(xmlChar, text); len(clean) != len(text) {
		d.add("control characters removed")
		text = clean
	}
	if strings.Contains(text, "\r") {
		text = strings.ReplaceAll(text, "\r\n", "\n")
		text = strings.ReplaceAll(text, "\r", "\n")
	}
	return text
}

// xmlChar drops what the Char production of XML 1.0 does not admit.
func xmlChar(r rune) rune {
	if r < 0x20 && r != '\t' && r != '\n' && r != '\r' || r == 0xFFFE || r == 0xFFFF {
		return -1
	}
	return r
}

func toUTF8(doc, contentType string, d *defects) string {
	switch {
	case strings.HasPrefix(doc, "\xef\xbb\xbf"):
		return strings.ToValidUTF8(doc[3:], "\uFFFD")
	case strings.HasPrefix(doc, "\xff\xfe"), strings.HasPrefix(doc, "<\x00"), strings.HasPrefix(doc, "{\x00"):
		return convert(doc, "utf-16le")
	case strings.HasPrefix(doc, "\xfe\xff"), strings.HasPrefix(doc, "\x00<"), strings.HasPrefix(doc, "\x00{"):
		return convert(doc, "utf-16be")
	}
	labels := declaredCharsets(doc, contentType)
	high := highBytes(doc)
	if high == 0 && !escapes(labels) {
		return doc
	}
	if utf8.ValidString(doc) && (high > 32 || !eastAsian(labels)) && !escapes(labels) {
		return doc
	}
	for _, label := range labels {
		if canonicalCharset(label) == "utf-8" || strings.HasPrefix(canonicalCharset(label), "utf-16") {
			continue // not so: it would have been valid, or shown a zero byte
		}
		if canonicalCharset(label) != "" {
			return convert(doc, label)
		}
		d.add("unknown charset %q", excerptPlain(label))
	}
	if mostlyUTF8(doc) {
		d.add("invalid UTF-8 replaced")
		return strings.ToValidUTF8(doc, "\uFFFD")
	}
	d.add("charset neither declared rightly nor UTF-8, read as Windows-1252")
	return convert(doc, "windows-1252")
}

var xmlEncoding = regexp.MustCompile(`^\s*<\?xml[^>]{0,200}?encoding\s*=\s*["']([A-Za-z0-9._:-]{1,40})["']`)

func declaredCharsets(doc, contentType string) []string {
	var labels []string
	if _, params, err := mime.ParseMediaType(contentType); err == nil && params["charset"] != "" {
		labels = append(labels, params["charset"])
	}
	head := doc[:min(len(doc), 512)]
	if m := xmlEncoding.FindStringSubmatch(head); m != nil {
		labels = append(labels, m[1])
	}
	return labels
}

func canonicalCharset(label string) string {
	_, name := charset.Lookup(label)
	if name == "replacement" {
		return ""
	}
	return name
}

// eastAsian reports a charset whose two-byte characters may by chance look like
// UTF-8 in a short text.
func eastAsian(labels []string) bool {
	for _, l := range labels {
		switch canonicalCharset(l) {
		case "gbk", "gb18030", "big5", "shift_jis", "euc-jp", "euc-kr":
			return true
		}
	}
	return false
}

// escapes reports the one charset in use that hides everything in ASCII.
func escapes(labels []string) bool {
	for _, l := range labels {
		if canonicalCharset(l) == "iso-2022-jp" {
			return true
		}
	}
	return false
}

func convert(doc, label string) string {
	r, err := charset.NewReaderLabel(label, strings.NewReader(doc))
	if err != nil {
		return strings.ToValidUTF8(doc, "\uFFFD")
	}
	out, _ := io.ReadAll(r) // what cannot be decoded comes as U+FFFD, not as an error
	return strings.TrimPrefix(strings.ToValidUTF8(string(out), "\uFFFD"), "\uFEFF")
}

func highBytes(s string) int {
	n := 0
	for i := 0; i < len(s); i++ {
		if s[i] >= utf8.RuneSelf {
			n++
		}
	}
	return n
}

// mostlyUTF8 tells UTF-8 with a few broken characters from another charset.
func mostlyUTF8(s string) bool {
	good, bad := 0, 0
	for _, r := range s {
		if r == utf8.RuneError {
			bad++
		} else if r >= utf8.RuneSelf {
			good++
		}
	}
	return good > bad
}
