package proxy

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/feedtree/feedtree"
)

const (
	newsShown  = 20
	feedsShown = 50 // on one page
)

// home is the page at /.
type home struct {
	shell
	feedtree.Status
	News    []news
	Reading bool // not all feeds were looked at yet
	Week    feedtree.Week
	Caps    capsForm
	List    list
}

// list is the part of the feeds that is shown.
type list struct {
	Feeds   []feedtree.FeedStatus
	All     int // followed
	Found   int // of them, by the query
	Failing int // of all
	Query   string
	Only    string // "failing" or ""
	Page    int    // from 1
	Pages   int
}

func (p *Proxy) home(w http.ResponseWriter, r *http.Request) {
	asked := r.URL.Query()
	var n notice
	switch s, ok := p.source.Feed(asked.Get("added")); {
	case ok:
		n = notice{"good", "Added.", s.URL}
	case asked.Get("left") != "":
		n = notice{"good", "The feed is not followed any more.", ""}
	}
	p.homeWith(w, r, http.StatusOK, n)
}

// homeWith answers with the page at / and what came of the user's doing.
func (p *Proxy) homeWith(w http.ResponseWriter, r *http.Request, status int, n notice) {
	s := p.overall()
	h := home{shell: p.shell("FeedTree", s), Status: s, Caps: p.view.caps.form(s), List: choose(s.Feeds, r.URL.Query())}
	h.Notice = n
	h.News, h.Reading = p.view.newest.look(s.Feeds)
	h.News = h.News[:min(len(h.News), newsShown)]
	for _, f := range s.Feeds {
		h.Week.Requests += f.Week.Requests
		h.Week.Bytes += f.Week.Bytes
		h.Week.TreeBytes += f.Week.TreeBytes
		h.Week.AloneRequests += f.Week.AloneRequests
		h.Week.AloneBytes += f.Week.AloneBytes
	}
	show(w, status, "home", h)
}

// Ailments are what keeps the node from its work on this machine, and what to do.
func (h home) Ailments() (all []string) {
	for _, says := range []string{h.Health.Store, h.Health.Clock} {
		if says != "" {
			all = append(all, says)
		}
	}
	return all
}

// choose returns the feeds to show: those in trouble first, then by name.
func choose(feeds []feedtree.FeedStatus, asked url.Values) list {
	l := list{All: len(feeds), Query: clip(strings.TrimSpace(asked.Get("q"))), Page: 1}
	if asked.Get("show") == "failing" {
		l.Only = "failing"
	}
	found := make([]feedtree.FeedStatus, 0, len(feeds))
	for _, f := range feeds {
		if f.Failure != "" {
			l.Failing++
		}
		if l.wants(f) {
			found = append(found, f)
		}
	}
	slices.SortFunc(found, func(a, b feedtree.FeedStatus) int {
		if (a.Failure != "") != (b.Failure != "") {
			return map[bool]int{true: -1, false: 1}[a.Failure != ""]
		}
		return cmp.Or(cmp.Compare(strings.ToLower(nameOf(a)), strings.ToLower(nameOf(b))), cmp.Compare(a.URL, b.URL))
	})
	l.Found = len(found)
	l.Pages = max(1, (l.Found+feedsShown-1)/feedsShown)
	if n, err := strconv.Atoi(asked.Get("page")); err == nil {
		l.Page = min(max(n, 1), l.Pages)
	}
	first := (l.Page - 1) * feedsShown
	l.Feeds = found[first:min(first+feedsShown, l.Found)]
	return l
}

func (l list) wants(f feedtree.FeedStatus) bool {
	if l.Only != "" && f.Failure == "" {
		return false
	}
	q := strings.ToLower(l.Query)
	return strings.Contains(strings.ToLower(f.Title), q) || strings.Contains(strings.ToLower(f.URL), q)
}

// Link is the address of another page of the list.
func (l list) Link(page int) string {
	q := url.Values{}
	if l.Query != "" {
		q.Set("q", l.Query)
	}
	if l.Only != "" {
		q.Set("show", l.Only)
	}
	if page > 1 {
		q.Set("page", strconv.Itoa(page))
	}
	return "/?" + q.Encode() + "#feeds"
}

// Former and Next are the pages before and after, 0 where there is none.
func (l list) Former() int { return l.Page - 1 }
func (l list) Next() int {
	if l.Page == l.Pages {
		return 0
	}
	return l.Page + 1
}

// nameOf is what a feed is called.
func nameOf(f feedtree.FeedStatus) string {
	return cmp.Or(strings.TrimSpace(f.Title), strings.TrimPrefix(strings.TrimPrefix(f.URL, "https://"), "http://"))
}
