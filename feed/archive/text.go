package archive

import (
	"encoding/json"
	"html"
	"strings"
)

func textOfJSON(doc []byte) (t text) {
	var f struct {
		Items []struct {
			Title   string `json:"title"`
			HTML    string `json:"content_html"`
			Text    string `json:"content_text"`
			Summary string `json:"summary"`
		} `json:"items"`
	}
	if json.Unmarshal(doc, &f) != nil || len(f.Items) == 0 {
		return t
	}
	it := f.Items[0]
	return text{plainText(it.Title), strings.Join([]string{plainText(it.HTML), strings.Join(strings.Fields(it.Text), " "), plainText(it.Summary)}, " ")}
}

// textual are the elements of an item whose text is searched, by their names
// without prefix.
var textual = map[string]bool{"title": true, "description": true, "summary": true, "encoded": true, "content": true, "subtitle": true}

// reading is a walk through a document.
type reading struct {
	item  bool   // inside the item
	field string // the textual element inside which it is, or ""
	depth int    // elements of the same name inside that
	piece strings.Builder
	text  text // its body is the next field, until the end
	body  strings.Builder
	tidy  bool // white space is one space
}

func (r *reading) xml(doc string) text {
	for doc != "" {
		chars, rest, found := strings.Cut(doc, "<")
		if r.field != "" {
			r.piece.WriteString(html.UnescapeString(chars))
		}
		if !found {
			break
		}
		doc = r.markup(rest)
	}
	r.end()
	r.text.body = r.body.String()
	return r.text
}

// markup reads what follows a "<" and returns what comes after it.
func (r *reading) markup(s string) string {
	switch {
	case strings.HasPrefix(s, "![CDATA["):
		inner, rest, _ := strings.Cut(s[len("![CDATA["):], "]]>")
		if r.field != "" {
			r.piece.WriteString(inner)
		}
		return rest
	case strings.HasPrefix(s, "!--"):
		_, rest, _ := strings.Cut(s, "-->")
		return rest
	}
	end := tagEnd(s)
	tag, rest := s[:end], s[min(end+1, len(s)):]
	closing := strings.HasPrefix(tag, "/")
	name := localName(strings.TrimPrefix(tag, "/"))
	switch {
	case !r.item:
		r.item = !closing && (name == "item" || name == "entry")
	case strings.HasSuffix(tag, "/"):
		r.piece.WriteByte(' ')
	case r.field == "":
		if !closing && textual[name] {
			r.field = name
		}
	case name != r.field:
		r.piece.WriteByte(' ') // markup inside, as in xhtml
	case !closing:
		r.depth++
	case r.depth > 0:
		r.depth--
	default:
		r.end()
	}
	return rest
}

// end takes in what the element held that ends.
func (r *reading) end() {
	if r.field == "" {
		return
	}
	s := r.piece.String()
	if r.tidy {
		s = plainText(s)
	} else if strings.ContainsAny(s, "<&") {
		s = string(appendPlain(make([]byte, 0, len(s)), s))
	}
	if r.field == "title" && r.text.title == "" {
		r.text.title = s
	} else if s != "" && r.body.Len() < mostText {
		if r.body.Len() > 0 {
			r.body.WriteByte(' ')
		}
		r.body.WriteString(s)
	}
	r.field = ""
	r.piece.Reset()
}

// tagEnd returns where a tag ends: at the first ">" that is in no attribute.
func tagEnd(s string) int {
	quote := byte(0)
	for i := range len(s) {
		switch c := s[i]; {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == '>':
			return i
		}
	}
	return len(s)
}

// localName is the name that a tag begins with, without its prefix.
func localName(tag string) string {
	end := strings.IndexAny(tag, " \t\r\n/")
	if end < 0 {
		end = len(tag)
	}
	name := tag[:end]
	return name[strings.IndexByte(name, ':')+1:]
}
