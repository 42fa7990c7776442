package tree

import "time"

// Config sets a node's bounds and times. The zero value is the shipped
// default; a field that is zero takes the value its comment names.
type Config struct {
	Children    int           // children per group: 16
	AllChildren int           // children over all groups: 20, and 2 for each group the node is a member of
	Neighbours  int           // peers with an edge or a lazy link, over all groups: 128
	Lazy        int           // lazy links a member seeks per group: 8; it accepts twice as many
	Lines       int           // sources remembered per group: 32
	Buffer      int           // events kept per group (FeedTree §4.5.2: the last n items): 512
	BufferBytes int           // bytes kept per group: 4 MiB
	Replicas    int           // nodes near the root that hold its state: 3
	KeepAlive   time.Duration // silence after which parent and children are pinged: 20 s
	Patience    time.Duration // how long a neighbour may take to answer: 2 s
	Lease       time.Duration // how long a node near the root keeps a group for nobody: 1 h
	Sparing     bool          // it has sent enough for others: it is nobody's parent and answers no pull but of its own lines
	Leaf        bool          // nobody can dial this node: it is never a root, and a parent only of who got through to it
}

func (c Config) withDefaults() Config {
	def := func(v *int, d int) {
		if *v <= 0 {
			*v = d
		}
	}
	span := func(v *time.Duration, d time.Duration) {
		if *v <= 0 {
			*v = d
		}
	}
	def(&c.Children, 16)
	def(&c.Neighbours, 128)
	def(&c.Lazy, 8)
	def(&c.Lines, 32)
	def(&c.Buffer, 512)
	def(&c.BufferBytes, 4<<20)
	def(&c.Replicas, 3)
	span(&c.KeepAlive, 20*time.Second)
	span(&c.Patience, 2*time.Second)
	span(&c.Lease, time.Hour)
	return c
}

// Times that follow from how networks behave rather than from anybody's wish.
const (
	tellAfter    = 150 * time.Millisecond  // heads are collected for this long, then told together
	reorderWait  = 100 * time.Millisecond  // a gap may close by itself when messages overtake each other
	lazyWait     = 500 * time.Millisecond  // a head heard from a lazy link may only be ahead of the payload
	pullWait     = time.Second             // an answer to a pull is due
	expectWait   = 2500 * time.Millisecond // data sent is acknowledged by heads within this, or the neighbour is pinged
	rootCheck    = 5 * time.Second         // a new root looks again for somebody closer; doubles up to
	rootCheckTo  = time.Minute
	rootShare    = 16                     // trees; with each so many more, the top looks around that much less often
	rootTerm     = 3 * time.Minute        // a root below a publisher is root for this long, unless told again
	claimWait    = 500 * time.Millisecond // a publisher looks for the top after this; claims are heeded no faster
	retryFrom    = 300 * time.Millisecond // a failed search for a parent starts again; doubles up to
	retryTo      = 20 * time.Second
	walkFrom     = 500 * time.Millisecond // a member short of lazy links sends a walk; doubles up to
	walkTo       = 16 * time.Minute
	walkFew      = 30 * time.Second        // but to no more than this with fewer than it seeks at once
	walkLater    = 30 * time.Second        // and no sooner than after this with more
	walkShare    = 16                      // groups; of who has neighbours enough, walks are this much rarer with each so many more
	tellEvery    = 1500 * time.Millisecond // and no more often than this to one neighbour,
	tellShare    = 375 * time.Millisecond  // nor, in the mean, than this for each lazy link there is to a lazy link
	tellWith     = 500 * time.Millisecond  // by so much later, so that it goes out after the next event,
	tellSoon     = 15 * time.Millisecond   // once that has gone on
	lazyPart     = 3                       // keep-alives are this much rarer where no edge is watched
	replicateTo  = 8                       // nodes in a tree that needs no copies beside it
	fewPairs     = 5
	pairShare    = 3 * time.Second  // beyond a few, by so much each neighbour more makes keep-alives rarer
	compareEvery = 2                // keep-alives' time after which heads carry the digests of one
	avoidFor     = 10 * time.Minute // a parent that did not forward is not asked again
	maxPath      = 48               // a longer way to the top is a loop that nobody saw closing
	walkHops     = 4                // steps of a walk; it may end once no more than walkAccept are left
	walksAtOnce  = 2
	walkAccept   = 2
	blameLimit   = 3 // items a parent may be late with, in a row, before it is left
	pullMax      = 64
	pullRounds   = 6 // rounds of asking everybody for what is missing, 2 s to a minute apart
	receiptHops  = 3 // receipts are asked for this many edges around the source
)
