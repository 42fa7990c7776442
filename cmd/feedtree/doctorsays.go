package main

import (
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/feedtree/feedtree"
	"github.com/feedtree/feedtree/overlay/kad"
)

// findings says what was seen, in the order in which one thing rests on another.
func (e *examined) findings() []checked {
	all := []checked{e.proxy(), e.keeping(), e.clock()}
	all = append(all, e.reachSites()...)
	all = append(all, e.company(), e.reached(), e.volunteering(), e.sending())
	return append(all, e.feeds()...)
}

func (e *examined) proxy() checked {
	f := checked{About: "proxy"}
	var answered *answerError
	switch {
	case e.silence == nil:
		f.State, f.Says = fine, fmt.Sprintf("It runs at %s/, started %s.", e.page, when(e.now, e.status.Since))
		if e.version != "" && e.version != version() {
			f.State = note
			f.Says += fmt.Sprintf(" It is %s; this command is %s.", e.version, version())
			f.Do = "Restart it, so that the version installed runs."
		}
	case errors.Is(e.silence, errNotFeedtree), errors.As(e.silence, &answered):
		f.State, f.Says = bad, fmt.Sprintf("At %s/ something answers that is no feedtree proxy: %v.", e.page, e.silence)
		f.Do = "If the proxy listens elsewhere, name it: feedtree doctor --listen ADDRESS. If another program has the address, give the proxy another one with --listen."
	default:
		f.State, f.Says = bad, fmt.Sprintf("No proxy answers at %s/ (%v). Readers get nothing.", e.page, rootCause(e.silence))
		f.Do = "Start it: feedtree proxy, or as a service: systemctl enable --now feedtree. If it listens elsewhere: feedtree doctor --listen ADDRESS."
	}
	return f
}

// keeping is about the data directory.
func (e *examined) keeping() checked {
	f := checked{About: "data", State: fine}
	switch {
	case e.silence == nil && e.status.Health.Store != "":
		f.State, f.Says = bad, e.status.Health.Store
		f.Do = "Make room on the disk, or give the proxy's user the right to write there."
	case e.unready != "":
		f.State, f.Says, f.Do = bad, e.unready, "Look at the proxy's log; if nothing else helps, restart it."
	case e.silence == nil:
		f.Says = "What comes can be kept."
	case e.data.err != nil:
		f.State, f.Says = bad, fmt.Sprintf("%v.", e.data.err)
		f.Do = "If a proxy uses it that listens elsewhere: feedtree doctor --listen ADDRESS. If it belongs to another user, run this as that user."
	default:
		if _, err := os.Stat(e.data.path); err != nil {
			f.Says = e.data.path + " is not there yet; a proxy makes it."
			break
		}
		f.Says = e.data.path + " can be used."
	}
	if f.State == fine && e.data.free > 0 && e.data.free < roomy {
		f.State, f.Do = note, "Make room on the disk."
		f.Says += fmt.Sprintf(" Only %d MB are free there.", e.data.free>>20)
	}
	return f
}

func (e *examined) clock() checked {
	f := checked{About: "clock", State: fine, Says: "Right, as far as sites have told."}
	switch {
	case e.status.Health.Clock != "":
		f.State, f.Says = bad, e.status.Health.Clock
		f.Do = "Set it, for instance with: timedatectl set-ntp true"
	case e.silence != nil, len(e.status.Feeds) == 0:
		f.Says = "Nobody has told the time yet; it is compared once sites are asked."
	}
	for _, s := range e.sites {
		var invalid x509.CertificateInvalidError
		if errors.As(s.err, &invalid) && invalid.Reason == x509.Expired && f.State == fine {
			f.State, f.Says = note, fmt.Sprintf("By this machine's clock it is %s, and the certificate of %s is not valid then.", e.now.Format(time.RFC3339), s.host)
			f.Do = "If that is not the time, set it, for instance with: timedatectl set-ntp true"
		}
	}
	return f
}

// reachSites is about the network between this machine and the sites of feeds.
func (e *examined) reachSites() []checked {
	if len(e.sites) == 0 {
		return []checked{{About: "sites", State: fine, Says: "No public feed is followed yet, so none was tried."}}
	}
	var all []checked
	reached := []string{}
	for _, s := range e.sites {
		if s.err == nil {
			reached = append(reached, s.host)
			continue
		}
		why, do := diagnoseSite(s)
		all = append(all, checked{"sites", note, fmt.Sprintf("%s cannot be reached: %s.", s.host, why), do})
	}
	if len(reached) == 0 { // the network, and no site's own trouble
		for i := range all {
			all[i].State = bad
		}
		return all
	}
	return append([]checked{{"sites", fine, "Reached: " + strings.Join(reached, ", ") + ".", ""}}, all...)
}

