package proxy

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/feedtree/feedtree"
	"github.com/feedtree/feedtree/overlay/kad"
)

func look(t *testing.T, h http.Handler, path string) (status int, body string) {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "http://127.0.0.1:8089"+path, nil))
	return w.Code, w.Body.String()
}

// Each line of the exposition format that a scrape must hold.
func TestMetrics(t *testing.T) {
	n := newFakeNode()
	n.add(t, "https://example.org/feed.xml", rss("1"))
	const secret = "s3cret"
	n.status = feedtree.Status{
		PeerID: "12D3KooWsecret", Peers: 3, Since: time.Unix(1e9, 0),
		Counts:  map[string]uint64{"items_signed": 5, "origin_requests": 7, "frames_in": 9, "odd name": 1},
		Refused: map[string]uint64{"tree: malformed": 2},
		Reach:   kad.Reach{State: kad.Private, Links: kad.Links{Direct: 2, Punched: 1}},
		Health:  feedtree.Health{Store: "full", Ahead: -90 * time.Minute},
		Feeds: []feedtree.FeedStatus{
			{URL: "https://x.example/?token=" + secret, Title: secret, Role: feedtree.RoleLocal, Items: 3, Failure: "status 503", Week: feedtree.Week{Requests: 4, AloneRequests: 40}},
			{Role: feedtree.RoleSubscriber, Attached: true, Items: 4, Depth: 2, Children: []string{"a", "b"}, Refused: map[string]uint64{"from the future": 6}},
			{Role: feedtree.RoleVolunteer, Root: true, Attached: true},
		},
	}
	p := newProxy(n, Config{Version: "v1", Disk: func() (int64, error) { return 4096, nil }, Damaged: func() int { return 3 }}, time.Now)
	for range 3 {
		look(t, p, "/feed/https://example.org/feed.xml")
	}
	look(t, p, "/feed/nonsense")
	status, body := look(t, p, "/metrics")
	if status != http.StatusOK {
		t.Fatalf("%d %s", status, body)
	}
	for _, want := range []string{
		`feedtree_reader_requests_total{code="200"} 3`, `feedtree_reader_requests_total{code="400"} 1`,
		`feedtree_origin_requests_total 7`, `feedtree_frames_in_total 9`, `feedtree_odd_name_total 1`,
		`feedtree_items_total{trust="signed"} 5`, `feedtree_items 7`,
		`feedtree_feeds{role="local"} 1`, `feedtree_feeds{role="publisher"} 0`, `feedtree_feeds_failing 1`,
		`feedtree_refused_total{reason="tree: malformed"} 2`, `feedtree_feed_events_refused{reason="from the future"} 6`,
		`feedtree_week_requests 4`, `feedtree_week_alone_requests 40`,
		`feedtree_peers 3`, `feedtree_links{kind="punched"} 1`, `feedtree_reachable{state="private"} 1`,
		`feedtree_trees{place="inside"} 1`, `feedtree_trees{place="root"} 1`, `feedtree_trees{place="leaf"} 0`,
		`feedtree_tree_depth_max 2`, `feedtree_tree_children 2`, `feedtree_store_ok 0`,
		`feedtree_clock_ahead_seconds -5400`, `feedtree_archive_bytes 4096`, `feedtree_archive_damaged 3`, `feedtree_build_info{version="v1"} 1`,
		`feedtree_start_time_seconds 1e+09`, `feedtree_volunteering 0`,
	} {
		if !strings.Contains(body, want+"\n") {
			t.Errorf("no line %s", want)
		}
	}
	if !strings.Contains(body, "\ngo_goroutines ") {
		t.Error("nothing of the runtime")
	}
	for _, private := range []string{secret, "x.example", "12D3KooWsecret"} {
		if strings.Contains(body, private) {
			t.Errorf("metrics tell %q", private)
		}
	}
	if t.Failed() {
		t.Log(body)
	}
	documented(t, body)
}

// documented checks that the package comment names every metric of the node.
func documented(t *testing.T, body string) {
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	text := string(doc)
	for _, m := range regexp.MustCompile(`(?m)^# TYPE feedtree_(\w+)`).FindAllStringSubmatch(body, -1) {
		name := m[1]
		switch {
		case name == "frames_in_total" || name == "odd_name_total", strings.HasPrefix(name, "volunteer"): // described as kinds
			continue
		}
		short := strings.TrimPrefix(strings.TrimPrefix(name, "tree"), "_")
		if !strings.Contains(text, "feedtree_"+name) && !strings.Contains(text, "_"+short) {
			t.Errorf("doc.go does not say what feedtree_%s is", name)
		}
	}
}

// The page says what is wrong with this machine, while it is.
func TestThePageTellsOfTheMachine(t *testing.T) {
	n := newFakeNode()
	p := newProxy(n, Config{}, time.Now)
	if _, body := look(t, p, "/"); strings.Contains(body, "notice bad\">") {
		t.Error("a notice although nothing is wrong")
	}
	n.status.Health = feedtree.Health{Store: "No room <here>.", Clock: "A day behind."}
	_, body := look(t, p, "/")
	for _, want := range []string{"No room &lt;here&gt;.", "A day behind."} {
		if !strings.Contains(body, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
}

// A foreign name gets no metrics: they tell how much somebody reads.
func TestMetricsAreForThisMachine(t *testing.T) {
	p := newProxy(newFakeNode(), Config{}, time.Now)
	w := httptest.NewRecorder()
	p.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "http://evil.example/metrics", nil))
	if w.Code != http.StatusForbidden {
		t.Errorf("status %d", w.Code)
	}
}

// Not ready is 503 with the reason. However often it is asked, the node, which
// writes to its disk to answer, is asked once a second.
func TestReady(t *testing.T) {
	n := newFakeNode()
	now := time.Unix(1e9, 0)
	p := newProxy(n, Config{}, func() time.Time { return now })
	for range 5 {
		if status, body := look(t, p, "/readyz"); status != http.StatusOK || body != "ok\n" {
			t.Fatalf("%d %s", status, body)
		}
	}
	n.mu.Lock()
	if n.checks != 1 {
		t.Errorf("the node was asked %d times", n.checks)
	}
	n.sick = errors.New("archive /x/feedtree.db: database or disk is full; make room on its disk")
	n.mu.Unlock()
	now = now.Add(checkAgain)
	status, body := look(t, p, "/readyz")
	if status != http.StatusServiceUnavailable || !strings.Contains(body, "make room on its disk") {
		t.Errorf("full: %d %s", status, body)
	}
	if status, _ := look(t, p, "/healthz"); status != http.StatusOK {
		t.Errorf("healthz with a full disk: %d; a restart would not help", status)
	}
	n.mu.Lock()
	n.sick = nil
	n.mu.Unlock()
	now = now.Add(-time.Hour) // somebody set the clock
	if status, body := look(t, p, "/readyz"); status != http.StatusOK {
		t.Errorf("with room again: %d %s", status, body)
	}
}
