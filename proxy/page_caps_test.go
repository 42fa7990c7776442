package proxy

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/feedtree/feedtree"
	"github.com/feedtree/feedtree/feed/store"
	"github.com/feedtree/feedtree/overlay/kad"
)

func chosenHere(p *Proxy) feedtree.Effort { return p.source.Status().Volunteering }

// withToken is a form of the page.
func withToken(p *Proxy, pairs ...string) url.Values {
	form := url.Values{"token": {p.guard.token}}
	for i := 0; i < len(pairs); i += 2 {
		form.Set(pairs[i], pairs[i+1])
	}
	return form
}

// What is chosen on the page holds after a restart, except what a flag says.
func TestWhatWasChosenOutlivesTheProxy(t *testing.T) {
	s := store.NewMemory()
	start := func(polling feedtree.Polling) *Proxy {
		n := newFakeNode()
		n.status.Volunteering = feedtree.Effort{On: !polling.Off, MaxRequests: polling.Requests, MaxBytes: polling.Bytes}
		return newProxy(n, Config{Store: s, Polling: polling}, newClock().now)
	}
	p := start(feedtree.Polling{})
	for _, form := range []struct {
		path string
		form url.Values
	}{{"/volunteer", withToken(p, "on", "0")}, {"/limits", withToken(p, "requests", " 12 ", "megabytes", "0,5")}} {
		if w := submit(p, form.path, form.form); w.Code != http.StatusSeeOther {
			t.Fatalf("%s: %d %s", form.path, w.Code, w.Body)
		}
	}
	for name, c := range map[string]struct {
		polling  feedtree.Polling
		on       bool
		requests int
		bytes    int64
	}{
		"no flag":            {feedtree.Polling{}, false, 12, 500_000},
		"--max-requests 99":  {feedtree.Polling{Requests: 99}, false, 99, 500_000},
		"--max-bytes 1000":   {feedtree.Polling{Bytes: 1000}, false, 12, 1000},
		"--no-volunteer too": {feedtree.Polling{Off: true}, false, 12, 500_000},
	} {
		if v := chosenHere(start(c.polling)); v.On != c.on || v.MaxRequests != c.requests || v.MaxBytes != c.bytes {
			t.Errorf("%s: %+v", name, v)
		}
	}
	submit(p, "/volunteer", withToken(p, "on", "1"))
	if v := chosenHere(start(feedtree.Polling{})); !v.On {
		t.Errorf("switched on again: %+v", v)
	}
	if v := chosenHere(start(feedtree.Polling{Off: true})); v.On {
		t.Errorf("--no-volunteer is overruled by what was chosen before: %+v", v)
	}
	submit(p, "/limits", withToken(p, "requests", "", "megabytes", "0"))
	if v := chosenHere(p); v.MaxRequests != 0 || v.MaxBytes != 0 {
		t.Errorf("no limits: %+v", v)
	}
}

func TestLimitsThatAreNone(t *testing.T) {
	p, n := exampleProxy(t)
	n.status.Volunteering.MaxRequests = 7
	for _, bad := range []string{"-1", "many", "1e99", "NaN", "Inf", "1 000"} {
		for _, field := range []string{"requests", "megabytes", "upload"} {
			w := submit(p, "/limits", withToken(p, field, bad))
			if w.Code != http.StatusUnprocessableEntity || !strings.Contains(w.Body.String(), "limit") || chosenHere(p).MaxRequests != 7 {
				t.Errorf("%s=%s: %d %s, %+v", field, bad, w.Code, w.Body, chosenHere(p))
			}
		}
	}
	if w := submit(p, "/volunteer", withToken(p, "on", "perhaps")); w.Code != http.StatusUnprocessableEntity {
		t.Errorf("on=perhaps: %d", w.Code)
	}
	// A person gets the page with the reason on it.
	w := submit(p, "/limits", withToken(p, "requests", "<b>many"), "Accept", "text/html")
	if body := w.Body.String(); w.Code != 422 || !strings.Contains(body, "&lt;b&gt;many") || !strings.Contains(body, `role="alert"`) {
		t.Errorf("%d %s", w.Code, body[:min(len(body), 2000)])
	}
}

// The limit on what is sent to other nodes is chosen beside the others, and outlives
// the proxy unless a flag says otherwise.
func TestTheUploadLimitOutlivesTheProxy(t *testing.T) {
	s := store.NewMemory()
	start := func(flag uint64) *Proxy {
		n := newFakeNode()
		n.status.Spending.Upload.Most = flag
		return newProxy(n, Config{Store: s, MaxUpload: flag}, newClock().now)
	}
	most := func(p *Proxy) uint64 { return p.source.Status().Spending.Upload.Most }
	p := start(0)
	if w := submit(p, "/limits", withToken(p, "requests", "12", "megabytes", "", "upload", "20")); w.Code != http.StatusSeeOther {
		t.Fatal(w.Code, w.Body)
	}
	if most(p) != 20_000_000 || most(start(0)) != 20_000_000 || most(start(7)) != 7 {
		t.Errorf("now %d, after a restart %d, with --max-upload 7 %d", most(p), most(start(0)), most(start(7)))
	}
	submit(p, "/volunteer", withToken(p, "on", "0"))
	if most(p) != 20_000_000 {
		t.Errorf("%d after another switch", most(p))
	}
	// Forms of before, and programs that know the two others only, leave it alone.
	submit(p, "/limits", withToken(p, "requests", "13", "megabytes", "1"))
	if most(p) != 20_000_000 {
		t.Errorf("%d after a form without it", most(p))
	}
	submit(p, "/limits", withToken(p, "requests", "13", "megabytes", "1", "upload", ""))
	if most(p) != 0 || most(start(0)) != 0 {
		t.Errorf("%d after it was lifted", most(p))
	}
}

// A node that spares says so where its limits are, and until when.
func TestThePageSaysThatTheNodeSpares(t *testing.T) {
	p, n := exampleProxy(t)
	if body := get(p, "/").Body.String(); strings.Contains(body, "Sending less") {
		t.Fatal("it spares, and was sent nothing")
	}
	until := newClock().now().Add(17 * time.Minute)
	n.status.Spending.Upload = kad.Upload{Most: 20_000_000, Hour: 16_100_000, Sparing: true, Until: &until}
	body := get(p, "/").Body.String()
	for _, want := range []string{"Sending less.", "16.1 MB of 20.0 MB an hour", "until " + until.Format("15:04"), "Your own feeds", `name="upload" type="text" inputmode="decimal" value="20"`} {
		if !strings.Contains(body, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	if strings.Contains(body, "takes more than that") {
		t.Error("it says that the limit cannot be held")
	}
	n.status.Spending.Upload.Hour = 20_000_001
	if !strings.Contains(get(p, "/").Body.String(), "takes more than that limit") {
		t.Error("it does not say that the limit is not held")
	}
}

// What cannot be read of what was chosen keeps nobody from starting.
func TestBadChoicesAreForgotten(t *testing.T) {
	s := store.NewMemory()
	if err := s.PutSetting(t.Context(), capsSetting, []byte("{garbled")); err != nil {
		t.Fatal(err)
	}
	n := newFakeNode()
	n.status.Volunteering.On = true
	if v := chosenHere(newProxy(n, Config{Store: s}, newClock().now)); !v.On {
		t.Errorf("%+v", v)
	}
}
