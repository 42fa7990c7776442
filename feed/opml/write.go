package opml

import (
	"bytes"
	"encoding/xml"
	"strings"
)

// Bytes returns the document.
func (l *List) Bytes() []byte {
	w := &writer{declared: map[string]bool{"xml": true}}
	for _, a := range l.Attrs {
		if prefix, ok := strings.CutPrefix(a.Name, "xmlns:"); ok {
			w.declared[prefix] = a.Value != ""
		}
	}
	w.out.WriteString(xml.Header)
	attrs := l.Attrs
	if !has(attrs, "version") {
		attrs = append([]Attr{{"version", "2.0"}}, attrs...)
	}
	w.tag("opml", attrs)
	w.out.WriteString(">\n  <head>\n    <title>")
	w.text(l.Title)
	w.out.WriteString("</title>\n")
	for _, a := range l.Head {
		if strings.Contains(a.Name, ":") && !w.known(a.Name) || !isName(a.Name) {
			continue
		}
		w.out.WriteString("    <" + a.Name + ">")
		w.text(a.Value)
		w.out.WriteString("</" + a.Name + ">\n")
	}
	w.out.WriteString("  </head>\n  <body>\n")
	w.outlines(l.Outlines, "    ")
	w.out.WriteString("  </body>\n</opml>\n")
	return w.out.Bytes()
}

func has(attrs []Attr, name string) bool {
	for _, a := range attrs {
		if a.Name == name {
			return true
		}
	}
	return false
}

// writer writes a list.
type writer struct {
	out      bytes.Buffer
	declared map[string]bool // prefixes of namespaces
}

func (w *writer) outlines(list []Outline, indent string) {
	for _, o := range list {
		w.out.WriteString(indent)
		w.tag("outline", o.Attrs)
		if len(o.Outlines) == 0 {
			w.out.WriteString("/>\n")
			continue
		}
		w.out.WriteString(">\n")
		w.outlines(o.Outlines, indent+"  ")
		w.out.WriteString(indent + "</outline>\n")
	}
}

// tag writes a start tag without its end. An attribute with a prefix that nothing
// declares would make the document ill-formed to those who know namespaces.
func (w *writer) tag(name string, attrs []Attr) {
	w.out.WriteString("<" + name)
	for _, a := range attrs {
		if !isName(a.Name) || !w.known(a.Name) {
			continue
		}
		w.out.WriteString(" " + a.Name + `="`)
		w.text(a.Value)
		w.out.WriteString(`"`)
	}
}

func (w *writer) known(name string) bool {
	prefix, local, ok := strings.Cut(name, ":")
	if prefix == "xmlns" {
		return ok && w.declared[local] && local != "xml" && local != "xmlns"
	}
	return !ok || w.declared[prefix]
}

func (w *writer) text(s string) {
	_ = xml.EscapeText(&w.out, []byte(s)) // a buffer takes everything
}