// diagnoseSite says why a site cannot be reached, and what to do.
func diagnoseSite(s siteSeen) (why, do string) {
	var dns *net.DNSError
	var unknown x509.UnknownAuthorityError
	var name x509.HostnameError
	switch {
	case errors.As(s.err, &dns) && dns.IsNotFound:
		return "its name is not known", "If a browser knows it, look at this machine's DNS settings (/etc/resolv.conf); else the feed has gone."
	case errors.As(s.err, &dns):
		return "names cannot be looked up (" + dns.Err + ")", "Look at the network connection and the DNS settings (/etc/resolv.conf)."
	case errors.As(s.err, &unknown):
		return "nobody known vouches for its certificate", "Install the package ca-certificates. If that is there: somebody between here and the site may read along."
	case errors.As(s.err, &name):
		return "its certificate is for another name", "Somebody between here and the site answers in its place, perhaps a login page of the network."
	}
	return rootCause(s.err), "If a browser on this machine reaches it, look for a firewall that stops feedtree."
}

// rootCause is the innermost error, without what operation it was.
func rootCause(err error) string {
	for {
		under := errors.Unwrap(err)
		if under == nil {
			return strings.TrimSuffix(err.Error(), ".")
		}
		err = under
	}
}

// company is about other nodes.
func (e *examined) company() checked {
	r := e.status.Reach
	if n := e.status.Peers; n > 0 {
		how := fmt.Sprintf("%d direct, %d through holes in NATs, %d over relays", r.Links.Direct, r.Links.Punched, r.Links.Relayed)
		return checked{"peers", fine, fmt.Sprintf("Connected to %s: %s.", count(n, "other node"), how), ""}
	}
	f := checked{About: "peers", State: note, Says: "No other node is connected. Feeds are polled from here, politely, and all else works."}
	var ways []string
	switch {
	case e.off.NoMDNS:
		ways = append(ways, "on the local network it does not look (--no-mdns)")
	default:
		ways = append(ways, "on the local network there is none")
	}
	switch {
	case r.Rendezvous.Off:
		ways = append(ways, "the public meeting point is switched off (--no-rendezvous)")
	case r.Rendezvous.Asked == nil:
		ways = append(ways, "the public meeting point was not reached yet")
	default:
		ways = append(ways, fmt.Sprintf("the public meeting point named %d", r.Rendezvous.Found))
	}
	f.Says += " Looked for: " + strings.Join(ways, "; ") + "."
	f.Do = "If you know a node, join through it: --bootstrap /ip4/…/p2p/… (its page names its addresses). If there should be others, look for a firewall that stops UDP."
	return f
}

// reached is about whether others can dial this node.
func (e *examined) reached() checked {
	r := e.status.Reach
	switch r.State {
	case kad.Public:
		how := ""
		if r.Mapped {
			how = "; the router forwards a port here"
		}
		return checked{"reach", fine, "Others can dial this node" + how + ".", ""}
	case kad.Private:
		f := checked{About: "reach", State: note, Says: "Nobody outside can dial this node: it is behind a NAT or a firewall."}
		if len(r.Relays) > 0 {
			f.State = fine
			f.Says += " Others are introduced to it by " + count(len(r.Relays), "relay") + "."
		}
		f.Says += " Feeds come all the same; it serves others less."
		f.Do = "To serve others, have the router forward a port" + e.port() + " to this machine, or switch on UPnP or NAT-PMP there."
		if e.off.NoNAT {
			f.Do = "Leave out --no-nat, so that the router is asked for a port; or have it forward one" + e.port() + "."
		}
		return f
	}
	if e.off.NoNAT {
		return checked{"reach", fine, "Nobody was asked whether others can dial this node (--no-nat).", ""}
	}
	return checked{"reach", fine, "Whether others can dial this node is not known yet: it takes a few other nodes to find out.", ""}
}

// port names the port that nodes dial, if there is one.
func (e *examined) port() string {
	for _, addr := range e.status.Addrs {
		parts := strings.Split(addr, "/")
		for i, p := range parts {
			if p == "udp" && i+1 < len(parts) {
				return " (UDP " + parts[i+1] + ")"
			}
		}
	}
	return ""
}

func (e *examined) volunteering() checked {
	v := e.status.Volunteering
	switch {
	case e.silence != nil:
		return checked{"helping", fine, "A proxy that runs polls feeds for others, unless told not to (--no-volunteer).", ""}
	case !v.On:
		return checked{"helping", fine, "Switched off: this node polls nothing for others. They poll for it.", ""}
	case v.Deferred > 0:
		return checked{"helping", note, fmt.Sprintf("It polls for others, up to its limits; %s left to them.", count(int(v.Deferred), "poll")),
			"If that is less than you want to give, raise --max-requests or --max-bytes."}
	}
	return checked{"helping", fine, fmt.Sprintf("It takes its turn at polling %s; %s in the last hour.", count(v.Crews, "feed"), count(v.Requests, "request")), ""}
}

