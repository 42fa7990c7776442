package sim_test

import (
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/feedtree/feedtree/overlay"
	"github.com/feedtree/feedtree/overlay/sim"
)

// A relay passes each message on to the next hop toward a key of its own, so
// that one event costs one receive, one route and one send.
type relay struct{ net *sim.Endpoint[note] }

func (r relay) Receive(_ time.Duration, _ overlay.ID, m note) { r.pass(m) }
func (r relay) pass(m note) {
	var k overlay.Key
	for i, x := 0, r.net.Rand().Uint64(); i < 8; i, x = i+1, x>>8 {
		k[i] = byte(x)
	}
	if next, ok := r.net.NextHop(k); ok {
		r.net.Send(next, m)
	} else {
		r.net.Send(r.net.Closest(k, 1)[0], m)
	}
}
func (r relay) Gone(time.Duration, overlay.ID) {}
func (r relay) Routes(time.Duration)           {}
func (r relay) Tick(time.Duration)             {}
func (r relay) Deadline() time.Duration        { return sim.Never }

// BenchmarkEvents measures events per second with as many messages in flight as
// there are nodes.
func BenchmarkEvents(b *testing.B) {
	for _, nodes := range []int{10_000, 200_000} {
		b.Run(strconv.Itoa(nodes), func(b *testing.B) { benchmarkEvents(b, nodes) })
	}
}

func benchmarkEvents(b *testing.B, nodes int) {
	net := sim.New(sim.Config[note]{Latency: sim.Plane(5*time.Millisecond, 80*time.Millisecond), Tables: sim.Tables{Bucket: 4}})
	ids := names(nodes)
	var hosts []relay
	for _, id := range ids {
		net.Add(id, func(ep *sim.Endpoint[note]) sim.Host[note] {
			hosts = append(hosts, relay{ep})
			return hosts[len(hosts)-1]
		})
	}
	for i, id := range ids {
		net.Call(id, func(time.Duration) { hosts[i].pass(1) })
	}
	net.Run(time.Second)
	b.ReportAllocs()
	for b.Loop() {
		net.Step()
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s")
}

// twoLanes run at once.
var twoLanes = sim.Lanes{Count: 2, Of: func(place uint64) int { return int(place & 1) }, Apart: 10 * time.Millisecond, Do: atOnceAll}

// BenchmarkBuild measures how long a node takes to come up and how much memory
// it holds, host apart.
func BenchmarkBuild(b *testing.B) {
	for _, bc := range []struct {
		name   string
		nodes  int
		joined bool
	}{{"drawn/10000", 10000, false}, {"drawn/100000", 100000, false}, {"joined/10000", 10000, true}, {"joined/100000", 100000, true}, {"joined/1000000", 1_000_000, true}} {
		b.Run(bc.name, func(b *testing.B) {
			ids := names(bc.nodes)
			var before, after runtime.MemStats
			for b.Loop() {
				runtime.GC()
				runtime.ReadMemStats(&before)
				net := sim.New(sim.Config[note]{Tables: sim.Tables{Joined: bc.joined}, Lanes: twoLanes})
				for i, id := range ids {
					if i%(bc.nodes/50) == 0 {
						net.Run(time.Duration(i/(bc.nodes/50)) * time.Millisecond)
					}
					net.Add(id, func(ep *sim.Endpoint[note]) sim.Host[note] { return relay{ep} })
				}
				net.Run(time.Second)
				runtime.GC()
				runtime.ReadMemStats(&after)
				runtime.KeepAlive(net)
			}
			b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/float64(bc.nodes), "B/node")
			b.ReportMetric(b.Elapsed().Seconds()*1e6/float64(bc.nodes*b.N), "µs/node")
		})
	}
}
