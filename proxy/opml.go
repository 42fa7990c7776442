package proxy

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/feedtree/feedtree"
	"github.com/feedtree/feedtree/feed/opml"
)

const (
	listBytes    = opml.MaxBytes + 1<<20 // of a request that brings a list
	listPatience = 2 * time.Second       // that who brings it waits for feeds to be had
)

// export answers with the feeds that are followed here, as a list for a reader:
// behind the proxy, or with plain=1 as they are.
func (p *Proxy) export(w http.ResponseWriter, r *http.Request) {
	known := map[string]entry{}
	for _, e := range p.imports.list() {
		known[cmp.Or(e.Feed, e.URL)] = e
	}
	var feeds []opml.Feed
	for _, f := range p.source.Status().Feeds {
		if f.Role == feedtree.RolePublisher && f.Read.IsZero() {
			continue // it is only published from here
		}
		e := known[f.URL]
		feeds = append(feeds, opml.Feed{
			Title: cmp.Or(e.Title, f.Title, f.URL), URL: f.URL, Site: e.Site, Folder: e.Folder,
		})
	}
	list, name := opml.New("Feeds of "+p.base, feeds), "feeds.opml"
	if r.URL.Query().Get("plain") == "" {
		list, name = opml.Wrap(list, p.base), "feedtree.opml"
	}
	h := w.Header()
	h.Set("Content-Type", "text/x-opml; charset=utf-8")
	h.Set("Content-Disposition", `attachment; filename="`+name+`"`)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	_, _ = w.Write(list.Bytes())
}

// takeList takes a list of feeds, the file of a form or the whole body, and follows
// what is in it.
func (p *Proxy) takeList(w http.ResponseWriter, r *http.Request) {
	list, err := readList(r)
	if err != nil {
		p.noList(w, r, err)
		return
	}
	p.imports.take(list)
	ctx, cancel := context.WithTimeout(r.Context(), listPatience)
	defer cancel()
	p.imports.settle(ctx)
	if strings.Contains(r.Header.Get("Accept"), "text/html") {
		http.Redirect(w, r, "/opml/result", http.StatusSeeOther)
		return
	}
	answerJSON(w, p.imported())
}

func readList(r *http.Request) (*opml.List, error) {
	if r.MultipartForm == nil {
		return opml.Read(r.Body)
	}
	file, _, err := r.FormFile("file")
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return opml.Read(file)
}

// noList tells what is wrong with a file that is no list.
func (p *Proxy) noList(w http.ResponseWriter, r *http.Request, err error) {
	status := http.StatusUnprocessableEntity
	var bad *opml.Error
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large), errors.As(err, &bad) && bad.Reason == opml.TooLarge:
		status, err = http.StatusRequestEntityTooLarge, &opml.Error{Reason: opml.TooLarge}
	case errors.As(err, &bad):
	case errors.Is(err, http.ErrMissingFile):
		status, err = http.StatusBadRequest, errors.New(`there is no file in the field "file" of this form`)
	case errors.Is(err, io.ErrUnexpectedEOF):
		status = http.StatusBadRequest
	}
	p.guard.refused.Count(whyGarbled)
	p.sorry(w, r, status, "No feed is added: "+clip(err.Error()))
}

// imported is what became of the feeds of lists.
type imported struct {
	Done    bool    `json:"done"` // nothing waits
	Added   []entry `json:"added"`
	There   []entry `json:"already_there"`
	Waiting []entry `json:"waiting"`
	Refused []entry `json:"refused"`
}

func (p *Proxy) imported() imported {
	sum := imported{Added: []entry{}, There: []entry{}, Waiting: []entry{}, Refused: []entry{}}
	for _, e := range p.imports.list() {
		switch {
		case e.Former:
		case e.Fate == added:
			sum.Added = append(sum.Added, e)
		case e.Fate == there:
			sum.There = append(sum.There, e)
		case e.Fate == waits:
			sum.Waiting = append(sum.Waiting, e)
		default:
			sum.Refused = append(sum.Refused, e)
		}
	}
	sum.Done = len(sum.Waiting) == 0
	return sum
}

// listResult shows what became of the feeds of a list, to people as a page that
// renews itself until all is done, and to programs.
func (p *Proxy) listResult(w http.ResponseWriter, r *http.Request) {
	sum := p.imported()
	if !strings.Contains(r.Header.Get("Accept"), "text/html") {
		answerJSON(w, sum)
		return
	}
	if !sum.Done {
		w.Header().Set("Refresh", "3")
	}
	show(w, http.StatusOK, "list", struct {
		shell
		imported
		Readers []Reader
	}{p.shell("Feeds from your list", p.overall()), sum, Readers()})
}
