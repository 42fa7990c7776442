package proxy

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/feedtree/feedtree"
	"github.com/feedtree/feedtree/feed"
)

const (
	mostChoices = 50 // of what one page announces
	addAtOnce   = 4
)

// choosing is the page on which one chooses among the feeds that a site announces.
type choosing struct {
	shell
	Site    string
	Found   string // the one that was tried, and is followed now
	Fresh   bool   // it was not followed before
	Choices []choice
	More    int // announced, and not listed
}

type choice struct {
	URL, Title string
	On         bool // checked
	There      bool // followed before
}

// offerChoice answers with the feeds that a site announces, where there are several and
// a person asks.
func (p *Proxy) offerChoice(w http.ResponseWriter, r *http.Request, sub subscription, site string, known bool) bool {
	links, page := sub.Announced()
	if !page || len(links) < 2 || !strings.Contains(r.Header.Get("Accept"), "text/html") {
		return false
	}
	c := choosing{
		shell: p.shell("Which feeds?", p.overall()), Site: site, Found: sub.URL(), Fresh: !known,
		More: max(0, len(links)-mostChoices),
	}
	for _, l := range links[:min(len(links), mostChoices)] {
		_, on := p.source.Feed(l.URL)
		c.Choices = append(c.Choices, choice{URL: l.URL, Title: strings.TrimSpace(l.Title), On: on, There: on && (known || l.URL != sub.URL())})
	}
	show(w, http.StatusOK, "choose", c)
	return true
}

// choose answers that page's form: what is checked is followed, and what was only tried
// and is not wanted is left.
func (p *Proxy) choose(w http.ResponseWriter, r *http.Request) {
	wanted := slices.Compact(slices.Sorted(slices.Values(r.PostForm["feed"])))
	if len(wanted) > mostChoices {
		p.sorry(w, r, http.StatusUnprocessableEntity, "That are too many feeds at once: import a list of them.")
		return
	}
	fresh := r.PostForm.Get("fresh")
	if fresh != "" && !slices.Contains(wanted, fresh) {
		if err := p.source.Unsubscribe(r.Context(), fresh); err != nil && !errors.Is(err, feedtree.ErrUnknown) {
			p.sorry(w, r, http.StatusConflict, "The feed "+clip(fresh)+" cannot be left: "+clip(err.Error()))
			return
		}
		p.shelf.dropFeed(fresh)
	}
	added, failed := p.addAll(r, wanted)
	switch {
	case len(failed) > 0:
		p.sorry(w, r, http.StatusBadGateway, "Of the feeds chosen, not all could be had. "+strings.Join(failed, " "))
	case len(added) == 0:
		http.Redirect(w, r, "/", http.StatusSeeOther)
	default:
		http.Redirect(w, r, "/?added="+url.QueryEscape(added[0]), http.StatusSeeOther)
	}
}

// addAll follows feeds, a few at a time, and says of each that it could not why.
func (p *Proxy) addAll(r *http.Request, urls []string) (added, failed []string) {
	became, why := make([]string, len(urls)), make([]string, len(urls))
	slots := make(chan struct{}, addAtOnce)
	var all sync.WaitGroup
	for i, text := range urls {
		all.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			addr, err := feed.Canonical(text)
			if err != nil {
				why[i] = noAddress(text, err)
				return
			}
			b, err := p.shelf.take(r.Context(), addr)
			if err != nil {
				_, why[i] = p.whyNot(addr, err)
				return
			}
			became[i] = b.sub.URL()
		})
	}
	all.Wait()
	some := func(s string) bool { return s == "" }
	return slices.DeleteFunc(became, some), slices.DeleteFunc(why, some)
}
