package feed

import (
	"regexp"
	"strings"
)

var (
	emailThenName = regexp.MustCompile(`^([^@\s()]+@[^@\s()]+)\s+\(([^()]+)\)$`)
	nameThenEmail = regexp.MustCompile(`^([^@()<>]+?)\s*[(<]([^@\s()<>]+@[^@\s()<>]+)[)>]$`)
	onlyEmail     = regexp.MustCompile(`^[^@\s()<>]+@[^@\s()<>]+$`)
)

// parsePerson reads the ways in which RSS feeds name people: "jane@example.org
// (Jane)", "Jane (jane@example.org)", "Jane <jane@example.org>", an address, a name.
func parsePerson(s string) Person {
	s = strings.TrimSpace(s)
	if m := emailThenName.FindStringSubmatch(s); m != nil {
		return Person{Name: strings.TrimSpace(m[2]), Email: m[1]}
	}
	if m := nameThenEmail.FindStringSubmatch(s); m != nil {
		return Person{Name: strings.TrimSpace(m[1]), Email: m[2]}
	}
	if onlyEmail.MatchString(s) {
		return Person{Email: s}
	}
	return Person{Name: s}
}

// maxList bounds the people, categories and files of one item or channel. What is
// beyond stays in the bytes that are copied.
const maxList = 256

// addPerson adds somebody who is not there yet.
func addPerson(list []Person, p Person) []Person {
	p = Person{strings.TrimSpace(p.Name), strings.TrimSpace(p.Email), strings.TrimSpace(p.URI)}
	if p == (Person{}) || len(list) >= maxList {
		return list
	}
	for i, q := range list {
		if q == p {
			return list
		}
		if p.Name != "" && q.Name == p.Name && (p.Email == "" || q.Email == "" || p.Email == q.Email) {
			if q.Email == "" {
				list[i].Email = p.Email
			}
			if q.URI == "" {
				list[i].URI = p.URI
			}
			return list
		}
	}
	return append(list, p)
}

// addCategory adds a category unless it is there already, be it from a vocabulary
// that a second mention does not name. A label that was missing is filled in.
func addCategory(list []Category, c Category) []Category {
	c = Category{strings.TrimSpace(c.Term), strings.TrimSpace(c.Scheme), strings.TrimSpace(c.Label)}
	if c.Term == "" {
		c.Term = c.Label
	}
	if c.Term == "" || len(list) >= maxList {
		return list
	}
	if c.Label == c.Term {
		c.Label = ""
	}
	for i, have := range list {
		switch {
		case have.Term != c.Term:
		case have.Scheme == c.Scheme:
			list[i].Label = firstString(have.Label, []string{c.Label})
			return list
		case c.Scheme == "" && c.Label == "":
			return list
		}
	}
	return append(list, c)
}

// addEnclosure adds a file; a second mention of one is the more detailed.
func addEnclosure(list []Enclosure, e Enclosure) []Enclosure {
	e.URL, e.Type, e.Title = strings.TrimSpace(e.URL), strings.TrimSpace(e.Type), strings.TrimSpace(e.Title)
	if e.URL == "" || len(list) >= maxList {
		return list
	}
	for i, have := range list {
		if have.URL == e.URL {
			if e.Length == 0 {
				e.Length = have.Length
			}
			list[i] = e
			return list
		}
	}
	return append(list, e)
}
