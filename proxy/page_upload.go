package proxy

import (
	"time"

	"github.com/feedtree/feedtree/overlay/kad"
)

// sparing says what a node does that has sent as much as it may, "" if it has not.
func sparing(u kad.Upload, now time.Time) string {
	if !u.Sparing {
		return ""
	}
	says := bytesText(int64(u.Hour)) + " of " + bytesText(int64(u.Most)) + " an hour went to other nodes"
	if u.Until != nil {
		says += ": they are sent nothing more on behalf of others until " + u.Until.In(now.Location()).Format("15:04")
	}
	says += ". They were told of others to ask instead. Your own feeds and what you publish go on."
	if u.Hour > u.Most {
		says += " Staying connected alone takes more than that limit."
	}
	return says
}
