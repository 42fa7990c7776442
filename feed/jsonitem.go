package feed

import (
	"encoding/json"
	"strings"

	gojson "github.com/mmcdole/gofeed/json"
)

// itemExtra is "_feedtree" in an item: what the item's source said that JSON Feed
// has no member for, so that nothing is lost on the way through it.
type itemExtra struct {
	Trust       string     `json:"trust,omitempty"`
	Summary     string     `json:"summary_html,omitempty"`
	OnlySummary bool       `json:"content_is_summary,omitempty"`
	PermaLink   bool       `json:"permalink,omitempty"`
	Comments    string     `json:"comments,omitempty"`
	Source      *Source    `json:"source,omitempty"`
	Categories  []Category `json:"categories,omitempty"`
	Authors     []Person   `json:"authors,omitempty"`
	Files       []string   `json:"untyped,omitempty"`
}

// itemOfJSON reads one item.
func itemOfJSON(text json.RawMessage) (Item, error) {
	var g gojson.Item
	if err := loosely(json.Unmarshal(text, &g)); err != nil {
		return Item{}, err
	}
	ms, err := members(text)
	if err != nil {
		return Item{}, err
	}
	it := Item{
		Title:     strings.TrimSpace(g.Title),
		Link:      trimSpace(g.URL),
		Published: parseDate(g.DatePublished),
		Updated:   parseDate(g.DateModified),
		Authors:   jsonPeople(g.Authors, g.Author),
		Summary:   strings.TrimSpace(g.Summary),
		Content:   strings.TrimSpace(g.ContentHTML),
	}
	it.Also.PlainSummary = it.Summary != ""
	if it.Content == "" {
		it.Content = strings.TrimSpace(g.ContentText)
		it.Also.PlainContent = it.Content != ""
	}
	it.Also.External = trimSpace(g.ExternalURL)
	it.Also.Image = firstString(g.Image, []string{g.BannerImage})
	for _, tag := range g.Tags {
		it.Categories = addCategory(it.Categories, Category{Term: tag})
	}
	if g.Attachments != nil {
		for _, a := range *g.Attachments {
			it.Enclosures = addEnclosure(it.Enclosures, Enclosure{trimSpace(a.URL), a.MimeType, max(a.SizeInBytes, 0), a.Title})
		}
	}
	for _, m := range ms {
		switch m.name {
		case "id":
			it.GUID = jsonID(m.value)
		case "_feedtree":
			it.readExtra(m.value, len(g.Tags))
		}
	}
	it.seal(&raw{dialect: jsonFeed, text: string(text)})
	return it, nil
}

// jsonID takes a string as it is, and a number as it is written: as the
// specification asks, an id of another type is coerced to a string.
func jsonID(value json.RawMessage) string {
	var s string
	if json.Unmarshal(value, &s) == nil {
		return trimSpace(s)
	}
	return trimSpace(string(value))
}

func (it *Item) readExtra(value json.RawMessage, tags int) {
	var x itemExtra
	_ = loosely(json.Unmarshal(value, &x)) // foreign to us: then nothing of ours is in it
	it.PermaLink = x.PermaLink && it.GUID != ""
	it.Also.Comments = x.Comments
	if x.Source != nil {
		it.Also.Source = *x.Source
	}
	if x.OnlySummary {
		it.Summary, it.Also.PlainSummary = it.Content, it.Also.PlainContent
		it.Content, it.Also.PlainContent = "", false
	}
	if x.Summary != "" {
		it.Summary, it.Also.PlainSummary = strings.TrimSpace(x.Summary), false
	}
	// These only spell out what the standard members say in short.
	if len(x.Categories) == tags && len(x.Categories) > 0 {
		it.Categories = x.Categories
	}
	if len(x.Authors) == len(it.Authors) && len(x.Authors) > 0 {
		it.Authors = x.Authors
	}
	for i := range it.Enclosures {
		for _, url := range x.Files {
			if it.Enclosures[i].URL == url {
				it.Enclosures[i].Type = ""
			}
		}
	}
}

// jsonPeople reads authors as of 1.1, or the one author of 1.0.
func jsonPeople(authors []*gojson.Author, author *gojson.Author) []Person {
	if len(authors) == 0 && author != nil {
		authors = []*gojson.Author{author}
	}
	var list []Person
	for _, a := range authors {
		if a == nil {
			continue
		}
		p := Person{Name: strings.TrimSpace(a.Name), URI: trimSpace(a.URL)}
		if mail, ok := strings.CutPrefix(p.URI, "mailto:"); ok {
			p.Email, p.URI = mail, ""
		}
		list = addPerson(list, p)
	}
	return list
}
