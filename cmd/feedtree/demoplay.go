package main

import (
	"context"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/feedtree/feedtree"
	"github.com/feedtree/feedtree/feed/store"
	"github.com/feedtree/feedtree/signing"
)

// arrival is an item at a node.
type arrival struct {
	at   *demoNode
	item feedtree.Update
	when time.Time
}

// awaited is an item on its way to everybody.
type awaited struct {
	title, how string
	put        time.Time
	at         map[*demoNode]bool
	from       *demoNode // who has it anyway
	took       time.Duration
	signed     bool
	done       bool
}

// play shows the scenes in turn, each with its share of the time.
func (d *demo) play(ctx context.Context, length time.Duration) error {
	scenes := []func(context.Context) error{
		d.news, d.post, d.news, d.loseVolunteer, d.news, d.forge, d.post, d.news, d.settle,
	}
	tick := time.NewTicker(max(length/demoScenes, time.Millisecond))
	defer tick.Stop()
	for i := 0; ; {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case a := <-d.arrived:
			d.arrive(a)
		case <-tick.C:
			if i == len(scenes) {
				return nil
			}
			if err := scenes[i](ctx); err != nil {
				return err
			}
			i++
		}
	}
}

// arrive counts an item, and tells when everybody has it.
func (d *demo) arrive(a arrival) {
	if a.item.Item.Title == forgedTitle {
		d.fooled++
	}
	w := d.awaited[a.item.Item.Title]
	if w == nil || w.done || a.at == w.from {
		return
	}
	w.at[a.at] = true
	w.signed = a.item.Trust == store.Signed
	for _, n := range d.nodes {
		if !n.gone && n != w.from && !w.at[n] {
			return
		}
	}
	w.done, w.took = true, a.when.Sub(w.put)
	d.say("   %q is at all %d nodes after %v, %v", w.title, len(w.at), w.took.Round(time.Millisecond), a.item.Trust)
}

func (d *demo) await(title, how string, from *demoNode) {
	w := &awaited{title: title, how: how, put: time.Now(), at: make(map[*demoNode]bool), from: from}
	d.awaited[title] = w
	d.results = append(d.results, w)
}

// news puts an item on the site: the volunteer has to find it.
func (d *demo) news(context.Context) error {
	title := d.site.write(d.site.news)
	d.await(title, "found by a volunteer", nil)
	who := "nobody yet"
	if v := d.volunteer(); v != nil {
		who = v.name
	}
	d.say("%q is on the news site; who polls it for everybody: %s", title, who)
	return nil
}

// post lets the publisher push an item.
func (d *demo) post(ctx context.Context) error {
	title := d.site.write(d.site.blog)
	d.await(title, "pushed by the publisher", d.publisher())
	d.say("the publisher signs and pushes %q", title)
	return d.publish(ctx, d.site.key)
}

// publish pushes the blog without holding up the show.
func (d *demo) publish(ctx context.Context, id *signing.Identity) error {
	go func() {
		in, cancel := context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		_, _ = d.publisher().Publish(in, id, d.site.blog, d.site.document(d.site.blog))
	}()
	return nil
}

// loseVolunteer takes away the node that polls the news.
func (d *demo) loseVolunteer(context.Context) error {
	v := d.volunteer()
	if v == nil || v == d.nodes[0] || v == d.publisher() {
		v = d.nodes[1]
	}
	v.gone = true
	d.say("%s, %s, goes away without a word", v.name, d.duty(v))
	go func() { _ = v.Close() }()
	return nil
}

func (d *demo) duty(n *demoNode) string {
	if f, ok := n.Feed(d.site.news); ok && f.Role == feedtree.RoleVolunteer {
		return "which polls the news"
	}
	return "a reader"
}

// forge lets somebody with another key push to the blog.
func (d *demo) forge(ctx context.Context) error {
	forger, err := signing.Generate(nil)
	if err != nil {
		return err
	}
	doc := d.site.forged()
	d.say("a forger pushes an item to the blog, with a key of their own")
	go func() {
		in, cancel := context.WithTimeout(ctx, 2*time.Second)
		defer cancel()
		_, _ = d.forger.Publish(in, forger, d.site.blog, doc)
	}()
	return nil
}

// settle tells what became of the forgery.
func (d *demo) settle(context.Context) error {
	refused := 0
	for _, n := range d.nodes {
		if f, ok := n.Feed(d.site.blog); ok && !n.gone && len(f.Refused) > 0 {
			refused++
		}
	}
	d.say("   the forged item was refused by the %d nodes that it reached, and shown by %d", refused, d.fooled)
	return nil
}

// summary tells how long items took, and what it cost the site.
func (d *demo) summary(length time.Duration) error {
	fmt.Fprintln(d.out)
	w := tabwriter.NewWriter(d.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "ITEM\tHOW\tNODES\tLAST AFTER")
	for _, r := range d.results {
		took := "not everywhere in time"
		if r.done {
			took = r.took.Round(time.Millisecond).String()
		}
		how := r.how
		if r.signed {
			how += ", signed"
		}
		fmt.Fprintf(w, "%s\t%s\t%d\t%s\n", r.title, how, len(r.at), took)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	alone := len(d.nodes) * 2 * int(length/demoPoll)
	_, err := fmt.Fprintf(d.out, "\nThe site answered %d requests. %d readers polling both feeds every %v would have sent about %d.\n",
		d.site.requests(), len(d.nodes), demoPoll, alone)
	return err
}
