package schedule

import "time"

// Adaptive is FeedEx's rule for the interval between two polls of a feed (§3.3):
// documents in which much is new are polled sooner, others later.
//
// The paper's text has the two cases exchanged: it halves the interval when little
// is new. Here they are as its own explanation wants them: "if fetching is too
// frequent, a fetched document contains few new entries".
type Adaptive struct {
	Fresh    float64       // ft: the share of new items to aim for, 0 to 1
	Min, Max time.Duration // Tmin and Tmax
}

// Next is the interval that follows t after a poll that found so many new items
// among all those in the document. An empty document has nothing new.
func (a Adaptive) Next(t time.Duration, news, items int) time.Duration {
	fresh := 0.0
	if items > 0 {
		fresh = float64(news) / float64(items)
	}
	switch {
	case fresh > a.Fresh:
		t /= 2
	case fresh < a.Fresh && t > a.Max/2:
		t = a.Max
	case fresh < a.Fresh:
		t *= 2
	}
	return min(max(t, a.Min), a.Max)
}
