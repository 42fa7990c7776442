package feed

import (
	"bytes"
	"encoding/json"
	"time"
)

const jsonVersion = "https://jsonfeed.org/version/1.1"

// renderJSON writes JSON Feed 1.1, a member a line.
func renderJSON(f *Feed, o Options) []byte {
	w := &jsonWriter{}
	w.b.WriteString("{\n")
	w.put("version", jsonVersion)
	copied := f.source != nil && f.source.dialect == jsonFeed
	if copied {
		f.copyMembers(w, o)
	} else {
		f.jsonHead(w, o)
	}
	w.name("items")
	w.b.WriteString("[")
	for i, it := range f.Items {
		if i > 0 {
			w.b.WriteByte(',')
		}
		w.b.WriteByte('\n')
		w.b.Write(jsonItem(it, o))
	}
	w.b.WriteString("\n]\n}\n")
	return w.b.Bytes()
}

type jsonWriter struct {
	b     bytes.Buffer
	count int
}

func (w *jsonWriter) name(name string) {
	if w.count++; w.count > 1 {
		w.b.WriteString(",\n")
	}
	w.b.Write(marshal(name))
	w.b.WriteString(": ")
}

func (w *jsonWriter) put(name string, value any) {
	w.name(name)
	w.b.Write(marshal(value))
}

func (w *jsonWriter) text(name, value string) {
	if value != "" {
		w.put(name, value)
	}
}

type jsonHub struct {
	Type string `json:"type"`
	URL  string `json:"url"`
}

// copyMembers copies the source's members but for those that are replaced.
func (f *Feed) copyMembers(w *jsonWriter, o Options) {
	keepMeta := f.metaUntouched()
	for _, m := range f.source.members {
		switch {
		case m.name == "version",
			m.name == "feed_url" && o.Self != "",
			m.name == "hubs" && o.Hub != "",
			m.name == "next_url" && o.Paging != nil,
			m.name == "_feedtree" && !keepMeta:
			continue
		}
		w.name(m.name)
		w.b.Write(m.value)
	}
	w.text("feed_url", o.Self)
	w.text("next_url", o.Paging.older())
	if o.Hub != "" {
		w.put("hubs", []jsonHub{{"WebSub", o.Hub}})
	}
	if !keepMeta {
		w.meta(f)
	}
}

func (w *jsonWriter) meta(f *Feed) {
	if f.Tree != nil || f.Poll != nil {
		w.name("_feedtree")
		w.b.Write(metaJSON(f.Tree, f.Poll))
	}
}

func (f *Feed) jsonHead(w *jsonWriter, o Options) {
	w.put("title", f.Title)
	w.text("home_page_url", absolute(f.Link, f, o))
	w.text("feed_url", firstString(o.Self, []string{f.Self}))
	w.text("next_url", o.Paging.older())
	w.text("description", plainAs(f.Description, "html"))
	w.text("language", f.Language)
	w.text("icon", absolute(f.About.Image.URL, f, o))
	if len(f.About.Authors) > 0 {
		w.put("authors", jsonAuthors(f.About.Authors))
	}
	hubs := f.Hubs
	if o.Hub != "" {
		hubs = []string{o.Hub}
	}
	if len(hubs) > 0 {
		list := make([]jsonHub, len(hubs))
		for i, h := range hubs {
			list[i] = jsonHub{"WebSub", h}
		}
		w.put("hubs", list)
	}
	w.meta(f)
}

type jsonAuthor struct {
	Name string `json:"name,omitempty"`
	URL  string `json:"url,omitempty"`
}

func jsonAuthors(people []Person) []jsonAuthor {
	list := make([]jsonAuthor, len(people))
	for i, p := range people {
		list[i] = jsonAuthor{p.Name, p.URI}
		if p.URI == "" && p.Email != "" {
			list[i].URL = "mailto:" + p.Email
		}
	}
	return list
}

