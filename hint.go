package feedtree

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/feedtree/feedtree/feed"
	"github.com/feedtree/feedtree/feed/schedule"
	"github.com/feedtree/feedtree/internal/tally"
)

const (
	hintApart  = 5 * time.Minute        // between two requests to one feed's origin that hints ask for
	hintSpread = 2 * time.Second        // hubs tell many nodes at once: the first to ask tells the others
	hintFresh  = 2 * time.Minute        // news this young may be what a hint was about
	sitesEvery = 100 * time.Millisecond // how often all feeds are looked through for a site's
	siteFeeds  = 4                      // a hint about a site is one about each of its feeds, if they are so few
)

// HintReason is why a hint was refused.
type HintReason string

// The reasons. Status counts them, each behind "hint: ".
const (
	HintBadURL    HintReason = "not the URL of a feed"
	HintPrivate   HintReason = "a private URL"
	HintUnknown   HintReason = "not followed here"
	HintVague     HintReason = "a site of too many feeds"
	HintPublished HintReason = "its publisher pushes it"
	HintGone      HintReason = "gone for good"
	HintTooMany   HintReason = "too many about whole sites"
)

// HintError is why a hint about a URL was refused.
type HintError struct {
	URL    string
	Reason HintReason
}

func (e *HintError) Error() string { return fmt.Sprintf("hint about %q: %s", e.URL, e.Reason) }

// Hint tells the node that somebody says that the feed at url has news: a ping, a
// hub, a webhook. from names the way it came, for the log. Nobody is believed:
// all that a hint can bring about is a conditional request to the feed's origin,
// whose outcome is kept and told to others as that of any poll.
//
// There is at most one such request per feed in 5 minutes (Fetch.Rules.Hint, if
// it is set), however many hints come: those that come earlier are one hint for
// the end of that time. It is not made before the origin's Retry-After has
// passed, nor if the news comes from the tree before, which is why it waits up to
// two seconds where there are others. It does not wait for what a poll would wait
// for: the interval, max-age, ttl, skipHours.
//
// url is that of the feed, one that once led to it, or that of its site: then
// feeds whose URLs begin with it are meant, if there are no more than 4.
//
// Hint returns once that is decided, without waiting for the request. It
// returns a [HintError] for a URL that is none or private, for a feed that is not
// followed here, is gone (410) or has a publisher who keeps his promise of
// heartbeats; and ErrClosed. A refused hint leaves nothing behind but a count.
func (n *Node) Hint(ctx context.Context, url, from string) error {
	err := n.hint(ctx, url)
	if refused, ok := err.(*HintError); ok {
		n.hints.Count("hint: " + string(refused.Reason))
	}
	n.config.Log.Debug("hint", "url", url, "from", from, "refused", err)
	if err == nil {
		n.hints.Count("hints_taken")
	}
	return err
}

func (n *Node) hint(ctx context.Context, url string) error {
	canonical, err := feed.Canonical(url)
	if err != nil {
		return &HintError{url, HintBadURL}
	}
	if ok, _ := n.config.Public(canonical); !ok {
		return &HintError{canonical, HintPrivate}
	}
	reason, err := n.hinted(ctx, canonical)
	if reason == HintUnknown && err == nil {
		if target := n.followed(ctx, canonical); target != canonical {
			reason, err = n.hinted(ctx, target)
		}
	}
	switch {
	case err != nil:
		return err
	case reason != "":
		return &HintError{canonical, reason}
	}
	return nil
}

// hinted has the desk decide. An empty reason means that the hint was taken.
func (n *Node) hinted(ctx context.Context, canonical string) (HintReason, error) {
	var reason HintReason
	err := n.desk.ask(ctx, func(d *desk) {
		if ch := d.channels[canonical]; ch != nil {
			reason = d.hint(ch)
		} else {
			reason = d.hintSite(canonical)
		}
	})
	if err != nil {
		return "", err
	}
	return reason, nil
}

// hints counts them. The zero value counts none.
type hints struct {
	tally.Tally
	sites time.Duration // the desk's: when all feeds may be looked through again
}

// hinting is what a channel knows of hints, and of the hubs that give them.
type hinting struct {
	pending bool
	at      time.Duration // when the origin is to be asked
	asked   bool
	askedAt time.Duration // when it was asked last for a hint
	hub     *Hub          // nil: not known yet
}

// due is when the origin is asked because of a hint.
func (h *hinting) due() time.Duration {
	if !h.pending {
		return schedule.Never
	}
	return h.at
}

// hint takes a hint about a feed.
func (d *desk) hint(ch *channel) HintReason {
	rec := ch.ledger.record()
	switch h := &ch.work.hint; {
	case rec.Asked.IsZero() && ch.publishing == 0:
		return HintUnknown
	case ch.publishing > 0 || ch.sched.Live(d.now()):
		return HintPublished
	case stateOf(rec).Trouble.Gone:
		return HintGone
	case h.pending:
	default:
		h.pending, h.at = true, d.now()
		if !ch.local() && !d.company.alone {
			h.at += d.upTo(min(hintSpread, ch.sched.Interval()/2))
		}
		if h.asked {
			h.at = max(h.at, h.askedAt+d.node.hintApart())
		}
		d.arm(ch)
	}
	return ""
}

func (n *Node) hintApart() time.Duration {
	if apart := n.config.Fetch.Rules.Hint; apart > 0 {
		return apart
	}
	return hintApart
}

// hintSite takes a hint about the feeds of a site. WordPress names its site and
// not its feed to servers that know only the older of the two pings.
func (d *desk) hintSite(site string) HintReason {
	_, under, ok := strings.Cut(site, "://")
	if !ok || !strings.HasSuffix(under, "/") {
		return HintUnknown
	}
	if d.now() < d.node.hints.sites {
		return HintTooMany
	}
	d.node.hints.sites = d.now() + sitesEvery
	var meant []*channel
	for url, ch := range d.channels {
		if _, rest, _ := strings.Cut(url, "://"); !strings.HasPrefix(rest, under) {
			continue
		}
		if meant = append(meant, ch); len(meant) > siteFeeds {
			return HintVague
		}
	}
	reason := HintUnknown
	for _, ch := range meant {
		if r := d.hint(ch); reason != "" {
			reason = r
		}
	}
	return reason
}

// answerHint is what a worker is to do for a hint, which is then done with.
func (d *desk) answerHint(ch *channel) job {
	h := &ch.work.hint
	h.pending, h.asked, h.askedAt = false, true, d.now()
	d.node.hints.Count("hint_requests")
	j := d.pollJob(ch)
	j.why = whyHint
	if ch.work.askAt != 0 { // it answers that as well
		j.nudge = ch.work.nudge
		ch.work.askAt, ch.work.askedAt, ch.work.asked, ch.work.nudge = 0, h.askedAt, true, false
	}
	return j
}

// pollJob is a poll whose outcome others hear, if they may.
func (d *desk) pollJob(ch *channel) job {
	return job{poll: true, tell: !ch.local() && !ch.work.quiet, thorough: !ch.work.told, why: whyTurn}
}

// spared is told of news from the tree: a hint was most likely about that.
func (ch *channel) spared(ago time.Duration) {
	if ch.work.hint.pending && ago < hintFresh {
		ch.work.hint.pending = false
	}
}

// report adds the counts to those of a status.
func (h *hints) report(done, refused map[string]uint64) {
	for what, n := range h.All() {
		if strings.HasPrefix(what, "hint: ") {
			refused[what] += n
		} else {
			done[what] += n
		}
	}
}
