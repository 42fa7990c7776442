package proxy

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/feedtree/feedtree"
	"github.com/feedtree/feedtree/feed/store"
	"github.com/feedtree/feedtree/overlay/kad"
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
	upload int64 // fixed too; 0: it is not
	log    *slog.Logger
}

// chosen is what is kept.
type chosen struct {
	Off      bool  `json:"off"`
	Requests int   `json:"requests"`
	Bytes    int64 `json:"bytes"`
	Upload   int64 `json:"upload"`
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
	if c.upload > 0 {
		to.Upload = c.upload
	}
	return c.tell(ctx, to)
}

func (c *caps) tell(ctx context.Context, to chosen) error {
	return errors.Join(
		c.source.Volunteer(ctx, !to.Off),
		c.source.LimitVolunteering(ctx, to.Requests, to.Bytes),
		c.source.LimitUpload(ctx, to.Upload),
	)
}

// choose makes a change and keeps it. What the configuration fixes is changed as
// well, until the program is started again.
func (c *caps) choose(ctx context.Context, change func(*chosen)) error {
	s := c.source.Status()
	now := s.Volunteering
	to := chosen{Off: !now.On, Requests: now.MaxRequests, Bytes: now.MaxBytes, Upload: int64(s.Spending.Upload.Most)}
	change(&to)
	if err := c.tell(ctx, to); err != nil {
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
	Sent       kad.Upload
	Megabytes  string // the limit, as it is typed
	Upload     string // that of what is sent
	Fixed      bool   // by the configuration
	Forgetting bool   // lasts only until the program is started again
}

func (c *caps) form(s feedtree.Status) capsForm {
	e, sent := s.Volunteering, s.Spending.Upload
	return capsForm{
		Effort: e, Sent: sent, Megabytes: megabytes(e.MaxBytes), Upload: megabytes(int64(sent.Most)),
		Fixed: c.fixed.Off || c.fixed.Requests > 0 || c.fixed.Bytes > 0 || c.upload > 0, Forgetting: c.store == nil,
	}
}

// megabytes writes a limit as it is typed.
func megabytes(limit int64) string {
	if limit <= 0 {
		return ""
	}
	return strconv.FormatFloat(float64(limit)/megabyte, 'f', -1, 64)
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
	bytes, bad := amount(r.PostForm.Get("megabytes"), megabyte, 1<<50)
	upload, worse := amount(r.PostForm.Get("upload"), megabyte, 1<<50)
	if err = cmp.Or(err, bad, worse); err != nil {
		p.sorry(w, r, http.StatusUnprocessableEntity, err.Error())
		return
	}
	p.chose(w, r, func(c *chosen) {
		c.Requests, c.Bytes = int(requests), int64(bytes)
		if r.PostForm.Has("upload") {
			c.Upload = int64(upload)
		}
	})
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
