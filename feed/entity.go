package feed

import (
	"html"
	"strconv"
	"strings"
)

// maxEntity is longer than the longest named entity of HTML.
const maxEntity = 40

// reference looks at the entity reference that s may begin with, s[0] being '&'.
// It returns how many bytes it takes and what should stand there in XML: the same
// text where that is well formed, the character where only HTML knows the name, an
// escaped ampersand where it is none.
func reference(s string) (n int, with string) {
	window := s[:min(len(s), maxEntity)]
	end := strings.IndexByte(window, ';')
	if end < 2 {
		return 1, "&amp;"
	}
	name, span := s[1:end], s[:end+1]
	switch name {
	case "amp", "lt", "gt", "quot", "apos":
		return len(span), span
	}
	if name[0] == '#' {
		r, ok := charReference(name[1:])
		switch {
		case !ok:
			return 1, "&amp;"
		case xmlChar(r) < 0 || r > 0x10FFFF || r >= 0xD800 && r < 0xE000 || r == 0:
			return len(span), "\uFFFD"
		}
		return len(span), span
	}
	if !isWord(name) {
		return 1, "&amp;"
	}
	// HTML decodes some names without the semicolon: "&copy=2;" must stay.
	char := html.UnescapeString(span)
	if char == span || char == html.UnescapeString(span[:len(span)-1])+";" {
		return 1, "&amp;"
	}
	return len(span), escapeText(char)
}

func charReference(digits string) (rune, bool) {
	base := 10
	if digits != "" && (digits[0] == 'x' || digits[0] == 'X') {
		// XML knows only the small x; the large one is written anew below.
		if digits[0] == 'X' {
			return 0, false
		}
		base, digits = 16, digits[1:]
	}
	if digits == "" || digits[0] == '+' || digits[0] == '-' || len(digits) > 10 {
		return 0, false
	}
	v, err := strconv.ParseInt(digits, base, 64)
	if err != nil || v > 0x7FFFFFFF {
		return 0, false
	}
	return rune(v), true
}

func isWord(s string) bool {
	for i := 0; i < len(s); i++ {
		c := s[i]
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9') {
			return false
		}
	}
	return s != ""
}

// unescape resolves the references of well-formed XML text.
func unescape(s string) string {
	if !strings.Contains(s, "&") {
		return s
	}
	var b strings.Builder
	for {
		i := strings.IndexByte(s, '&')
		if i < 0 {
			b.WriteString(s)
			return b.String()
		}
		b.WriteString(s[:i])
		s = s[i:]
		end := strings.IndexByte(s[:min(len(s), maxEntity)], ';')
		if end < 2 {
			b.WriteByte('&')
			s = s[1:]
			continue
		}
		switch name := s[1:end]; {
		case name == "amp":
			b.WriteByte('&')
		case name == "lt":
			b.WriteByte('<')
		case name == "gt":
			b.WriteByte('>')
		case name == "quot":
			b.WriteByte('"')
		case name == "apos":
			b.WriteByte('\'')
		case name[0] == '#':
			if r, ok := charReference(name[1:]); ok {
				b.WriteRune(r)
			}
		}
		s = s[end+1:]
	}
}

// innerText returns the character data of an element's well-formed content:
// CDATA as it is, references resolved, markup left out, trimmed.
func innerText(s string) string {
	var b strings.Builder
	for s != "" {
		i := strings.IndexByte(s, '<')
		if i < 0 {
			b.WriteString(unescape(s))
			break
		}
		b.WriteString(unescape(s[:i]))
		s = s[i:]
		if rest, ok := strings.CutPrefix(s, "<![CDATA["); ok {
			in, after, _ := strings.Cut(rest, "]]>")
			b.WriteString(in)
			s = after
			continue
		}
		_, s, _ = strings.Cut(s, ">")
	}
	return strings.Trim(b.String(), " \t\r\n")
}

var (
	textEscaper = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "\r", "&#xD;")
	attrEscaper = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;",
		"\r", "&#xD;", "\n", "&#xA;", "\t", "&#x9;")
)

// escapeText and escapeAttr write a string as XML, without what XML cannot hold.
func escapeText(s string) string { return textEscaper.Replace(xmlSafe(s)) }
func escapeAttr(s string) string { return attrEscaper.Replace(xmlSafe(s)) }

func xmlSafe(s string) string { return strings.Map(xmlChar, strings.ToValidUTF8(s, "\uFFFD")) }
