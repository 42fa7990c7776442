package feedtree_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/feedtree/feedtree"
	"github.com/feedtree/feedtree/feed/fetch"
	"github.com/feedtree/feedtree/overlay/kad"
	"github.com/feedtree/feedtree/signing"
)

// quiet is a network of its own on this machine.
var quiet = kad.Config{
	Network: "example", Listen: []string{"/ip4/127.0.0.1/udp/0/quic-v1"},
	NoMDNS: true, NoNAT: true, NoRendezvous: true,
}

// web serves a document as http://blog.example.org/feed.xml and returns how to
// reach it there.
func web(doc string) (url string, reach fetch.Config, end func()) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, doc) }))
	_, port, err := net.SplitHostPort(s.Listener.Addr().String())
	if err != nil {
		log.Fatal(err)
	}
	reach.Resolve = []string{"blog.example.org:" + port + ":127.0.0.1"}
	return "http://blog.example.org:" + port + "/feed.xml", reach, s.Close
}

const blog = `<rss version="2.0"><channel><title>Blog</title><link>http://blog.example.org/</link>
<description>A blog</description>%s</channel></rss>`

// A node follows a feed that another one publishes. The origin is asked once.
func Example() {
	url, reach, end := web(fmt.Sprintf(blog, ""))
	defer end()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()

	reader, err := feedtree.New(ctx, feedtree.Config{Overlay: quiet, Fetch: reach})
	if err != nil {
		log.Fatal(err)
	}
	defer reader.Close()
	feed, err := reader.Subscribe(ctx, url)
	if err != nil {
		log.Fatal(err)
	}

	publisher, err := feedtree.New(ctx, feedtree.Config{Overlay: quiet})
	if err != nil {
		log.Fatal(err)
	}
	defer publisher.Close()
	if err := publisher.Connect(ctx, reader.Addrs()[0]); err != nil {
		log.Fatal(err)
	}
	id, err := signing.Generate(nil)
	if err != nil {
		log.Fatal(err)
	}
	go publisher.Publish(ctx, id, url, []byte(fmt.Sprintf(blog, `<item><guid>1</guid><title>Hello</title></item>`)))

	for update, err := range feed.Items(ctx) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(update.Item.Title, "—", update.Trust)
		break
	}
	// Output: Hello — unconfirmed
}

func ExampleNode_Subscribe() {
	url, reach, end := web(fmt.Sprintf(blog, `<item><guid>1</guid><title>Hello</title></item>`))
	defer end()
	ctx := context.Background()

	node, err := feedtree.New(ctx, feedtree.Config{Overlay: quiet, Fetch: reach})
	if err != nil {
		log.Fatal(err)
	}
	defer node.Close()
	sub, err := node.Subscribe(ctx, url)
	if err != nil {
		log.Fatal(err)
	}
	doc, state, err := sub.Document(ctx)
	if err != nil {
		log.Fatal(err)
	}
	for _, item := range doc.Items {
		fmt.Println(doc.Title, "—", item.Title, "—", state.Trust[item.Key()])
	}
	// Output: Blog — Hello — fetched
}

func ExampleNode_Publish() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	node, err := feedtree.New(ctx, feedtree.Config{Overlay: quiet})
	if err != nil {
		log.Fatal(err)
	}
	defer node.Close()
	id, err := signing.Generate(nil)
	if err != nil {
		log.Fatal(err)
	}

	doc := fmt.Sprintf(blog, `<item><guid>1</guid><title>Hello</title></item>`)
	receipt, err := node.Publish(ctx, id, "https://blog.example.org/feed.xml", []byte(doc))
	fmt.Println(receipt.Items, "item signed as event", receipt.Stamp.Seq)
	fmt.Println("nobody else is there to hold it:", errors.Is(err, feedtree.ErrNotHeld))
	// Output:
	// 1 item signed as event 1
	// nobody else is there to hold it: true
}
