package kad

import "sync/atomic"

// A counter counts one kind of happening; what was refused or dropped has one
// for each reason.
type counter uint8

const (
	framesIn counter = iota
	framesOut
	bytesIn
	bytesOut
	refusedOversize   // a frame was announced longer than MaxFrame
	refusedMalformed  // a length was empty or not in its shortest form
	refusedTruncated  // a stream ended inside a frame
	refusedSlow       // the rest of a frame did not arrive in time
	refusedMemory     // no memory left for a frame
	refusedLinks      // a stream or frame beyond the number of links
	refusedKey        // a peer whose identity is not Ed25519
	refusedNetwork    // a peer of another network
	refusedAddr       // an address named in a message that is none to dial
	replacedStream    // an inbound stream gave way to a newer one
	queueFull         // a frame refused because the queue was full
	framesLost        // frames that were queued on a link when it was lost
	linksLost         // links lost, each reported as gone
	linksIdle         // links closed because nobody used them
	dialsFailed       // links lost because the peer could not be reached
	connsDead         // connections closed because nobody answered on them
	peersSilent       // peers connected that did not answer
	peersEvicted      // peers taken out of the routing table
	joinsFailed       // tries of a bootstrap peer that failed
	joinKicks         // times the DHT was pushed because its table was empty
	lookups           // lookups started
	lookupsUnanswered // lookups that nobody answered
	lookupsCut        // lookups cut short by a peer that did not answer
	lookupsSpared     // lookups answered as the last one was
	holesPunched      // direct connections made through NATs
	punchesFailed     // and tries of that
	wakes             // times it looked for the others at once, after a sleep or a change of network
	visits            // to the public DHT
	visitsFailed      // and those in vain
	numCounters
)

var counterNames = [numCounters]string{
	"frames_in", "frames_out", "bytes_in", "bytes_out",
	"refused_oversize", "refused_malformed", "refused_truncated", "refused_slow", "refused_memory",
	"refused_links", "refused_key", "refused_network", "refused_addr", "replaced_stream",
	"queue_full", "frames_lost", "links_lost", "links_idle", "dials_failed",
	"conns_dead", "peers_silent", "peers_evicted", "joins_failed", "join_kicks", "lookups", "lookups_unanswered", "lookups_cut", "lookups_spared",
	"holes_punched", "punches_failed", "wakes", "visits", "visits_failed",
}

type counters [numCounters]atomic.Uint64

func (c *counters) add(what counter, n int) { c[what].Add(uint64(n)) }
func (c *counters) inc(what counter)        { c[what].Add(1) }

// Counters returns how often each thing has happened since the node was made.
func (n *Node) Counters() map[string]uint64 {
	all := make(map[string]uint64, numCounters)
	for i, name := range counterNames {
		all[name] = n.count[i].Load()
	}
	return all
}
