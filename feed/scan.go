package feed

import (
	"fmt"
	"strings"
)

// element is one element that a scan remembers. Offsets point into the repaired
// text: the element is text[start:end], its content text[inner:innerEnd].
type element struct {
	prefix, local, space string
	attrs                []attr
	start, inner         int
	innerEnd, end        int
	kids                 []*element
	cut                  bool // the document ended inside
}

// attr is an attribute, its value with references resolved.
type attr struct{ prefix, local, value string }

// attr returns the value of an attribute without a prefix.
func (e *element) attr(local string) string {
	for _, a := range e.attrs {
		if a.prefix == "" && a.local == local {
			return a.value
		}
	}
	return ""
}

// is compares the local name as feeds are read: without regard to case.
func (e *element) is(local string) bool { return strings.EqualFold(e.local, local) }

// tree is what a scan makes of a text.
type tree struct {
	text string // well-formed; the input itself if that was
	root *element
	free []string // prefixes used and declared nowhere inside; "" for unprefixed elements
}

// scanner reads XML as it is found in the wild and writes it well formed, in one
// pass and linear time. Where the input is well formed it copies; elsewhere it
// changes as little as it can: a stray "&" or "<" becomes a reference, names that
// only HTML knows become their characters, attributes get their quotes, elements
// left open are closed, end tags of nothing are dropped, and so are comments,
// processing instructions and document type declarations.
//
// It remembers the elements of the first keep levels only.
type scanner struct {
	src  string
	i    int    // next byte to read
	out  []byte // repaired text up to src[last]
	last int

	keep     int
	kept     int
	stack    []open
	names    namespaces
	root     *element
	never    map[string]bool // terminators known not to follow
	defects  *defects
	finished bool
	attrs    []rawAttr // of the tag being read
}

// open is an element whose end tag has not come.
type open struct {
	name     string
	el       *element // nil below the levels kept
	declared []string
}

// scan reads one element with what is in it from the beginning of src. scope
// resolves prefixes that are declared outside.
func scan(src string, keep int, scope func(prefix string) string, d *defects) (*tree, error) {
	s := scanner{src: src, keep: keep, never: map[string]bool{}, defects: d}
	s.names.outer = scope
	for s.i < len(src) && !s.finished {
		if err := s.step(); err != nil {
			return nil, err
		}
	}
	if s.root == nil {
		return nil, fmt.Errorf("%w: no element in it", ErrMalformed)
	}
	if len(s.stack) > 0 {
		d.add("cut off inside <%s>", s.stack[len(s.stack)-1].name)
		s.out = append(s.out, src[s.last:]...)
		s.last = len(src)
		for len(s.stack) > 0 {
			s.top().markCut()
			s.closeTop(len(src), len(src))
		}
	}
	text := src[:s.i]
	if len(s.out) > 0 || s.last > 0 {
		text = string(append(s.out, src[min(s.last, s.i):s.i]...))
	}
	return &tree{text: text, root: s.root, free: s.names.free}, nil
}

func (o *open) markCut() {
	if o.el != nil {
		o.el.cut = true
	}
}

func (s *scanner) top() *open { return &s.stack[len(s.stack)-1] }

// at returns where src[i] stands in the repaired text; i is not before s.last.
func (s *scanner) at(i int) int { return len(s.out) + i - s.last }

// replace puts with in the place of src[from:to].
func (s *scanner) replace(from, to int, with string) {
	s.out = append(s.out, s.src[s.last:from]...)
	s.out = append(s.out, with...)
	s.last = to
}

// step reads one piece: text up to the next "<", or one piece of markup.
func (s *scanner) step() error {
	rest := s.src[s.i:]
	switch {
	case rest[0] != '<':
		s.chars()
	case strings.HasPrefix(rest, "<!--"):
		s.drop(4, "-->")
	case strings.HasPrefix(rest, "<![CDATA["):
		s.cdata()
	case strings.HasPrefix(rest, "<?"):
		s.drop(2, "?>")
	case strings.HasPrefix(rest, "<!"):
		s.drop(2, ">")
	case strings.HasPrefix(rest, "</"):
		s.endTag()
	default:
		return s.startTag()
	}
	return nil
}

