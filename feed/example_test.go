package feed_test

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/feedtree/feedtree/feed"
)

const blog = `<?xml version="1.0"?>
<rss version="2.0"><channel>
<title>A blog</title><link>https://blog.example/</link><description/>
<item><title>Second</title><guid isPermaLink="false">2</guid></item>
<item><title>First</title><guid isPermaLink="false">1</guid></item>
</channel></rss>`

func ExampleParse() {
	f, err := feed.Parse([]byte(blog), "application/rss+xml")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(f.Format, f.Version, f.Title)
	for _, it := range f.Items {
		fmt.Println(it.Key(), it.Title)
	}
	// Output:
	// RSS 2.0 A blog
	// guid:2 Second
	// guid:1 First
}

func ExampleParse_webPage() {
	page := `<html><head><link rel="alternate" type="application/rss+xml" href="/feed"></head></html>`
	_, err := feed.Parse([]byte(page), "text/html")
	var html *feed.HTMLPage
	if errors.As(err, &html) {
		fmt.Println(feed.Discover([]byte(page), "https://blog.example/about")[0].URL)
	}
	// Output: https://blog.example/feed
}

// What a publisher pushes: the items that are new, in the channel they belong to.
func ExampleDiff() {
	f, _ := feed.Parse([]byte(blog), "")
	seen := map[string][32]byte{f.Items[1].Key(): f.Items[1].Hash()}
	fresh := feed.Diff(func(key string) ([32]byte, bool) {
		hash, ok := seen[key]
		return hash, ok
	}, f)
	_ = feed.Render(os.Stdout, f.Only(fresh), f.Format, feed.Options{})
	// Output:
	// <?xml version="1.0" encoding="UTF-8"?>
	// <rss version="2.0">
	// <channel>
	// <title>A blog</title>
	// <link>https://blog.example/</link>
	// <description/>
	// <item><title>Second</title><guid isPermaLink="false">2</guid></item>
	// </channel>
	// </rss>
}

func ExampleRender() {
	f, _ := feed.Parse([]byte(blog), "")
	_ = feed.Render(os.Stdout, f, feed.JSONFeed, feed.Options{Self: "https://blog.example/feed.json"})
	// Output:
	// {
	// "version": "https://jsonfeed.org/version/1.1",
	// "title": "A blog",
	// "home_page_url": "https://blog.example/",
	// "feed_url": "https://blog.example/feed.json",
	// "items": [
	// {"id": "2",
	// "title": "Second",
	// "content_html": ""},
	// {"id": "1",
	// "title": "First",
	// "content_html": ""}
	// ]
	// }
}

func ExampleCanonical() {
	url, err := feed.Canonical("HTTPS://Bücher.example:443/%7Eanna/feed?x=1#top")
	fmt.Println(url, err)
	ok, _ := feed.Public(url)
	fmt.Println(ok)
	ok, why := feed.Public("https://blog.example/feed?token=s3cret")
	fmt.Println(ok, why)
	// Output:
	// https://xn--bcher-kva.example/~anna/feed?x=1 <nil>
	// true
	// false query parameter token that may be a secret
}

func ExampleTree_XML() {
	fmt.Println(feed.Tree{
		Group:     "mzxw6ytboi",
		Cert:      "https://blog.example/.well-known/feedtree.pem",
		TTL:       15 * time.Minute,
		Bootstrap: []string{"/dnsaddr/blog.example/p2p/12D3KooW"},
	}.XML())
	// Output:
	// <ft:tree xmlns:ft="https://github.com/feedtree/feedtree/ns/1" version="1" group="mzxw6ytboi" cert="https://blog.example/.well-known/feedtree.pem" ttl="900">
	//   <ft:bootstrap>/dnsaddr/blog.example/p2p/12D3KooW</ft:bootstrap>
	// </ft:tree>
}
