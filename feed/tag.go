package feed

import (
	"fmt"
	"strings"
)

// rawAttr is an attribute as it will stand in the repaired text.
type rawAttr struct{ name, value string }

// tag is a start tag as read.
type tag struct {
	name  string
	end   int // offset after ">"
	empty bool
	dirty bool // must be written anew
}

// startTag reads a start tag and opens the element. A "<" that begins no name is
// text.
func (s *scanner) startTag() error {
	name := s.src[s.i+1 : wordEnd(s.src, s.i+1)]
	prefix, local, ok := qname(name)
	if !ok || prefix == "xmlns" {
		s.literal()
		return nil
	}
	t, ok := s.readTag(name)
	if !ok {
		s.replace(s.i, len(s.src), "")
		s.i = len(s.src)
		return nil
	}
	if len(s.stack) >= maxDepth {
		return fmt.Errorf("%w: more than %d levels at <%s>", ErrTooDeep, maxDepth, excerptPlain(name))
	}
	if voidHTML(name) && !t.empty && !strings.HasPrefix(s.src[t.end:], "</"+name) {
		t.empty, t.dirty = true, true
	}
	start := s.at(s.i)
	if t.dirty {
		s.replace(s.i, t.end, s.rewritten(t))
	}
	s.i = t.end
	return s.open(t, prefix, local, start)
}

func (s *scanner) open(t tag, prefix, local string, start int) error {
	declared := s.names.push(s.attrs)
	space := s.names.element(prefix)
	for _, a := range s.attrs {
		if p, _, ok := strings.Cut(a.name, ":"); ok {
			s.names.attribute(p)
		}
	}
	if len(s.names.free) > maxPrefixes {
		return fmt.Errorf("%w: more than %d prefixes that are not declared", ErrTooMany, maxPrefixes)
	}
	o := open{name: t.name, declared: declared}
	if len(s.stack) < s.keep {
		if s.kept++; s.kept > maxElements {
			return fmt.Errorf("%w: more than %d", ErrTooMany, maxElements)
		}
		o.el = &element{prefix: prefix, local: local, space: space, start: start, inner: s.at(t.end)}
		o.el.attrs = parsedAttrs(s.attrs)
		if len(s.stack) == 0 {
			s.root = o.el
		} else if parent := s.top().el; parent != nil {
			parent.kids = append(parent.kids, o.el)
		}
	}
	s.stack = append(s.stack, o)
	if t.empty {
		s.pop(s.at(s.i), s.at(s.i))
		s.finished = len(s.stack) == 0
	}
	return nil
}

// readTag reads the attributes into s.attrs. It fails if the text ends first.
func (s *scanner) readTag(name string) (t tag, ok bool) {
	t.name = name
	s.attrs = s.attrs[:0]
	i := s.i + 1 + len(name)
	for {
		before := i
		i = skipSpace(s.src, i)
		if i >= len(s.src) {
			return t, false
		}
		switch {
		case s.src[i] == '>':
			t.end = i + 1
			return t, true
		case strings.HasPrefix(s.src[i:], "/>"):
			t.end, t.empty = i+2, true
			return t, true
		case s.src[i] == '<':
			// The tag was never closed and the next begins.
			t.end, t.dirty = i, true
			return t, true
		}
		if i == before {
			t.dirty = true // no space between attributes
		}
		if i, ok = s.readAttr(&t, i); !ok {
			return t, false
		}
	}
}

func (s *scanner) readAttr(t *tag, i int) (next int, ok bool) {
	end := wordEnd(s.src, i)
	if end == i {
		t.dirty = true
		return i + 1, true // a character that has no business here
	}
	name := s.src[i:end]
	i = skipSpace(s.src, end)
	if i >= len(s.src) {
		return i, false
	}
	value, regular := "", false
	if s.src[i] == '=' {
		if i = skipSpace(s.src, i+1); i >= len(s.src) {
			return i, false
		}
		value, i, regular = s.attrValue(i)
	}
	if !regular {
		t.dirty = true
		s.defects.add("attributes without value or quotes")
	}
	fixed, changed := repairAttr(value)
	if changed {
		t.dirty = true
	}
	if !s.addAttr(name, fixed) {
		t.dirty = true
	}
	return i, true
}