// chars copies text, repairing references and the one sequence that may not
// stand in it.
func (s *scanner) chars() {
	end := strings.IndexByte(s.src[s.i:], '<')
	if end < 0 {
		end = len(s.src)
	} else {
		end += s.i
	}
	for i := s.i; i < end; {
		step := strings.IndexAny(s.src[i:end], "&]")
		if step < 0 {
			break
		}
		i += step
		if s.src[i] == ']' {
			if strings.HasPrefix(s.src[i:end], "]]>") {
				s.replace(i, i+3, "]]&gt;")
				i += 2
			}
			i++
			continue
		}
		n, with := reference(s.src[i:end])
		if with != s.src[i:i+n] {
			s.replace(i, i+n, with)
			s.defects.add("entities that XML does not know, or stray ampersands")
		}
		i += n
	}
	s.i = end
}

// drop leaves out a comment, instruction or declaration; if it never ends it was
// none, and its "<" was a character.
func (s *scanner) drop(skip int, terminator string) {
	if n := s.find(s.i+skip, terminator); n >= 0 {
		s.replace(s.i, n+len(terminator), "")
		s.i = n + len(terminator)
		return
	}
	s.literal()
}

// literal takes the "<" at s.i for a character.
func (s *scanner) literal() {
	s.replace(s.i, s.i+1, "&lt;")
	s.i++
	s.defects.add("stray \"<\" in text")
}

func (s *scanner) cdata() {
	n := s.find(s.i+9, "]]>")
	if n < 0 {
		// The document ends inside: what is there is the text that was meant.
		s.replace(len(s.src), len(s.src), "]]>")
		s.i = len(s.src)
		return
	}
	s.i = n + 3
}

// find looks for a terminator. That one is missing is remembered: looking again
// and again would make hostile input quadratic.
func (s *scanner) find(from int, what string) int {
	if s.never[what] || from > len(s.src) {
		return -1
	}
	n := strings.Index(s.src[from:], what)
	if n < 0 {
		s.never[what] = true
		return -1
	}
	return from + n
}

// endTag closes the element it names, and those left open inside that. An end tag
// that closes nothing is dropped.
func (s *scanner) endTag() {
	n := s.find(s.i, ">")
	if n < 0 {
		s.replace(s.i, len(s.src), "") // cut off in the middle of a tag
		s.i = len(s.src)
		return
	}
	name := strings.TrimRight(s.src[s.i+2:n], " \t\n")
	end := n + 1
	k := s.openAs(name)
	if k < 0 {
		s.replace(s.i, end, "")
		s.i = end
		s.defects.add("end tag </%s> without its start", excerptPlain(name))
		return
	}
	for len(s.stack)-1 > k {
		s.defects.add("<%s> not closed", s.top().name)
		s.closeTop(s.i, s.i)
	}
	if s.top().name == name {
		s.pop(s.at(s.i), s.at(end))
	} else {
		s.closeTop(s.i, end)
	}
	s.i = end
	s.finished = len(s.stack) == 0
}

// openAs finds the innermost open element of a name, in any case of letters if no
// other.
func (s *scanner) openAs(name string) int {
	for k := len(s.stack) - 1; k >= 0; k-- {
		if s.stack[k].name == name {
			return k
		}
	}
	for k := len(s.stack) - 1; k >= 0; k-- {
		if strings.EqualFold(s.stack[k].name, name) {
			return k
		}
	}
	return -1
}

// closeTop closes the innermost element with an end tag of our own, written in
// the place of src[from:to].
func (s *scanner) closeTop(from, to int) {
	innerEnd := s.at(from)
	s.replace(from, to, "</"+s.top().name+">")
	s.pop(innerEnd, s.at(to))
}

func (s *scanner) pop(innerEnd, end int) {
	o := s.top()
	if o.el != nil {
		o.el.innerEnd, o.el.end = innerEnd, end
	}
	s.names.pop(o.declared)
	s.stack = s.stack[:len(s.stack)-1]
}
