package kad_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/feedtree/feedtree/overlay"
	"github.com/feedtree/feedtree/overlay/kad"
)

// app prints the frames it gets and says when it has a route.
type app struct{ joined, done chan struct{} }

func newApp() app { return app{make(chan struct{}, 1), make(chan struct{})} }

func (a app) Frame(_ overlay.ID, frame []byte) {
	fmt.Printf("%s\n", frame)
	close(a.done)
}

func (app) Gone(overlay.ID) {}

func (a app) Routes() {
	select {
	case a.joined <- struct{}{}:
	default:
	}
}

// Two nodes on loopback: the second joins through the first, finds it to be the
// root of a name, and sends it a frame.
func Example() {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	local := kad.Config{Network: "example", Listen: []string{"/ip4/127.0.0.1/udp/0/quic-v1"}, NoMDNS: true, NoNAT: true, NoRendezvous: true}

	receiver := newApp()
	first, err := kad.New(local)
	if err != nil {
		log.Fatal(err)
	}
	defer first.Close()
	if err := first.Start(ctx, receiver); err != nil {
		log.Fatal(err)
	}

	local.Bootstrap = first.Addrs()
	second, err := kad.New(local)
	if err != nil {
		log.Fatal(err)
	}
	defer second.Close()
	sender := newApp()
	if err := second.Start(ctx, sender); err != nil {
		log.Fatal(err)
	}

	<-sender.joined
	nodes, err := second.Lookup(ctx, []byte("a group"))
	if err != nil {
		log.Fatal(err)
	}
	if err := second.Send(nodes[0], []byte("hello, root")); err != nil {
		log.Fatal(err)
	}
	<-receiver.done
	// Output: hello, root
}