// attrValue reads a value, quoted or not.
func (s *scanner) attrValue(i int) (value string, next int, quoted bool) {
	if q := s.src[i]; q == '"' || q == '\'' {
		if n := s.find(i+1, s.src[i:i+1]); n >= 0 {
			return s.src[i+1 : n], n + 1, true
		}
		i++
	}
	end := strings.IndexAny(s.src[i:], " \t\n>")
	if end < 0 {
		end = len(s.src) - i
	}
	return s.src[i : i+end], i + end, false
}

// addAttr takes an attribute in, unless its name is none or taken.
func (s *scanner) addAttr(name, value string) bool {
	prefix, local, ok := qname(name)
	if !ok || len(s.attrs) >= maxAttrs {
		return false
	}
	if prefix == "xmlns" && (value == "" || local == "xml" || local == "xmlns") {
		return false // the namespaces recommendation forbids it
	}
	for _, a := range s.attrs {
		if a.name == name {
			return false
		}
	}
	s.attrs = append(s.attrs, rawAttr{name, value})
	return true
}

func (s *scanner) rewritten(t tag) string {
	var b strings.Builder
	b.WriteString("<" + t.name)
	for _, a := range s.attrs {
		quote := `"`
		if strings.Contains(a.value, `"`) {
			quote = "'"
		}
		v := a.value
		if quote == "'" {
			v = strings.ReplaceAll(v, "'", "&apos;")
		}
		b.WriteString(" " + a.name + "=" + quote + v + quote)
	}
	if t.empty {
		b.WriteByte('/')
	}
	b.WriteByte('>')
	return b.String()
}

// repairAttr makes a value fit to stand between quotes.
func repairAttr(v string) (fixed string, changed bool) {
	if !strings.ContainsAny(v, "&<") {
		return v, false
	}
	var b strings.Builder
	for i := 0; i < len(v); {
		switch v[i] {
		case '<':
			b.WriteString("&lt;")
			i++
		case '&':
			n, with := reference(v[i:])
			b.WriteString(with)
			i += n
		default:
			end := strings.IndexAny(v[i:], "&<")
			if end < 0 {
				end = len(v) - i
			}
			b.WriteString(v[i : i+end])
			i += end
		}
	}
	return b.String(), b.String() != v
}

func parsedAttrs(raw []rawAttr) []attr {
	if len(raw) == 0 {
		return nil
	}
	attrs := make([]attr, len(raw))
	for i, a := range raw {
		prefix, local, _ := qname(a.name)
		attrs[i] = attr{prefix, local, unescape(a.value)}
	}
	return attrs
}

// qname splits a name. Names are ASCII here: others are legal XML, but no feed
// vocabulary has them, and text that only looks like a tag often does.
func qname(name string) (prefix, local string, ok bool) {
	prefix, local, colon := strings.Cut(name, ":")
	if !colon {
		prefix, local = "", name
	} else if !ncname(prefix) {
		return "", "", false
	}
	return prefix, local, ncname(local)
}

func ncname(s string) bool {
	if s == "" || len(s) > 256 {
		return false
	}
	for i := 0; i < len(s); i++ {
		c := s[i]
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_'
		if !letter && (i == 0 || !(c >= '0' && c <= '9' || c == '-' || c == '.')) {
			return false
		}
	}
	return true
}

// wordEnd returns where the name that begins at i ends.
func wordEnd(s string, i int) int {
	if n := strings.IndexAny(s[i:], " \t\n=/><\"'"); n >= 0 {
		return i + n
	}
	return len(s)
}

func skipSpace(s string, i int) int {
	for i < len(s) && (s[i] == ' ' || s[i] == '\t' || s[i] == '\n') {
		i++
	}
	return i
}

// voidHTML names the HTML elements without content that people leave unclosed.
func voidHTML(name string) bool {
	switch strings.ToLower(name) {
	case "br", "hr", "img", "wbr":
		return true
	}
	return false
}
