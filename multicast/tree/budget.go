package tree

import "time"

// budget bounds the searches of a node over all its groups: many at first, then
// two in three minutes, and ever fewer the more of them in a row find nothing. A
// new place earns a search of its own.
type budget struct {
	saved float64
	since time.Duration
	vain  int // searches in a row that found nothing
}

const (
	budgetMost  = 48
	budgetEvery = 90 * time.Second
	budgetShare = 100              // groups; with each so many more, what a new place earns is that much less
	budgetSlow  = 15 * time.Minute // the pause is longer by a tenth of this with each search in vain, up to this
)

// every is how long it takes until one more search is due.
func (b *budget) every() time.Duration {
	return min(budgetEvery+time.Duration(b.vain)*budgetSlow/10, budgetSlow)
}

// earn adds the search that a new place is worth, one that a search found or another. In
// many groups it is worth less, or what one search found would pay for the next for ever.
func (b *budget) earn(found bool, groups int) {
	b.saved = min(b.saved+1/float64(1+groups/budgetShare), budgetMost)
	switch {
	case !found:
	case groups < budgetShare:
		b.vain = 0
	default:
		b.vain /= 2
	}
}

func (b *budget) take(now time.Duration) bool {
	if b.since == 0 {
		b.saved, b.since = budgetMost, max(now, 1)
	}
	b.saved = min(b.saved+float64(now-b.since)/float64(b.every()), budgetMost)
	b.since = max(now, 1)
	if b.saved < 1 {
		return false
	}
	b.saved--
	return true
}

// wait is how long it takes until there is another search to take.
func (b *budget) wait() time.Duration {
	return time.Duration((1 - b.saved) * float64(b.every()))
}
