package main

import (
	"bytes"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/feedtree/feedtree"
	"github.com/feedtree/feedtree/overlay/kad"
)

// patient is a proxy that says of itself what a test wants.
type patient struct {
	status  feedtree.Status
	unready string
	version string
}

func well() *patient {
	asked := time.Now()
	return &patient{version: version(), status: feedtree.Status{
		PeerID: "12D3Koo", Addrs: []string{"/ip4/192.0.2.1/udp/4001/quic-v1/p2p/12D3Koo"}, Peers: 3, Since: time.Now().Add(-3 * time.Hour),
		Volunteering: feedtree.Effort{On: true, Crews: 2, Requests: 5},
		Reach:        kad.Reach{State: kad.Public, Mapped: true, Links: kad.Links{Direct: 2, Punched: 1}, Rendezvous: kad.Rendezvous{Asked: &asked, Found: 4}},
	}}
}

func (p *patient) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("X-FeedTree-Version", p.version)
	switch {
	case r.URL.Path == "/readyz" && p.unready != "":
		w.WriteHeader(http.StatusServiceUnavailable)
		w.Write([]byte(p.unready + "\nmore"))
	case r.URL.Path == "/api/v1/status":
		json.NewEncoder(w).Encode(p.status)
	}
}

// consult has doctor look at a patient.
func consult(t *testing.T, h http.Handler, more ...string) (code int, d diagnosis) {
	t.Helper()
	s := httptest.NewServer(h)
	defer s.Close()
	var out, errs bytes.Buffer
	args := append([]string{"doctor", "--json", "--listen", s.Listener.Addr().String(), "--data", t.TempDir()}, more...)
	code = run(args, terminal{In: strings.NewReader(""), Out: &out, Err: &errs})
	if err := json.Unmarshal(out.Bytes(), &d); err != nil {
		t.Fatalf("%v: exit %d, %s%s", err, code, &out, &errs)
	}
	return code, d
}

func TestDoctorFindsNothing(t *testing.T) {
	p := well()
	p.status.Feeds = []feedtree.FeedStatus{{URL: "http://192.168.1.1/feed.xml", Local: "a host on your network"}}
	p.status.Spending.Upload = kad.Upload{Most: 100e6, Hour: 3e6}
	code, d := consult(t, p)
	if code != 0 || !d.OK || worst(d.Findings) != fine {
		t.Errorf("exit %d: %+v", code, d)
	}
}

