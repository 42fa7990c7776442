package proxy

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/feedtree/feedtree"
	"github.com/feedtree/feedtree/feed/store"
)

const (
	capsSetting = "volunteering"
	megabyte    = 1_000_000
	capsWithin  = 5 * time.Second // what was chosen takes effect, and is kept
)

// caps are what the page's user chose about working for others. They outlive the
// process, except where the configuration says otherwise.
type caps struct {
	source source
	store  store.Store // nil: they are forgotten
	fixed  feedtree.Polling
	log    *slog.Logger
}

// chosen is what is kept.
type chosen struct {
	Off      bool  `json:"off"`
	Requests int   `json:"requests"`
	Bytes    int64 `json:"bytes"`
}

// restore takes up what was chosen before the program was started.
func (c *caps) restore() {
	if c.store == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), capsWithin)
	defer cancel()
	value, ok, err := c.store.Setting(ctx, capsSetting)
	if err == nil && !ok {
		return
	}
	var was chosen
	if err == nil {
		err = json.Unmarshal(value, &was)
	}
	if err == nil {
		err = c.apply(ctx, was)
	}
	if err != nil {
		c.log.Warn("what was chosen on the page about polling for others is not known any more: choose again", "error", err)
	}
}

// apply tells the node, as far as its configuration leaves it open.
func (c *caps) apply(ctx context.Context, to chosen) error {
	if c.fixed.Off {
		to.Off = true
	}
	if c.fixed.Requests > 0 {
		to.Requests = c.fixed.Requests
	}
	if c.fixed.Bytes > 0 {
		to.Bytes = c.fixed.Bytes
	}
	if err := c.source.Volunteer(ctx, !to.Off); err != nil {
		return err
	}
	return c.source.LimitVolunteering(ctx, to.Requests, to.Bytes)
}

// choose makes a change and keeps it. What the configuration fixes is changed as
// well, until the program is started again.
func (c *caps) choose(ctx context.Context, change func(*chosen)) error {
	now := c.source.Status().Volunteering
	to := chosen{Off: !now.On, Requests: now.MaxRequests, Bytes: now.MaxBytes}
	change(&to)
	if err := c.source.Volunteer(ctx, !to.Off); err != nil {
		return err
	}
	if err := c.source.LimitVolunteering(ctx, to.Requests, to.Bytes); err != nil {
		return err
	}
	if c.store == nil {
		return nil
	}
	value, err := json.Marshal(to)
	if err != nil {
		panic("proxy: choices that are no JSON: " + err.Error())
	}
	if err := c.store.PutSetting(ctx, capsSetting, value); err != nil {
		return fmt.Errorf("it holds, but only until the proxy is started again: %w", err)
	}
	return nil
}

// capsForm is what the page shows of it.
type capsForm struct {
	feedtree.Effort
	Megabytes  string // the limit, as it is typed
	Fixed      bool   // by the configuration
	Forgetting bool   // lasts only until the program is started again
}

func (c *caps) form(e feedtree.Effort) capsForm {
	f := capsForm{Effort: e, Fixed: c.fixed.Off || c.fixed.Requests > 0 || c.fixed.Bytes > 0, Forgetting: c.store == nil}
	if e.MaxBytes > 0 {
		f.Megabytes = strconv.FormatFloat(float64(e.MaxBytes)/megabyte, 'f', -1, 64)
	}
	return f
}

// volunteer answers the switch.
func (p *Proxy) volunteer(w http.ResponseWriter, r *http.Request) {
	on, err := strconv.ParseBool(r.PostForm.Get("on"))
	if err != nil {
		p.sorry(w, r, http.StatusUnprocessableEntity, "The parameter on is 1 or 0.")
		return
	}
	p.chose(w, r, func(c *chosen) { c.Off = !on })
}

// limit answers the form of the limits.
func (p *Proxy) limit(w http.ResponseWriter, r *http.Request) {
	requests, err := amount(r.PostForm.Get("requests"), 1, math.MaxInt32)
	if err == nil {
		var bytes float64
		if bytes, err = amount(r.PostForm.Get("megabytes"), megabyte, 1<<50); err == nil {
			p.chose(w, r, func(c *chosen) { c.Requests, c.Bytes = int(requests), int64(bytes) })
			return
		}
	}
	p.sorry(w, r, http.StatusUnprocessableEntity, err.Error())
}

// amount reads a limit; an empty one is none.
func amount(text string, unit, most float64) (float64, error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseFloat(strings.Replace(text, ",", ".", 1), 64)
	if n *= unit; err != nil || !(n >= 0 && n <= most) {
		return 0, fmt.Errorf("%q is no limit: give a number, 0 or nothing for no limit", clip(text))
	}
	return n, nil
}

func (p *Proxy) chose(w http.ResponseWriter, r *http.Request, change func(*chosen)) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), capsWithin)
	defer cancel()
	if err := p.view.caps.choose(ctx, change); err != nil {
		p.sorry(w, r, http.StatusInternalServerError, "This could not be changed for good: "+clip(err.Error()))
		return
	}
	http.Redirect(w, r, "/#others", http.StatusSeeOther)
}
