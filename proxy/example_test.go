package proxy_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/feedtree/feedtree"
	"github.com/feedtree/feedtree/feed/fetch"
	"github.com/feedtree/feedtree/overlay/kad"
	"github.com/feedtree/feedtree/proxy"
)

// A program of its own serves feeds to readers. The feed here is RSS, and is asked
// for as Atom.
func Example() {
	origin := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `<rss version="2.0"><channel><title>News</title><link>http://news.example/</link>`+
			`<description>Of today</description><item><title>Hello</title><guid>1</guid></item></channel></rss>`)
	}))
	defer origin.Close()
	_, port, _ := strings.Cut(strings.TrimPrefix(origin.URL, "http://"), ":")

	node, err := feedtree.New(context.Background(), feedtree.Config{
		// Only for this example: a network of one, and a name that leads nowhere else.
		Overlay: kad.Config{Network: "example", Listen: []string{"/ip4/127.0.0.1/udp/0/quic-v1"}, NoMDNS: true, NoNAT: true, NoRendezvous: true},
		Fetch:   fetch.Config{Resolve: []string{"news.example:" + port + ":127.0.0.1"}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer node.Close()
	readers := httptest.NewServer(proxy.New(node, proxy.Config{}))
	defer readers.Close()

	answer, err := http.Get(readers.URL + "/atom/http://news.example:" + port + "/rss")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer answer.Body.Close()
	fmt.Println(answer.Status, answer.Header.Get("Content-Type"))
	// Output: 200 OK application/atom+xml; charset=utf-8
}
