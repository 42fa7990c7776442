package fetch

import (
	"testing"

	"github.com/feedtree/feedtree/internal/fuzz"
)

func FuzzWishes(f *testing.F) {
	f.Add([]byte(`<rss xmlns:sy="http://purl.org/rss/1.0/modules/syndication/"><channel><ttl>60</ttl><skipHours><hour>24</hour></skipHours>` +
		`<skipDays><day>Sunday</day></skipDays><sy:updatePeriod>hourly</sy:updatePeriod><sy:updateFrequency>2</sy:updateFrequency><item/></channel></rss>`))
	f.Add([]byte(`<?xml version="1.0" encoding="koi8-r"?><rdf:RDF><channel><ttl>99999999999999999999</ttl>`))
	f.Add([]byte(`</a></a><!DOCTYPE x [<!ENTITY y "z">]>&y;`))
	fuzz.Hold(f, func(t *testing.T, doc []byte) {
		w := readWishes(doc)
		if w.TTL < 0 || w.TTL > longestWish || w.Period < 0 || w.Period > longestWish {
			t.Errorf("%+v", w)
		}
	})
}