// jsonItem writes one item, copied if it can be.
func jsonItem(it Item, o Options) []byte {
	if it.untouched(jsonFeed) {
		return copyJSONItem(it, o)
	}
	it = o.lined(it)
	w := &jsonWriter{}
	w.b.WriteByte('{')
	w.put("id", firstString(it.GUID, []string{it.standInID()}))
	w.text("url", o.in(it.Link))
	w.text("external_url", it.Also.External)
	w.text("title", it.Title)
	x := itemExtra{PermaLink: it.PermaLink, Comments: it.Also.Comments}
	w.jsonWords(it, &x)
	w.text("image", it.Also.Image)
	w.jsonDate("date_published", it.Published)
	w.jsonDate("date_modified", it.Updated)
	w.jsonPeopleAndTags(it, &x)
	w.jsonFiles(it, o, &x)
	if it.Also.Source != (Source{}) {
		x.Source = &it.Also.Source
	}
	if o.Mark != nil {
		x.Trust = o.Mark(it)
	}
	if extra := marshal(x); string(extra) != "{}" {
		w.name("_feedtree")
		w.b.Write(extra)
	}
	w.b.WriteByte('}')
	return w.b.Bytes()
}

// jsonWords writes summary and content. JSON Feed demands a content and has plain
// summaries only; what does not fit goes beside.
func (w *jsonWriter) jsonWords(it Item, x *itemExtra) {
	summary, content, plain := it.Summary, it.Content, it.Also.PlainContent
	if content == "" && summary != "" {
		content, plain, x.OnlySummary = summary, it.Also.PlainSummary, true
		summary = ""
	}
	if plain {
		w.put("content_text", content)
	} else {
		w.put("content_html", content)
	}
	if summary == "" {
		return
	}
	if !it.Also.PlainSummary {
		x.Summary = summary
		summary = plainAs(summary, "html")
	}
	w.text("summary", summary)
}

func (w *jsonWriter) jsonDate(name string, t time.Time) {
	if !t.IsZero() {
		w.put(name, atomDate(t))
	}
}

func (w *jsonWriter) jsonPeopleAndTags(it Item, x *itemExtra) {
	if len(it.Authors) > 0 {
		w.put("authors", jsonAuthors(it.Authors))
		for _, p := range it.Authors {
			if p.Email != "" && p.URI != "" {
				x.Authors = it.Authors
			}
		}
	}
	tags := make([]string, len(it.Categories))
	for i, c := range it.Categories {
		tags[i] = c.Term
		if c.Scheme != "" || c.Label != "" {
			x.Categories = it.Categories
		}
	}
	if len(tags) > 0 {
		w.put("tags", tags)
	}
}

type jsonFile struct {
	URL   string `json:"url"`
	Type  string `json:"mime_type"`
	Title string `json:"title,omitempty"`
	Size  int64  `json:"size_in_bytes,omitempty"`
}

func (w *jsonWriter) jsonFiles(it Item, o Options, x *itemExtra) {
	if len(it.Enclosures) == 0 {
		return
	}
	list := make([]jsonFile, len(it.Enclosures))
	for i, e := range it.Enclosures {
		url := o.in(e.URL)
		list[i] = jsonFile{url, e.Type, e.Title, e.Length}
		if e.Type == "" { // demanded
			list[i].Type = "application/octet-stream"
			x.Files = append(x.Files, url)
		}
	}
	w.put("attachments", list)
}

// copyJSONItem copies the source's object, with the mark the options ask for.
func copyJSONItem(it Item, o Options) []byte {
	text := []byte(it.source.text)
	line := o.line(it)
	if o.Mark == nil && line == "" {
		return text
	}
	ms, err := members(text)
	if err != nil {
		return text
	}
	if line != "" {
		ms = lineMembers(ms, line)
	}
	if o.Mark == nil {
		return object(ms)
	}
	extra := map[string]json.RawMessage{}
	out := ms[:0]
	for _, m := range ms {
		if m.name == "_feedtree" {
			_ = json.Unmarshal(m.value, &extra)
			continue
		}
		out = append(out, m)
	}
	delete(extra, "trust")
	if trust := o.Mark(it); trust != "" {
		extra["trust"] = marshal(trust)
	}
	if len(extra) > 0 {
		out = append(out, member{"_feedtree", marshal(extra)})
	}
	return object(out)
}
