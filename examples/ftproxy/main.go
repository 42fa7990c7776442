// Command ftproxy embeds the FeedTree proxy in a program of its own: a node that
// keeps nothing but what its process remembers, and the page and feeds for readers
// at the address given, by default http://127.0.0.1:8089/.
package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/signal"

	"github.com/feedtree/feedtree"
	"github.com/feedtree/feedtree/feed/store"
	"github.com/feedtree/feedtree/proxy"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	addr := "127.0.0.1:8089"
	if len(os.Args) > 1 {
		addr = os.Args[1]
	}
	if err := serve(ctx, addr); err != nil {
		fmt.Fprintln(os.Stderr, "ftproxy:", err)
		os.Exit(1)
	}
}

// serve runs the proxy until ctx ends.
func serve(ctx context.Context, addr string) error {
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	memory := store.NewMemory() // archive.Open keeps it in a file instead
	node, err := feedtree.New(ctx, feedtree.Config{Store: memory})
	if err != nil {
		return err
	}
	defer node.Close() // the process ends with it
	base := "http://" + listener.Addr().String()
	fmt.Println("readers: put", base+"/feed/", "in front of a feed's address")
	return proxy.New(node, proxy.Config{Base: base, Store: memory}).Serve(ctx, listener)
}
