// Reader prints the items of a feed as they come.
//
//	go run ./examples/reader https://example.org/feed.xml
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"

	"github.com/feedtree/feedtree"
)

func main() {
	config := flags()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	follow(ctx, config, flag.Arg(0))
}

// follow is all there is to it.
func follow(ctx context.Context, config feedtree.Config, url string) {
	node, err := feedtree.New(ctx, config)
	if err != nil {
		log.Fatal(err)
	}
	defer node.Close()
	feed, err := node.Subscribe(ctx, url)
	if err != nil {
		log.Fatal(err)
	}
	for update, err := range feed.Items(ctx) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s  %s (%v)\n", update.Item.Title, update.Item.Link, update.Trust)
	}
}

// flags reads what is only needed away from the open internet.
func flags() (c feedtree.Config) {
	list := func(into *[]string) func(string) error {
		return func(s string) error { *into = append(*into, s); return nil }
	}
	flag.StringVar(&c.Overlay.Network, "network", "", "`name` of a network of your own")
	flag.Func("listen", "`multiaddr` to listen on", list(&c.Overlay.Listen))
	flag.Func("bootstrap", "full `multiaddr` of a node to join through", list(&c.Overlay.Bootstrap))
	flag.Func("resolve", "`HOST:PORT:ADDR`, as curl has it", list(&c.Fetch.Resolve))
	flag.Parse()
	if flag.NArg() != 1 {
		log.Fatal("usage: reader [flags] FEED_URL")
	}
	return c
}
