package opml

import "strings"

// names finds how the attributes of a tag are spelled: the tokenizer has them all
// in small letters, and to XML the case of a letter matters.
type names struct {
	raw string // the tag
	at  int    // how far it is read
}

const space = " \t\n\f"

// next returns the spelling of the next attribute.
func (n *names) next(lower string) string {
	for lower != "" {
		i := indexFold(n.raw[n.at:], lower)
		if i < 0 {
			n.at = len(n.raw)
			return lower
		}
		begin := n.at + i
		end := begin + len(lower)
		n.at = end
		if begin > 0 && !strings.ContainsRune(space+`/"'`, rune(n.raw[begin-1])) {
			continue
		}
		if end < len(n.raw) && !strings.ContainsRune(space+"=/>", rune(n.raw[end])) {
			continue
		}
		n.skipValue()
		return n.raw[begin:end]
	}
	return ""
}

// skipValue skips "=VALUE".
func (n *names) skipValue() {
	rest := strings.TrimLeft(n.raw[n.at:], space)
	rest, ok := strings.CutPrefix(rest, "=")
	if !ok {
		return
	}
	rest = strings.TrimLeft(rest, space)
	if rest == "" {
		return
	}
	if q := rest[:1]; q == `"` || q == "'" {
		if end := strings.Index(rest[1:], q); end >= 0 {
			rest = rest[end+2:]
		}
	} else if end := strings.IndexAny(rest, space+">"); end >= 0 {
		rest = rest[end:]
	}
	n.at = len(n.raw) - len(rest)
}

// indexFold is strings.Index for a name in small letters of ASCII.
func indexFold(s, lower string) int {
	for i := 0; i+len(lower) <= len(s); i++ {
		if strings.EqualFold(s[i:i+len(lower)], lower) {
			return i
		}
	}
	return -1
}

// legal puts U+FFFD in the place of what no XML document may hold, and a reference
// can name all the same: it could not be written as it was read.
func legal(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\t' && r != '\n' && r != '\r' || r == 0xfffe || r == 0xffff {
			return '\ufffd'
		}
		return r
	}, s)
}

// isName reports what XML takes for the name of an attribute, of ASCII, with at
// most one prefix.
func isName(s string) bool {
	if len(s) > maxName {
		return false
	}
	for part := range strings.SplitSeq(s, ":") {
		if !isPlain(part) {
			return false
		}
	}
	return strings.Count(s, ":") <= 1
}

func isPlain(s string) bool {
	for i := 0; i < len(s); i++ {
		c := s[i]
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_'
		if !letter && (i == 0 || !(c >= '0' && c <= '9' || c == '-' || c == '.')) {
			return false
		}
	}
	return s != ""
}

// properly spells the elements of the head, which the tokenizer has in small
// letters.
func properly(name string) string {
	for _, known := range []string{"dateCreated", "dateModified", "ownerName", "ownerEmail", "ownerId", "expansionState",
		"vertScrollState", "windowTop", "windowLeft", "windowBottom", "windowRight"} {
		if strings.EqualFold(known, name) {
			return known
		}
	}
	return name
}
