package fetch

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"testing"
	"time"

	"github.com/feedtree/feedtree/feed/fetch/polite"
	"github.com/feedtree/feedtree/feed/score"
)

// judged reads an access log as "feedtree score" does, and returns the one client
// in it.
func judged(t *testing.T, log *bytes.Buffer) score.Card {
	t.Helper()
	var j score.Judge
	for e, err := range score.Read(log) {
		if err != nil {
			t.Fatal(err)
		}
		j.Add(e)
	}
	cards := j.Cards()
	if len(cards) != 1 {
		t.Fatalf("%d clients in the log", len(cards))
	}
	return cards[0]
}

// The eight criteria of those who run feeds, judged from the access log of 200
// origins of every temper over 30 days.
func TestScorecard(t *testing.T) {
	const seed = 1
	days, origins := 30, 200
	if testing.Short() { // under the race detector
		days, origins = 5, 60
	}
	var log bytes.Buffer
	w := newWorld(&log)
	p := newPoller(t, w)
	p.month(w.populate(origins, seed), days, seed)
	card := judged(t, &log)
	if got := card.Passed(); got != 8 {
		t.Errorf("%d of 8 over %d requests, seed %d", got, card.Requests, seed)
	}
	for i, v := range card.Verdicts {
		if v.Outcome != score.Pass {
			t.Errorf("%v: %v, %d faults, first: %s", score.Criterion(i), v.Outcome, v.Faults, v.Why)
		}
	}
	// A client that asks for nothing would pass too.
	if polls := float64(card.Requests) / float64(origins*days); polls < 12 || polls > 24 {
		t.Errorf("%.1f requests a day for a document, want between 12 and 24", polls)
	}
	t.Logf("%d of 8: %d requests to %d origins in %d days, seed %d", card.Passed(), card.Requests, origins, days, seed)
}

// Each criterion can be failed: this client, with one fault each, fails just that
// one.
func TestScorecardSeesEachFault(t *testing.T) {
	if testing.Short() {
		t.Skip("eight times a week of a web")
	}
	for which, spoil := range map[score.Criterion]func(*poller){
		score.Verbatim: func(p *poller) {
			p.w.before = func(r *http.Request) {
				if r.Header.Get("If-Modified-Since") != "" {
					r.Header.Set("If-Modified-Since", p.w.now.Format(time.RFC850))
				}
			}
		},
		score.Renewed: func(p *poller) { p.stale = func(*polite.State) bool { return true } },
		score.Spaced: func(p *poller) {
			p.config.Rules = polite.Rules{Conditional: 50 * time.Minute, Unconditional: 24 * time.Hour}
		},
		score.Remembered: func(p *poller) { p.forget = func(s *polite.State) { s.Validators = polite.Validators{} } },
		score.Obedient: func(p *poller) {
			p.w.after = func(r *http.Response) {
				r.Header.Del("Cache-Control")
				r.Header.Del("Retry-After")
				r.Header.Del("Expires")
			}
		},
		score.Single: func(p *poller) { p.twice = true },
		score.Plain: func(p *poller) {
			p.w.before = func(r *http.Request) { r.Header.Set("Cookie", "id=1") }
		},
		score.Named: func(p *poller) { p.config.UserAgent = "Mozilla/5.0 (X11; Linux x86_64)" },
	} {
		t.Run(which.String(), func(t *testing.T) {
			var log bytes.Buffer
			w := newWorld(&log)
			p := newPoller(t, w)
			spoil(p)
			p.month(w.populate(len(tempers)+20, 2), 5, 2)
			for i, v := range judged(t, &log).Verdicts {
				if wrong := score.Criterion(i) == which; wrong != (v.Outcome == score.Fail) {
					t.Errorf("%v: %v, %d faults, first: %s", score.Criterion(i), v.Outcome, v.Faults, v.Why)
				}
			}
		})
	}
}

// A client as people write it in an afternoon fails all eight.
func TestNaiveClientFailsEveryCriterion(t *testing.T) {
	var log bytes.Buffer
	w := newWorld(&log)
	urls := w.populate(len(tempers)+20, 3)
	rng := rand.New(rand.NewPCG(3, 3))
	etags, started := map[string]string{}, w.now
	ask := func(url string) {
		w.now = w.now.Add(20 * time.Millisecond)
		r, err := http.NewRequestWithContext(context.Background(), http.MethodGet, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("User-Agent", "Go-http-client/1.1")
		if rng.IntN(3) == 0 {
			r.URL.RawQuery = fmt.Sprint("_=", w.now.Unix()) // past the caches
		}
		if etags[url] != "" {
			r.Header.Set("If-None-Match", etags[url])
			r.Header.Set("If-Modified-Since", started.Format(http.TimeFormat)) // its own clock
		}
		response, err := w.RoundTrip(r)
		if err == nil && etags[url] == "" {
			etags[url] = response.Header.Get("ETag") // the first, for ever
		}
	}
	for _, url := range urls { // is it there? what is in it?
		ask(url)
		ask(url)
	}
	for round := range 3 * 48 {
		w.now = started.Add(time.Duration(round) * 30 * time.Minute)
		if round%40 == 39 { // stopped and started
			clear(etags)
		}
		for _, url := range urls {
			ask(url)
		}
	}
	for i, v := range judged(t, &log).Verdicts {
		if v.Outcome != score.Fail {
			t.Errorf("%v: %v", score.Criterion(i), v.Outcome)
		}
	}
}
