// Publisher pushes what is new in a feed's file, signed, as a content management
// system does after saving an article.
//
//	go run ./examples/publisher -key key.pem https://example.org/feed.xml feed.xml
//
// The key is made by "feedtree keygen --out key.pem".
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/feedtree/feedtree"
	"github.com/feedtree/feedtree/signing"
)

var key = flag.String("key", "key.pem", "private key `file` of the feed")

func main() {
	config := flags()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	pem, errKey := os.ReadFile(*key)
	doc, errDoc := os.ReadFile(flag.Arg(1))
	if err := errors.Join(errKey, errDoc); err != nil {
		log.Fatal(err)
	}
	if err := push(ctx, config, flag.Arg(0), pem, doc); err != nil {
		log.Fatal(err)
	}
}

// push is all there is to it. A system that keeps running keeps its node, and a
// feedtree.Publisher for each feed.
func push(ctx context.Context, config feedtree.Config, url string, pem, doc []byte) error {
	id, err := signing.ParseIdentity(pem, nil)
	if err != nil {
		return err
	}
	node, err := feedtree.New(ctx, config)
	if err != nil {
		return err
	}
	defer node.Close()
	receipt, err := node.Publish(ctx, id, url, doc)
	fmt.Printf("%d items pushed, held by %d nodes\n", receipt.Items, receipt.Holders)
	return err
}

// flags reads what is only needed away from the open internet.
func flags() (c feedtree.Config) {
	list := func(into *[]string) func(string) error {
		return func(s string) error { *into = append(*into, s); return nil }
	}
	flag.StringVar(&c.Overlay.Network, "network", "", "`name` of a network of your own")
	flag.Func("listen", "`multiaddr` to listen on", list(&c.Overlay.Listen))
	flag.Func("bootstrap", "full `multiaddr` of a node to join through", list(&c.Overlay.Bootstrap))
	flag.Parse()
	if flag.NArg() != 2 {
		log.Fatal("usage: publisher [flags] FEED_URL FILE")
	}
	return c
}
