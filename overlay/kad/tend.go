package kad

import "time"

// What a node does by the clock it does at one time, every two seconds: an idle node is to
// leave the machine asleep. That is as long as a neighbour may be silent at least, so that
// each wait for a sign is seen before it ends. It asks the system for its addresses, and
// reads its connections where nothing limits what it may send, every so many times: that
// costs more than all the rest.
const (
	tendEvery  = silenceQUIC
	addrsEvery = 3
	meterEvery = 8
)

// tend goes on for as long as the node lives. In between it looks at its links where one
// of them is waited for.
func (n *Node) tend() {
	defer n.reach.tell.Close()
	at := home()
	w := watch{last: time.Now(), local: at.addrs}
	due := w.last.Add(tendEvery)
	timer := time.NewTimer(tendEvery)
	defer timer.Stop()
	for turn, next := 1, due; ; {
		select {
		case <-n.ctx.Done():
			return
		case <-timer.C:
		}
		now := time.Now() // the timer's may be old
		again := n.look(now, now.Sub(next) > lateBy)
		if !now.Before(due) {
			if turn%addrsEvery == 0 {
				at = home()
			}
			if why := w.look(now, at.addrs, n.accompanied()); why != "" {
				n.wakeUp(why)
			}
			n.reach.settle(now, at)
			if turn%meterEvery == 0 || n.meter.limited() {
				n.reach.spend(now)
			}
			turn, due = turn+1, now.Add(tendEvery)
		}
		if next = again; next.After(due) {
			next = due
		}
		timer.Reset(time.Until(next))
	}
}
