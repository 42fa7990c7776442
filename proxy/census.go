package proxy

import (
	"github.com/feedtree/feedtree"
)

// census is all feeds together.
type census struct {
	items, failing    int
	children, deepest int
	roles             map[feedtree.Role]int
	places            map[string]int // where this node is in the trees
	refused           map[string]uint64
	week              feedtree.Week
}

func takeCensus(feeds []feedtree.FeedStatus) *census {
	c := &census{
		roles:   map[feedtree.Role]int{feedtree.RoleVolunteer: 0, feedtree.RoleSubscriber: 0, feedtree.RoleLocal: 0, feedtree.RolePublisher: 0},
		places:  map[string]int{"root": 0, "inside": 0, "leaf": 0, "apart": 0, "detached": 0},
		refused: map[string]uint64{},
	}
	for _, f := range feeds {
		c.add(f)
	}
	return c
}

func (c *census) add(f feedtree.FeedStatus) {
	c.roles[f.Role]++
	c.items += f.Items
	c.children += len(f.Children)
	c.deepest = max(c.deepest, f.Depth)
	if f.Failure != "" {
		c.failing++
	}
	if f.Role != feedtree.RoleLocal {
		c.places[placeIn(f)]++
	}
	for why, n := range f.Refused {
		c.refused[why] += n
	}
	c.week.Requests += f.Week.Requests
	c.week.AloneRequests += f.Week.AloneRequests
	c.week.Bytes += f.Week.Bytes
	c.week.TreeBytes += f.Week.TreeBytes
	c.week.AloneBytes += f.Week.AloneBytes
}

// placeIn is where a node is in a feed's tree.
func placeIn(f feedtree.FeedStatus) string {
	switch {
	case f.Root:
		return "root"
	case f.Apart:
		return "apart"
	case !f.Attached:
		return "detached"
	case len(f.Children) > 0:
		return "inside"
	}
	return "leaf"
}

// tell adds it to a scrape.
func (c *census) tell(w scrape) {
	for role, n := range c.roles {
		w.gauge("feeds", "Feeds followed, by what the node does for them.", float64(n), "role", string(role))
	}
	for where, n := range c.places {
		w.gauge("trees", "Trees, by where this node is in them.", float64(n), "place", where)
	}
	for why, n := range c.refused {
		w.gauge("feed_events_refused", "Events refused of the feeds that are followed now, by reason.", float64(n), "reason", why)
	}
	w.gauge("feeds_failing", "Feeds with which something is wrong now.", float64(c.failing))
	w.gauge("items", "Items held.", float64(c.items))
	w.gauge("tree_depth_max", "The most hops between this node and the top of a tree.", float64(c.deepest))
	w.gauge("tree_children", "Nodes that this one hands events on to, over all trees.", float64(c.children))
	w.gauge("week_requests", "Requests to the sites of the feeds in a week.", float64(c.week.Requests))
	w.gauge("week_alone_requests", "What it would have been alone.", float64(c.week.AloneRequests))
	w.gauge("week_bytes", "Bytes of documents that these sites sent.", float64(c.week.Bytes))
	w.gauge("week_tree_bytes", "Bytes of events that other nodes sent instead.", float64(c.week.TreeBytes))
	w.gauge("week_alone_bytes", "What sites would have sent alone.", float64(c.week.AloneBytes))
}
