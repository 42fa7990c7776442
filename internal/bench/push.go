package bench

import (
	"bufio"
	"context"
	"sync"
	"sync/atomic"

	"github.com/libp2p/go-libp2p"
	"github.com/libp2p/go-libp2p/core/host"
	p2p "github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	libp2pquic "github.com/libp2p/go-libp2p/p2p/transport/quic"
	"github.com/libp2p/go-msgio"

	"github.com/feedtree/feedtree/multicast"
	"github.com/feedtree/feedtree/signing"
)

const (
	fanOut    = 16
	pushProto = "/feedtree/bench/push/1"
	pushQueue = 256 // messages that wait for one child; a full queue slows the sender
)

// pushed is the floor: node i's parent is node (i-1)/16.
type pushed struct {
	network
	nodes  []*pusher
	joined atomic.Int64
	bytes  atomic.Int64
	ctx    context.Context
	end    context.CancelFunc
	work   sync.WaitGroup
}

type pusher struct {
	host.Host
	mu       sync.Mutex
	children []chan []byte
}

func (p *pushed) start(_ context.Context, count int, on func(int)) error {
	p.ctx, p.end = context.WithCancel(context.Background())
	for i := range count {
		options := append(p.wire().options(),
			libp2p.ListenAddrStrings(listenOn...), libp2p.Transport(libp2pquic.NewTransport),
			libp2p.ResourceManager(&noLimits), libp2p.DisableMetrics(), libp2p.BandwidthReporter(meter{&p.bytes}))
		h, err := libp2p.New(options...)
		if err != nil {
			return err
		}
		n := &pusher{Host: h}
		p.nodes = append(p.nodes, n)
		h.SetStreamHandler(pushProto, func(s p2p.Stream) { p.adopt(n, s) })
		on(i + 1)
	}
	for i, n := range p.nodes[1:] {
		parent := p.nodes[i/fanOut]
		if err := n.Connect(p.ctx, peer.AddrInfo{ID: parent.ID(), Addrs: parent.Addrs()}); err != nil {
			return err
		}
	}
	return nil
}

// adopt serves a child until its stream breaks.
func (p *pushed) adopt(n *pusher, s p2p.Stream) {
	var hello [1]byte
	if _, err := s.Read(hello[:]); err != nil {
		return
	}
	queue := make(chan []byte, pushQueue)
	n.mu.Lock()
	n.children = append(n.children, queue)
	n.mu.Unlock()
	p.joined.Add(1)
	buffered := bufio.NewWriterSize(s, 4096)
	w := msgio.NewVarintWriter(buffered)
	for {
		select {
		case b := <-queue:
			err := w.WriteMsg(b)
			if err == nil && len(queue) == 0 {
				err = buffered.Flush()
			}
			if err != nil {
				return
			}
		case <-p.ctx.Done():
			return
		}
	}
}

func (p *pushed) join(ctx context.Context, i int) error {
	if i == 0 {
		return nil
	}
	n := p.nodes[i]
	s, err := n.NewStream(ctx, p.nodes[(i-1)/fanOut].ID(), pushProto)
	if err != nil {
		return err
	}
	if _, err := s.Write([]byte{1}); err != nil { // negotiation is lazy
		return err
	}
	p.work.Go(func() {
		defer s.Close()
		r := msgio.NewVarintReaderSize(s, signing.MaxWire)
		for {
			b, err := r.ReadMsg()
			if err != nil {
				return
			}
			env, err := signing.Open(b)
			if err != nil {
				return
			}
			n.forward(p.ctx, b) // the memory is not given back: children may still write it
			p.heard.delivered(i, multicast.Stamp{Source: multicast.Source(env.Key), Epoch: env.Epoch, Seq: env.Seq}, depth(i))
		}
	})
	return nil
}

func depth(i int) (d int) {
	for ; i > 0; i = (i - 1) / fanOut {
		d++
	}
	return d
}

func (n *pusher) forward(ctx context.Context, b []byte) {
	n.mu.Lock()
	children := n.children
	n.mu.Unlock()
	for _, c := range children {
		select {
		case c <- b:
		case <-ctx.Done():
			return
		}
	}
}

func (p *pushed) settled(count int) bool { return int(p.joined.Load()) >= count-1 }

func (p *pushed) publish(ctx context.Context, wire []byte) error {
	p.nodes[0].forward(ctx, wire)
	return ctx.Err()
}

func (p *pushed) close() {
	if p.end != nil {
		p.end()
	}
	var each sync.WaitGroup
	for _, n := range p.nodes {
		each.Go(func() { _ = n.Close() })
	}
	each.Wait()
	p.work.Wait()
}

var noLimits = p2p.NullResourceManager{}

func (p *pushed) sent() int64 { return p.bytes.Load() }
