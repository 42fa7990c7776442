package archive

import (
	"bytes"
	"html"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// The index of the search holds words as this file makes them: what is searched
// for goes through the same hands, so that they meet, and SQLite's tokenizer has
// nothing left to decide but that spaces end a word.

const (
	mostText  = 256 << 10 // bytes of one item that are searched
	mostWord  = 64        // bytes of a word; of longer ones the beginning
	soleRunes = 2         // how many signs of a script without spaces make a word
)

// searchable returns the words of an item's title and text, each once, with a
// space behind each.
func searchable(doc []byte) []byte {
	t := textIn(doc, len(doc) > mostText/2) // where it is cut, it is cut as for people
	all := appendWords(appendWords(make([]byte, 0, min(len(doc), mostText)), t.title), t.body)
	var known wordSet
	once := all[:0] // it never overtakes what it reads
	for word := range bytes.FieldsSeq(all) {
		if known.add(word) {
			once = append(append(once, word...), ' ')
		}
	}
	return once
}

// wordSet tells words seen before from new ones, by their hash. When it is full
// every word is new: that costs room in the index, no more.
type wordSet struct {
	hashes [2048]uint64
	size   int
}

func (s *wordSet) add(word []byte) bool {
	h := uint64(14695981039346656037) // FNV-1a
	for _, c := range word {
		h = (h ^ uint64(c)) * 1099511628211
	}
	if s.size >= len(s.hashes)/2 {
		return true
	}
	for at := h % uint64(len(s.hashes)); ; at = (at + 1) % uint64(len(s.hashes)) {
		switch s.hashes[at] {
		case h:
			return false
		case 0:
			s.hashes[at] = h
			s.size++
			return true
		}
	}
}

// wordsOf returns the words of a text.
func wordsOf(s string) []string { return strings.Fields(string(appendWords(nil, s))) }

// appendWords appends the words of a text: runs of letters and digits, in lower
// case and without accents. Where a script has no spaces, each two neighbours are
// a word, and a single sign between others is one.
func appendWords(b []byte, s string) []byte {
	if len(s) > mostText {
		s = strings.ToValidUTF8(s[:mostText], "")
	}
	for i := 0; i < len(s); {
		start := i
		for i < len(s) && asciiWord[s[i]] {
			i++
		}
		if i < len(s) && s[i] >= utf8.RuneSelf {
			end := wordEnd(s, i)
			b = appendForeign(b, s[start:end])
			i = max(end, i+1)
			for i < len(s) && !utf8.RuneStart(s[i]) {
				i++
			}
			continue
		}
		if i > start {
			b = append(appendLower(b, s[start:min(i, start+mostWord)]), ' ')
		}
		for i < len(s) && s[i] < utf8.RuneSelf && !asciiWord[s[i]] {
			i++
		}
	}
	return b
}

var asciiWord = func() (is [256]bool) {
	for c := range is[:utf8.RuneSelf] {
		is[c] = '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z'
	}
	return is
}()

func appendLower(b []byte, word string) []byte {
	for i := range len(word) {
		c := word[i]
		if 'A' <= c && c <= 'Z' {
			c |= 0x20
		}
		b = append(b, c)
	}
	return b
}

func inWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r) }

// wordEnd returns where the word ends that goes on at i.
func wordEnd(s string, i int) int {
	for i < len(s) {
		r, n := utf8.DecodeRuneInString(s[i:])
		if !inWord(r) {
			break
		}
		i += n
	}
	return i
}

// appendForeign appends a word with letters beyond ASCII.
func appendForeign(b []byte, word string) []byte {
	if word == "" {
		return b
	}
	var run []rune // of a script without spaces
	begun := len(b)
	for _, r := range norm.NFKD.String(word) {
		r = unicode.ToLower(r)
		switch {
		case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar):
			b, begun = endWord(b, begun)
			run = append(run, r)
		case unicode.IsMark(r):
		case !inWord(r):
			b, begun = endWord(b, begun)
		default:
			b = appendRun(b, run)
			if len(run) > 0 {
				run, begun = nil, len(b)
			}
			if len(b)-begun < mostWord {
				b = utf8.AppendRune(b, r)
			}
		}
	}
	if len(run) > 0 {
		return appendRun(b, run)
	}
	b, _ = endWord(b, begun)
	return b
}

// endWord ends the word that began at begun, if it has begun.
func endWord(b []byte, begun int) ([]byte, int) {
	if len(b) > begun {
		b = append(b, ' ')
	}
	return b, len(b)
}

func appendRun(b []byte, run []rune) []byte {
	if len(run) == 1 {
		return append(utf8.AppendRune(b, run[0]), ' ')
	}
	for i := range max(0, len(run)-soleRunes+1) {
		for _, r := range run[i : i+soleRunes] {
			b = utf8.AppendRune(b, r)
		}
		b = append(b, ' ')
	}
	return b
}

// plainText is a piece of HTML as people read it, in one line.
func plainText(s string) string {
	if strings.ContainsAny(s, "<&") {
		s = string(appendPlain(make([]byte, 0, len(s)), s))
	}
	return strings.Join(strings.Fields(s), " ")
}

// appendPlain appends the text of a piece of HTML, with a space for each tag.
func appendPlain(b []byte, s string) []byte {
	for s != "" {
		text, tag, found := strings.Cut(s, "<")
		b = append(b, html.UnescapeString(text)...)
		if !found {
			break
		}
		if tag == "" || !(tag[0] == '/' || tag[0] == '!' || 'a' <= tag[0]|0x20 && tag[0]|0x20 <= 'z') {
			b = append(b, '<') // less than something
			s = tag
			continue
		}
		b = append(b, ' ')
		s = afterTag(tag)
	}
	return b
}

// afterTag returns what follows a tag, of which the "<" is gone already, and what
// nobody reads behind it.
func afterTag(tag string) string {
	_, rest, closed := strings.Cut(tag, ">")
	if !closed {
		return ""
	}
	for _, unread := range []string{"script", "style"} {
		if len(tag) > len(unread) && strings.EqualFold(tag[:len(unread)], unread) && !asciiWord[tag[len(unread)]] {
			return rest[endOf(unread, rest):]
		}
	}
	return rest
}

// endOf is where the end tag of an element begins, or the length of s. The case of
// letters beyond ASCII is left alone: it can change how long they are.
func endOf(element, s string) int {
	for at := 0; ; {
		next := strings.Index(s[at:], "</")
		if next < 0 {
			return len(s)
		}
		at += next
		if name := s[at+2:]; len(name) >= len(element) && strings.EqualFold(name[:len(element)], element) {
			return at
		}
		at += 2
	}
}

// text is what people read of an item.
type text struct{ title, body string }

// readText finds the text in a document of one item. It is no parser of feeds: it
// reads what feed.Render writes, many thousands a second, and of anything else
// what it can.
func readText(doc []byte) text { return textIn(doc, true) }

// textIn reads the text for people, or, with its white space as it comes, for its
// words alone.
func textIn(doc []byte, tidy bool) text {
	if trimmed := bytes.TrimLeft(doc, " \t\r\n\ufeff"); len(trimmed) > 0 && trimmed[0] == '{' {
		return textOfJSON(trimmed)
	}
	r := reading{tidy: tidy}
	return r.xml(string(doc))
}
