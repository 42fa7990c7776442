package feed

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"
)

// Tree is the ft:tree element: how to get the feed by push (FeedTree §4.3: the
// metadata that a conventional feed carries). It is a claim of the document, to be
// checked by whoever acts on it: that the group is the feed's, that the certificate
// is signed, that the addresses answer.
type Tree struct {
	Version     int           // of the element; 1
	Group       string        // the multicast group, base32
	Cert        string        // URL of the certificate
	Fingerprint string        // of the root keys, or of the only key: "sha-256:HEX"
	TTL         time.Duration // time between heartbeats; 0: none promised
	Head        uint64        // the last event's number when the document was made
	Bootstrap   []string      // multiaddrs, hints only
}

// Poll is the ft:poll element: the publisher's word to those who poll.
type Poll struct {
	Allow string        // "cooperative"; "none" or "self": no volunteers, please
	Min   time.Duration // poll no more often
}

// Cooperative reports whether one may poll for others. A word that is not known
// here is a limit of a kind that is not known here: it is taken for "none".
func (p *Poll) Cooperative() bool {
	if p == nil {
		return true
	}
	switch p.Allow {
	case "", "cooperative", "all", "any":
		return true
	}
	return false
}

const (
	maxBootstrap = 16
	maxMetaValue = 2048
)

// XML returns the element with its namespace, to be pasted under the channel of
// an RSS feed or into an Atom feed.
func (t Tree) XML() string { return t.xml("ft", true, nil) }

// XML returns the element with its namespace.
func (p Poll) XML() string { return p.xml("ft", true) }

// JSON returns the value of the "_feedtree" member of a JSON Feed.
func (t Tree) JSON() string { return string(metaJSON(&t, nil)) }

func (t Tree) xml(prefix string, declare bool, poll *Poll) string {
	var b strings.Builder
	b.WriteString("<" + prefix + ":tree")
	if declare {
		b.WriteString(` xmlns:` + prefix + `="` + Namespace + `"`)
	}
	attr := func(name, value string) {
		if value != "" {
			b.WriteString(" " + name + `="` + escapeAttr(value) + `"`)
		}
	}
	attr("version", strconv.Itoa(max(t.Version, 1)))
	attr("group", t.Group)
	attr("cert", t.Cert)
	attr("fingerprint", t.Fingerprint)
	attr("ttl", strconv.FormatInt(int64(t.TTL/time.Second), 10))
	if t.Head > 0 {
		attr("head", strconv.FormatUint(t.Head, 10))
	}
	if len(t.Bootstrap) == 0 && poll == nil {
		b.WriteString("/>")
		return b.String()
	}
	b.WriteString(">\n")
	for _, addr := range t.Bootstrap {
		b.WriteString("  <" + prefix + ":bootstrap>" + escapeText(addr) + "</" + prefix + ":bootstrap>\n")
	}
	if poll != nil {
		b.WriteString("  " + poll.xml(prefix, false) + "\n")
	}
	b.WriteString("</" + prefix + ":tree>")
	return b.String()
}

func (p Poll) xml(prefix string, declare bool) string {
	s := "<" + prefix + ":poll"
	if declare {
		s += ` xmlns:` + prefix + `="` + Namespace + `"`
	}
	if p.Allow != "" {
		s += ` allow="` + escapeAttr(p.Allow) + `"`
	}
	if p.Min > 0 {
		s += ` min="` + strconv.FormatInt(int64(p.Min/time.Second), 10) + `"`
	}
	return s + "/>"
}

// treeOf reads an ft:tree element; r is that element.
func treeOf(r *raw, e *element) (*Tree, *Poll) {
	t := &Tree{
		Group:       meta(e.attr("group")),
		Cert:        meta(e.attr("cert")),
		Fingerprint: meta(e.attr("fingerprint")),
		TTL:         seconds(e.attr("ttl")),
	}
	t.Version, _ = strconv.Atoi(trimSpace(e.attr("version")))
	t.Head, _ = strconv.ParseUint(trimSpace(e.attr("head")), 10, 64)
	var poll *Poll
	kids, raws := r.children()
	for i, k := range kids {
		switch {
		case k.space != Namespace:
		case k.local == "bootstrap" && len(t.Bootstrap) < maxBootstrap:
			if addr := meta(raws[i].inner()); addr != "" {
				t.Bootstrap = append(t.Bootstrap, addr)
			}
		case k.local == "poll":
			poll = pollOf(k)
		}
	}
	return t, poll
}

func pollOf(e *element) *Poll {
	return &Poll{Allow: strings.ToLower(meta(e.attr("allow"))), Min: seconds(e.attr("min"))}
}

// meta takes a value from a document into an announcement, where none is long.
func meta(s string) string {
	if s = trimSpace(s); len(s) > maxMetaValue {
		return ""
	}
	return s
}

// seconds reads a number of seconds; what is not one, or is absurd, is 0.
func seconds(s string) time.Duration {
	n, err := strconv.ParseInt(trimSpace(s), 10, 64)
	if err != nil || n < 0 || n > 10*365*24*3600 {
		return 0
	}
	return time.Duration(n) * time.Second
}

// treeJSON is the shape of "_feedtree" in a JSON Feed.
type treeJSON struct {
	Version     int       `json:"version,omitempty"`
	Group       string    `json:"group,omitempty"`
	Cert        string    `json:"cert,omitempty"`
	Fingerprint string    `json:"fingerprint,omitempty"`
	TTL         *int64    `json:"ttl,omitempty"`
	Head        uint64    `json:"head,omitempty"`
	Bootstrap   []string  `json:"bootstrap,omitempty"`
	Poll        *pollJSON `json:"poll,omitempty"`
}

type pollJSON struct {
	Allow string `json:"allow,omitempty"`
	Min   int64  `json:"min,omitempty"`
}

func metaJSON(t *Tree, p *Poll) []byte {
	var j treeJSON
	if t != nil {
		ttl := int64(t.TTL / time.Second)
		j = treeJSON{
			Version: max(t.Version, 1), Group: t.Group, Cert: t.Cert, Fingerprint: t.Fingerprint,
			TTL: &ttl, Head: t.Head, Bootstrap: t.Bootstrap,
		}
	}
	if p != nil {
		j.Poll = &pollJSON{p.Allow, int64(p.Min / time.Second)}
	}
	return marshal(j)
}

func metaFromJSON(data []byte) (*Tree, *Poll) {
	var j treeJSON
	// A member of the wrong type leaves the others as read.
	if err := json.Unmarshal(data, &j); err != nil && j.Group == "" && j.Poll == nil {
		return nil, nil
	}
	var p *Poll
	if j.Poll != nil {
		p = &Poll{Allow: strings.ToLower(meta(j.Poll.Allow)), Min: seconds(strconv.FormatInt(j.Poll.Min, 10))}
	}
	if j.Group == "" && j.Cert == "" && j.Fingerprint == "" {
		return nil, p
	}
	t := &Tree{
		Version: j.Version, Group: meta(j.Group), Cert: meta(j.Cert), Fingerprint: meta(j.Fingerprint), Head: j.Head,
	}
	if j.TTL != nil {
		t.TTL = seconds(strconv.FormatInt(*j.TTL, 10))
	}
	for _, addr := range j.Bootstrap {
		if addr = meta(addr); addr != "" && len(t.Bootstrap) < maxBootstrap {
			t.Bootstrap = append(t.Bootstrap, addr)
		}
	}
	return t, p
}
