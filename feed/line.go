package feed

import (
	"encoding/json"
	"html"
	"slices"
	"strings"
)

// line is the short text that the options put at the end of what an item says; ""
// for one whose content is all that identifies it: it would become another item.
func (o Options) line(it Item) string {
	if o.Line == nil || it.GUID == "" && it.Title == "" && it.Link == "" {
		return ""
	}
	return o.Line(it)
}

func lineHTML(line string) string { return "<p><small>" + html.EscapeString(line) + "</small></p>" }

// lined returns an item that is written from its fields with the line at the end of
// what it says.
func (o Options) lined(it Item) Item {
	line := o.line(it)
	if line == "" {
		return it
	}
	text, plain := &it.Content, it.Also.PlainContent
	if it.Content == "" {
		text, plain = &it.Summary, it.Also.PlainSummary
	}
	switch {
	case !plain:
		*text += lineHTML(line)
	case *text == "":
		*text = line
	default:
		*text += "\n\n" + line
	}
	return it
}

// withLine returns the raw with the line at the end of its content or, if it has
// none, of its description or summary. Nothing else in it changes.
func (r *raw) withLine(line string) *raw {
	var d defects
	t, err := scan(r.text, 2, r.uri, &d)
	if err != nil || t.text != r.text {
		return r
	}
	if i := slices.IndexFunc(t.root.kids, r.holdsText("content", nsContent, "encoded")); i >= 0 {
		return r.extended(t.root.kids[i], line)
	}
	word := "description"
	if r.dialect == atom1 {
		word = "summary"
	}
	if i := slices.IndexFunc(t.root.kids, r.holdsText(word, "", "")); i >= 0 {
		return r.extended(t.root.kids[i], line)
	}
	return r.changed(r.to, r.to, "<"+r.prefixed(word)+">"+escapeText(line)+"</"+r.prefixed(word)+">")
}

// holdsText finds elements of the raw's own vocabulary, or of another one, whose
// text a reader shows.
func (r *raw) holdsText(native, space, local string) func(*element) bool {
	return func(k *element) bool {
		switch {
		case r.dialect == atom1 && k.space == r.native && k.local == native:
			return k.attr("src") == "" && slices.Contains([]string{"", "text", "html", "xhtml"}, k.attr("type"))
		case r.dialect == atom1:
			return false
		}
		return k.space == r.native && k.is(native) && native != "content" || space != "" && k.space == space && k.local == local
	}
}

// prefixed is a name of the raw's own vocabulary as its root writes it.
func (r *raw) prefixed(local string) string {
	if prefix, _, ok := strings.Cut(r.text[1:wordEnd(r.text, 1)], ":"); ok {
		return prefix + ":" + local
	}
	return local
}

// extended puts a line at the end of a child.
func (r *raw) extended(k *element, line string) *raw {
	kind := "html"
	if r.dialect == atom1 {
		kind = k.attr("type")
	}
	more, at := escapeText("\n\n"+line), k.innerEnd
	switch kind {
	case "html":
		more = escapeText(lineHTML(line))
	case "xhtml":
		end := strings.LastIndex(r.text[k.inner:k.innerEnd], "</")
		if end < 0 {
			return r
		}
		at = k.inner + end
		name := r.text[at+2 : wordEnd(r.text, at+2)]
		prefix := ""
		if p, _, ok := strings.Cut(name, ":"); ok {
			prefix = p + ":"
		}
		more = "<" + prefix + "p>" + escapeText(line) + "</" + prefix + "p>"
	}
	if tag := r.text[k.start:k.end]; k.inner == k.innerEnd && strings.HasSuffix(tag, "/>") {
		name := tag[1:wordEnd(tag, 1)]
		return r.changed(k.start, k.end, strings.TrimSuffix(tag, "/>")+">"+more+"</"+name+">")
	}
	return r.changed(at, at, more)
}

// changed returns the raw with a part of its text replaced.
func (r *raw) changed(from, to int, with string) *raw {
	c := *r
	if r.text[r.from:r.to] == "" && strings.HasSuffix(r.text, "/>") {
		return r // an item that says nothing
	}
	c.text = r.text[:from] + with + r.text[to:]
	c.to += len(with) - (to - from)
	return &c
}

// lineMembers puts a line at the end of what a JSON item says.
func lineMembers(ms []member, line string) []member {
	for _, name := range []string{"content_html", "content_text"} {
		for i := range ms {
			var text string
			if ms[i].name != name || json.Unmarshal(ms[i].value, &text) != nil {
				continue
			}
			if name == "content_html" {
				text += lineHTML(line)
			} else {
				text = strings.TrimPrefix(text+"\n\n"+line, "\n\n")
			}
			ms[i].value = marshal(text)
			return ms
		}
	}
	return append(ms, member{"content_text", marshal(line)})
}
