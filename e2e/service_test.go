package e2e

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// A proxy that is stopped while it waits for a site, feeds a page that stays open
// and answers readers that do not go on ends soon, with nothing lost.
func TestStopWhileBusy(t *testing.T) {
	o := newOrigin(t, "news.feedtree-test.org", false)
	doc := &rss{url: o.base + "/feed.xml"}
	doc.add("kept")
	o.set("/feed.xml", doc.String())
	s := newSwarm(t, nil, o.resolve()...)
	begin := time.Now()
	p := &proxy{t: t, data: t.TempDir(), listen: freePort(t)}
	p.args = append(append([]string{"proxy", "--listen", p.listen, "--data", p.data}, s.overlay()...), s.args...)
	p.process = start(t, nil, p.args...)
	eventually(t, 20*time.Second, "the page", func() bool {
		code, body := p.get("/")
		return code == http.StatusOK && strings.Contains(body, "</html>")
	})
	first := time.Since(begin)
	p.ask(doc.url)

	go p.get("/feed/" + o.base + stalledPath)
	eventually(t, 20*time.Second, "a question to the site that stalls", func() bool { return o.requests(stalledPath) > 0 })
	events, err := http.Get("http://" + p.listen + "/api/v1/events")
	if err != nil || events.StatusCode != http.StatusOK {
		t.Fatal("events: ", err)
	}
	defer events.Body.Close()
	for _, half := range []string{"", "GET /feed/" + doc.url + " HTTP/1.1\r\nHost: " + p.listen + "\r\nX-Slow: "} {
		c, err := net.Dial("tcp", p.listen)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		fmt.Fprint(c, half)
	}
	idle, err := http.Get("http://" + p.listen + "/healthz") // and is kept for the next request
	if err != nil {
		t.Fatal(err)
	}
	io.Copy(io.Discard, idle.Body)
	idle.Body.Close()

	took := p.stop(t)
	if code := p.cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("exit status %d", code)
	}
	t.Logf("first start to the page %v, SIGTERM to the end %v", first.Round(time.Millisecond), took.Round(time.Millisecond))
	if *figures && (first > time.Second || took > 2*time.Second) {
		t.Error("want at most 1s and 2s")
	}
	p.process = start(t, nil, p.args...)
	eventually(t, 20*time.Second, "what was kept, after a new start", func() bool { return p.holds(doc.url, "kept") == 1 })
	if n := o.requests("/feed.xml"); n != 1 {
		t.Errorf("the site was asked %d times, want once: the rest is kept", n)
	}
}

// A machine whose clock is a day off is told so by the sites that it asks, in the
// status and by the doctor.
func TestClockADayOff(t *testing.T) {
	o := newOrigin(t, "news.feedtree-test.org", false)
	o.ahead = 24 * time.Hour
	doc := &rss{url: o.base + "/feed.xml"}
	doc.add("first")
	o.set("/feed.xml", doc.String())
	s := newSwarm(t, nil, o.resolve()...)
	s.add(1)
	p := s.proxies[0]
	p.ask(doc.url)
	eventually(t, 20*time.Second, "a word about the clock", func() bool {
		st, err := p.status()
		return err == nil && strings.Contains(st.Health.Clock, "24 hours behind")
	})
	code, out := run(t, nil, append([]string{"doctor", "--listen", p.listen}, o.resolve()...)...)
	if code != 1 || !strings.Contains(out, "24 hours behind") || !strings.Contains(out, "timedatectl") {
		t.Errorf("doctor: exit %d\n%s", code, out)
	}
}
