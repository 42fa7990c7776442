package feedtree

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

const (
	clockWitnesses = 64          // sites whose clocks are remembered
	clockLeap      = time.Minute // between two looks: it was set, or the machine slept
	oneSiteOff     = time.Hour   // what one site alone must say: caches hand on old dates
)

// clock is what is known of the clock of this machine: how far it is ahead of
// those of the sites that answered. It reads none itself. The desk owns it.
type clock struct {
	ahead map[string]time.Duration // by host
	drift time.Duration            // of the calendar against the time that the node ran
}

// look forgets what was said of a clock that was set since. ran is how long the
// node runs, by a clock that nobody sets; a machine that slept looks the same.
func (c *clock) look(ran time.Duration, start, wall time.Time) {
	drift := wall.Round(0).Sub(start.Round(0)) - ran
	if (drift - c.drift).Abs() > clockLeap {
		clear(c.ahead)
	}
	c.drift = drift
}

// heard notes the date in an answer that came at wall.
func (c *clock) heard(host string, date, wall time.Time) {
	if date.IsZero() {
		return
	}
	if c.ahead == nil {
		c.ahead = map[string]time.Duration{}
	}
	if _, known := c.ahead[host]; known || len(c.ahead) < clockWitnesses {
		c.ahead[host] = wall.Round(0).Sub(date)
	}
}

// off is how far the machine's clock is ahead of most sites', and who says so.
// One that is wrong among several changes nothing.
func (c *clock) off() (ahead time.Duration, sites []string) {
	if len(c.ahead) == 0 {
		return 0, nil
	}
	all := slices.Sorted(maps.Values(c.ahead))
	return all[(len(all)-1)/2], slices.Sorted(maps.Keys(c.ahead))
}

// fault says what is wrong with the clock, if anything is. fromFuture is how many
// events were refused because they are dated later than now.
func (c *clock) fault(fromFuture uint64) string {
	const remedy = "Set the clock, for instance with: timedatectl set-ntp true"
	ahead, sites := c.off()
	limit := maxAhead
	if len(sites) == 1 {
		limit = oneSiteOff
	}
	which := "ahead of"
	if ahead < 0 {
		which = "behind"
	}
	switch {
	case ahead.Abs() > limit:
		return fmt.Sprintf("This machine's clock is %s %s what %s. Until it is right, this node and others refuse each other's events. %s",
			inWords(ahead.Abs()), which, say(sites), remedy)
	case len(sites) == 0 && fromFuture > 0:
		return fmt.Sprintf("%d events were refused because they are dated in the future, and no site has told the time yet: "+
			"either those who sent them have a wrong clock, or this machine has. %s", fromFuture, remedy)
	}
	return ""
}

// say names a few witnesses.
func say(sites []string) string {
	const few = 3
	switch n := len(sites); {
	case n == 1:
		return "the site " + sites[0] + " says"
	case n <= few:
		return "the sites " + strings.Join(sites, ", ") + " say"
	default:
		return fmt.Sprintf("%d sites say (%s, …)", n, strings.Join(sites[:few], ", "))
	}
}

// inWords is a duration as people say it.
func inWords(d time.Duration) string {
	switch {
	case d < 2*time.Hour:
		return fmt.Sprintf("%d minutes", d/time.Minute)
	case d < 48*time.Hour:
		return fmt.Sprintf("%d hours", d.Round(time.Hour)/time.Hour)
	}
	return fmt.Sprintf("%d days", d.Round(24*time.Hour)/(24*time.Hour))
}
