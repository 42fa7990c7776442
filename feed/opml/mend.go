package opml

import "strings"

const (
	outline   = "<outline"
	maxValue  = 64 << 10 // of an attribute that is not closed where it seems to be
	tagAttrs  = 4 * maxAttrs
	spaceOrGT = space + ">"
)

// mend writes the tags of outlines so that any tokenizer reads them as they were
// meant. Readers paste descriptions with markup into attributes as they are:
//
//	<outline description="See <a href="https://x/">x</a>" xmlUrl="https://y/"/>
//
// A quote ends a value only if what follows it could follow: another attribute, or
// the end of the tag, which is one only if what follows that could. If no quote
// does before the next outline, the first one is taken at its word.
func mend(text string) string {
	var m mender
	for {
		i := m.next(text)
		if i < 0 {
			m.out.WriteString(text)
			return m.out.String()
		}
		i += len(outline)
		m.out.WriteString(text[:i])
		m.rest = text[i:]
		if m.limit = m.next(m.rest); m.limit < 0 {
			m.limit = len(m.rest)
		}
		m.tag()
		text = m.rest
	}
}

// next finds an outline's tag outside comments.
func (m *mender) next(s string) int {
	for at := 0; ; {
		i := strings.IndexByte(s[at:], '<')
		if i < 0 {
			return -1
		}
		at += i
		switch {
		case beginsOutline(s[at:]):
			return at
		case !m.never && strings.HasPrefix(s[at:], "<!--"):
			end := strings.Index(s[at:], "-->")
			m.never = end < 0 // looking again and again would make hostile input quadratic
			at += max(end, 0)
		}
		at++
	}
}

func beginsOutline(s string) bool {
	return len(s) > len(outline) && strings.EqualFold(s[:len(outline)], outline) && strings.ContainsRune(space+"/>", rune(s[len(outline)]))
}

// mender is mend under way.
type mender struct {
	out   strings.Builder
	rest  string // of the text
	limit int    // where in it the next outline begins
	never bool   // no comment ends any more
	plain bool   // in this tag a value had no better end than its first quote
}

// tag reads a tag behind its name, and writes it.
func (m *mender) tag() {
	m.plain = false
	for n := 0; ; {
		m.skip(len(m.rest) - len(strings.TrimLeft(m.rest, space)))
		switch {
		case m.rest == "":
			return // cut off: a tag without an end is none
		case closing(m.rest) > 0:
			end := closing(m.rest)
			m.out.WriteString(m.rest[:end])
			m.skip(end)
			return
		case beginsOutline(m.rest), strings.HasPrefix(m.rest, "</") && follows(m.rest):
			m.out.WriteByte('>') // it was never closed
			return
		}
		name := m.rest[:nameEnd(m.rest)]
		if name == "" {
			m.skip(1) // a character that has no business here
			continue
		}
		m.skip(len(name))
		after := strings.TrimLeft(m.rest, space)
		if !strings.HasPrefix(after, "=") {
			continue // a word that has none
		}
		m.skip(len(m.rest) - len(after) + 1)
		if value, ok := m.value(); ok && isName(name) && n < tagAttrs {
			m.out.WriteString(" " + name + `="` + quoted.Replace(value) + `"`)
			n++
		}
	}
}

func (m *mender) skip(n int) {
	m.rest = m.rest[n:]
	m.limit -= n
}

var quoted = strings.NewReplacer(`"`, "&quot;", "<", "&lt;", ">", "&gt;")

// value reads what stands behind "=".
func (m *mender) value() (string, bool) {
	m.skip(len(m.rest) - len(strings.TrimLeft(m.rest, space)))
	if m.rest == "" {
		return "", false
	}
	q := m.rest[0]
	if q != '"' && q != '\'' {
		end := strings.IndexAny(m.rest, spaceOrGT)
		if end < 0 {
			end = len(m.rest)
		}
		value := m.rest[:end]
		m.skip(end)
		return value, true
	}
	m.skip(1)
	end := m.valueEnd(q)
	if end < 0 {
		return "", false
	}
	value := m.rest[:end]
	m.skip(end + 1)
	return value, true
}

// valueEnd finds the quote that ends a value.
func (m *mender) valueEnd(q byte) int {
	first := strings.IndexByte(m.rest, q)
	if first < 0 || m.plain {
		return first
	}
	for at := first; at < m.limit && at < maxValue; {
		if continues(m.rest[at+1 : min(at+1+maxValue, len(m.rest))]) {
			return at
		}
		next := strings.IndexByte(m.rest[at+1:], q)
		if next < 0 {
			break
		}
		at += 1 + next
	}
	m.plain = true
	return first
}

// continues reports what can follow a value.
func continues(s string) bool {
	s = strings.TrimLeft(s, space)
	if s == "" || closing(s) > 0 || s[0] == '<' && follows(s) {
		return true
	}
	end := nameEnd(s)
	if end == 0 || end > maxName {
		return false
	}
	s, ok := strings.CutPrefix(strings.TrimLeft(s[end:], space), "=")
	s = strings.TrimLeft(s, space)
	return ok && s != "" && (s[0] == '"' || s[0] == '\'')
}

// closing returns the length of the end of a tag, 0 if s does not begin with one:
// a ">" with text behind it is a part of a description.
func closing(s string) int {
	end := 0
	switch {
	case strings.HasPrefix(s, "/>"):
		end = 2
	case strings.HasPrefix(s, ">"):
		end = 1
	default:
		return 0
	}
	if rest := strings.TrimLeft(s[end:min(end+maxValue, len(s))], space); rest != "" && !follows(rest) {
		return 0
	}
	return end
}

// follows reports what can follow the tag of an outline.
func follows(s string) bool {
	for _, tag := range []string{"</outline", "</body", "</opml", "<!--", "<![CDATA["} {
		if len(s) >= len(tag) && strings.EqualFold(s[:len(tag)], tag) {
			return true
		}
	}
	return beginsOutline(s)
}

func nameEnd(s string) int {
	if end := strings.IndexAny(s, space+`=/><"'`); end >= 0 {
		return end
	}
	return len(s)
}
