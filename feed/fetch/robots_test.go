package fetch

import "testing"

// The rows are from Google's page on X-Robots-Tag, which is all there is of a
// standard, and the name FeedTree.
func TestNoArchive(t *testing.T) {
	for _, c := range []struct {
		tags []string
		want bool
	}{
		{nil, false},
		{[]string{"noarchive"}, true},
		{[]string{"noindex, NoArchive"}, true},
		{[]string{"noindex, follow"}, false},
		{[]string{"none"}, false},
		{[]string{"googlebot: noarchive"}, false},
		{[]string{"googlebot: nofollow, noarchive"}, false},
		{[]string{"FeedTree: noarchive"}, true},
		{[]string{"feedtree: none"}, true},
		{[]string{"otherbot: none", "feedtree: noindex"}, false},
		{[]string{"googlebot: noindex", "noarchive"}, true},
		{[]string{"unavailable_after: 25 Jun 2030 15:00:00 PST, noarchive"}, true},
		{[]string{"max-snippet: 20, max-image-preview: large"}, false},
	} {
		if got := noArchive(c.tags); got != c.want {
			t.Errorf("%q: %v", c.tags, got)
		}
	}
}
