package feed

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	gojson "github.com/mmcdole/gofeed/json"
)

// member is one member of a JSON object, as it stands in the source.
type member struct {
	name  string
	value json.RawMessage
}

// members takes an object apart without losing the order or the bytes.
func members(object []byte) ([]member, error) {
	dec := json.NewDecoder(bytes.NewReader(object))
	if _, err := dec.Token(); err != nil {
		return nil, err
	}
	var ms []member
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return nil, err
		}
		m := member{name: fmt.Sprint(name)}
		if err := dec.Decode(&m.value); err != nil {
			return nil, err
		}
		ms = append(ms, m)
	}
	_, err := dec.Token()
	return ms, err
}

// parseJSON reads JSON Feed documents.
func parseJSON(body string, d *defects) (*Feed, error) {
	body, err := repairJSON(body, d)
	if err != nil {
		return nil, err
	}
	ms, err := members([]byte(body))
	if err != nil {
		return nil, fmt.Errorf("%w: JSON, %v", ErrMalformed, err)
	}
	version, items := "", json.RawMessage(nil)
	for _, m := range ms {
		switch m.name {
		case "version":
			_ = json.Unmarshal(m.value, &version)
		case "items":
			items = m.value
		}
	}
	if !strings.Contains(version, "jsonfeed.org/version/") {
		return nil, fmt.Errorf("%w: JSON without the version of JSON Feed", ErrNotFeed)
	}
	f := &Feed{Format: JSONFeed, Version: strings.TrimRight(version[strings.LastIndex(version, "version/")+8:], "/")}
	h := &head{dialect: jsonFeed}
	for _, m := range ms {
		if m.name != "items" {
			h.members = append(h.members, m)
		}
	}
	if err := f.describeJSON(h); err != nil {
		return nil, err
	}
	if err := f.readJSONItems(items, d); err != nil {
		return nil, err
	}
	if f.Title == "" && f.Link == "" && f.Self == "" && len(f.Items) == 0 {
		return nil, fmt.Errorf("%w: JSON Feed with neither title nor items", ErrEmpty)
	}
	f.sealHead(h)
	return f, nil
}

func (f *Feed) readJSONItems(list json.RawMessage, d *defects) error {
	if len(list) == 0 {
		return nil
	}
	var raws []json.RawMessage
	if err := json.Unmarshal(list, &raws); err != nil {
		return fmt.Errorf("%w: JSON Feed, items: %v", ErrMalformed, err)
	}
	if len(raws) > maxItems {
		return fmt.Errorf("%w: %d items", ErrTooMany, len(raws))
	}
	for i, text := range raws {
		it, err := itemOfJSON(text)
		if err != nil {
			d.add("item %d left out: %v", i, err)
			continue
		}
		f.Items = append(f.Items, it)
	}
	return nil
}

// describeJSON has gofeed read the object without its items; hubs and
// "_feedtree", which gofeed does not know, by ourselves.
func (f *Feed) describeJSON(h *head) error {
	var g gojson.Feed
	if err := loosely(json.Unmarshal(object(h.members), &g)); err != nil {
		return fmt.Errorf("%w: JSON Feed, %v", ErrMalformed, err)
	}
	f.Title, f.Description, f.Language = strings.TrimSpace(g.Title), g.Description, g.Language
	f.Link, f.Self = trimSpace(g.HomePageURL), trimSpace(g.FeedURL)
	f.About.Image.URL = firstString(g.Icon, []string{g.Favicon})
	f.About.Authors = jsonPeople(g.Authors, g.Author)
	for _, m := range h.members {
		switch m.name {
		case "hubs":
			var hubs []struct{ Type, URL string }
			_ = loosely(json.Unmarshal(m.value, &hubs))
			for _, hub := range hubs {
				if strings.EqualFold(hub.Type, "WebSub") {
					f.Hubs = appendNew(f.Hubs, trimSpace(hub.URL))
				}
			}
		case "_feedtree":
			f.Tree, f.Poll = metaFromJSON(m.value)
		}
	}
	return nil
}

// loosely forgives a member of the wrong type: the others have been read.
func loosely(err error) error {
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) {
		return nil
	}
	return err
}

func object(ms []member) []byte {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, m := range ms {
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(marshal(m.name))
		b.WriteByte(':')
		b.Write(m.value)
	}
	b.WriteByte('}')
	return b.Bytes()
}

// marshal writes a value as JSON without escaping HTML.
func marshal(v any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic("feed: " + err.Error()) // only types of ours come here
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// repairJSON escapes the line breaks and tabs that stand bare in strings, and
// refuses deep nesting before anything recursive sees it.
func repairJSON(s string, d *defects) (string, error) {
	var out []byte
	last, depth, quoted := 0, 0, false
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted && c < 0x20:
			out = append(out, s[last:i]...)
			out = fmt.Appendf(out, `\u%04x`, c)
			last = i + 1
			d.add("bare line breaks in JSON strings")
		case quoted:
		case c == '{' || c == '[':
			if depth++; depth > maxDepth {
				return "", fmt.Errorf("%w: more than %d levels of JSON", ErrTooDeep, maxDepth)
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	if last == 0 {
		return s, nil
	}
	return string(append(out, s[last:]...)), nil
}