// sending is about what goes to other nodes, and the limit on it.
func (e *examined) sending() checked {
	u := e.status.Spending.Upload
	limit := "--max-upload, or on " + e.page + "/"
	spent := fmt.Sprintf("%.1f MB went to other nodes in the last hour", float64(u.Hour)/1e6)
	switch {
	case e.silence != nil && e.off.MaxUpload <= 0:
		return checked{"sending", fine, "What a proxy sends to other nodes is not limited.", ""}
	case e.silence != nil:
		return checked{"sending", fine, fmt.Sprintf("A proxy would send %.1f MB to other nodes in an hour at most (--max-upload).", float64(e.off.MaxUpload)/1e6), ""}
	case u.Most == 0:
		return checked{"sending", fine, spent + "; there is no limit.", ""}
	case u.Hour > u.Most:
		return checked{"sending", note, fmt.Sprintf("%s, more than the limit of %.1f MB: staying connected alone takes that. Nothing is sent on behalf of others.", spent, float64(u.Most)/1e6),
			"Raise the limit (" + limit + "), or follow fewer feeds."}
	case u.Sparing:
		return checked{"sending", note, fmt.Sprintf("%s, close to the limit of %.1f MB: nothing more is sent on behalf of others for now. Your own feeds go on.", spent, float64(u.Most)/1e6),
			"If that is less than you want to give, raise the limit (" + limit + ")."}
	}
	return checked{"sending", fine, fmt.Sprintf("%s, of %.1f MB at most.", spent, float64(u.Most)/1e6), ""}
}

// feeds is about feeds with which something is wrong.
func (e *examined) feeds() []checked {
	failing := []checked{}
	for _, f := range e.status.Feeds {
		if f.Failure != "" {
			why := strings.TrimSuffix(strings.TrimPrefix(f.Failure, f.URL+": "), ".")
			failing = append(failing, checked{"feed", note, shown(f) + ": " + strings.ReplaceAll(why, f.URL, shown(f)) + ".", adviceFor(f)})
		}
	}
	n := len(e.status.Feeds)
	switch {
	case n == 0:
		return []checked{{"feeds", fine, "None is followed yet.", "Put " + e.page + "/feed/ in front of a feed's address in your reader, or drop your list of feeds on " + e.page + "/."}}
	case len(failing) == 0:
		return []checked{{"feeds", fine, count(n, "feed") + ", with nothing wrong.", ""}}
	}
	state := note
	if len(failing) == n {
		state = bad
	}
	const few = 20
	all := []checked{{"feeds", state, fmt.Sprintf("%s; something is wrong with %d.", count(n, "feed"), len(failing)), ""}}
	all = append(all, failing[:min(len(failing), few)]...)
	if more := len(failing) - few; more > 0 {
		all = append(all, checked{"feed", note, fmt.Sprintf("… and %d more: see %s/", more, e.page), ""})
	}
	return all
}

// shown names a feed. What doctor prints is shown to others who help: of an address
// that is not public only the host is told.
func shown(f feedtree.FeedStatus) string {
	if f.Local == "" {
		return f.URL
	}
	u, err := url.Parse(f.URL)
	if err != nil {
		return "a private feed"
	}
	return "a private feed at " + u.Hostname()
}

// adviceFor says what to do about a feed.
func adviceFor(f feedtree.FeedStatus) string {
	switch {
	case f.Reason == "status 404" || f.Reason == "status 410":
		return "Look for the feed's new address on its site, and unsubscribe from this one."
	case f.Reason == "status 401" || f.Reason == "status 403":
		return "The site refuses. If it wants a password, the address lacks it or it changed."
	case strings.HasPrefix(f.Reason, "status "):
		return "That is the site's own trouble; it is asked again by itself."
	case f.Reason == "":
		return ""
	}
	return "It is asked again by itself. If a browser reaches it, see above for what is wrong here."
}

// when says it as people do.
func when(now, t time.Time) string {
	switch d := now.Sub(t); {
	case d < time.Minute && d >= 0:
		return "just now"
	case d < 2*time.Hour && d >= 0:
		return count(int(d/time.Minute), "minute") + " ago"
	case d < 48*time.Hour && d >= 0:
		return count(int(d/time.Hour), "hour") + " ago"
	}
	return t.Local().Format("on 2 January 2006")
}

// count is "1 feed" or "2 feeds".
func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