// Each trouble is found, in words that say what to do, with the exit code that
// scripts go by.
func TestDoctorFinds(t *testing.T) {
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	dead := closed.Addr().String()
	_, deadPort, _ := net.SplitHostPort(dead)
	for name, c := range map[string]struct {
		ail  func(*patient)
		bad  bool
		says string
		do   string
	}{
		"a full disk":                      {func(p *patient) { p.status.Health.Store = "Nothing can be kept at the moment: the disk is full." }, true, "disk is full", "Make room"},
		"not ready":                        {func(p *patient) { p.unready = "Not ready: the node does not answer." }, true, "does not answer", "log"},
		"a clock a day off":                {func(p *patient) { p.status.Health.Clock = "This machine's clock is 24 hours ahead." }, true, "24 hours ahead", "timedatectl"},
		"another version":                  {func(p *patient) { p.version = "feedtree 0.1" }, false, "It is feedtree 0.1", "Restart"},
		"alone":                            {func(p *patient) { p.status.Peers = 0 }, false, "meeting point named 4", "--bootstrap"},
		"alone, without the meeting point": {func(p *patient) { p.status.Peers = 0; p.status.Reach.Rendezvous = kad.Rendezvous{Off: true} }, false, "switched off", "--bootstrap"},
		"behind a NAT":                     {func(p *patient) { p.status.Reach.State = kad.Private }, false, "behind a NAT", "UDP 4001"},
		"at the limits":                    {func(p *patient) { p.status.Volunteering.Deferred = 7 }, false, "7 polls left", "--max-requests"},
		"near the limit of what is sent": {func(p *patient) {
			p.status.Spending.Upload = kad.Upload{Most: 100e6, Hour: 97e6, Sparing: true}
		}, false, "97.0 MB went to other nodes in the last hour, close to the limit of 100.0 MB", "--max-upload"},
		"beyond the limit of what is sent": {func(p *patient) {
			p.status.Spending.Upload = kad.Upload{Most: 1e6, Hour: 2e6, Sparing: true}
		}, false, "staying connected alone takes that", "Raise the limit"},
		"one feed fails": {func(p *patient) {
			p.status.Feeds = []feedtree.FeedStatus{{URL: "http://192.168.1.1/a", Local: "x"}, {URL: "http://192.168.1.1/b", Local: "x", Failure: "status 404", Reason: "status 404"}}
		}, false, "status 404", "new address"},
		"all feeds fail": {func(p *patient) {
			p.status.Feeds = []feedtree.FeedStatus{{URL: "http://192.168.1.1/b", Local: "x", Failure: "no such host", Reason: "DNS"}}
		}, true, "wrong with 1", "asked again"},
		"no site can be reached": {func(p *patient) {
			p.status.Feeds = []feedtree.FeedStatus{{URL: "http://news.example:" + deadPort + "/f"}}
		}, true, "news.example cannot be reached: connection refused", "firewall"},
	} {
		t.Run(name, func(t *testing.T) {
			p := well()
			c.ail(p)
			code, d := consult(t, p, "--resolve", "news.example:"+deadPort+":127.0.0.1")
			if wantCode := map[bool]int{true: 1, false: 0}[c.bad]; code != wantCode || d.OK == c.bad {
				t.Errorf("exit %d, ok %v", code, d.OK)
			}
			if worst(d.Findings) == fine {
				t.Error("nothing found")
			}
			var all strings.Builder
			for _, f := range d.Findings {
				if f.State == bad && f.Do == "" && f.About != "feeds" {
					t.Errorf("nothing to do about %+v", f)
				}
				all.WriteString(f.Says + " → " + f.Do + "\n")
			}
			if !strings.Contains(all.String(), c.says) || !strings.Contains(all.String(), c.do) {
				t.Errorf("want %q and %q in\n%s", c.says, c.do, &all)
			}
		})
	}
}

// What doctor prints goes into reports of bugs: no address of a private feed.
func TestDoctorKeepsSecrets(t *testing.T) {
	p := well()
	const url = "https://example.org/feed?token=s3cret"
	p.status.Feeds = []feedtree.FeedStatus{{URL: url, Local: "a token", Failure: url + ": status 403 from " + url, Reason: "status 403"}}
	_, d := consult(t, p)
	text, err := json.Marshal(d)
	if err != nil || bytes.Contains(text, []byte("s3cret")) || !bytes.Contains(text, []byte("private feed at example.org")) {
		t.Errorf("%s", text)
	}
}

// Where something else answers, that is said.
func TestDoctorAtAnotherProgram(t *testing.T) {
	quiet := []string{"--wait", "1ms", "--no-mdns", "--no-nat", "--no-rendezvous", "--network", "doctor-test", "--p2p-listen", "/ip4/127.0.0.1/udp/0/quic-v1"}
	for name, h := range map[string]http.Handler{
		"not found": http.NotFoundHandler(),
		"a page":    http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("<html>")) }),
	} {
		code, d := consult(t, h, quiet...)
		if code != 1 || d.Findings[0].State != bad || !strings.Contains(d.Findings[0].Says, "something answers") {
			t.Errorf("%s: exit %d, %+v", name, code, d.Findings)
		}
	}
}

// For people a line each, what to do below it.
func TestDoctorForPeople(t *testing.T) {
	var out bytes.Buffer
	if err := tellFindings(&out, []checked{{"clock", bad, "It is\x1b wrong.", "Set it."}, {"peers", fine, "Three.", ""}}); err != nil {
		t.Fatal(err)
	}
	want := "bad   clock      It is wrong.\n                 → Set it.\nok    peers      Three.\n"
	if out.String() != want {
		t.Errorf("got\n%swant\n%s", &out, want)
	}
}
