package fetch

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/net/dns/dnsmessage"
)

// target is a server on loopback that must not be reached; it counts who does.
func target(t *testing.T) (port string, reached *atomic.Int32) {
	t.Helper()
	reached = new(atomic.Int32)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, "private")
	}))
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			reached.Add(1)
		}
	}
	server.Start()
	t.Cleanup(server.Close)
	_, port, _ = net.SplitHostPort(server.Listener.Addr().String())
	return port, reached
}

func reasonOf(err error) Reason {
	var failed *Error
	if errors.As(err, &failed) {
		return failed.Reason
	}
	return 0
}

func newClient(t *testing.T, config Config) *Client {
	t.Helper()
	c, err := New(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// answerWith makes a client's DNS answer every question about a name with
// addresses, and know no other.
func answerWith(c *Client, name string, addrs ...string) {
	resolver := &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		near, far := net.Pipe()
		go serveDNS(far, name, addrs)
		return near, nil
	}}
	c.door.guarded.Resolver, c.door.open.Resolver = resolver, resolver
}

// serveDNS answers questions on a stream, each with its length before it.
func serveDNS(conn net.Conn, name string, addrs []string) {
	defer conn.Close()
	buf := make([]byte, 1024)
	for {
		n, err := conn.Read(buf)
		if err != nil || n < 3 {
			return
		}
		var question dnsmessage.Message
		if question.Unpack(buf[2:n]) != nil {
			return
		}
		packed, err := dnsAnswer(question, name, addrs).Pack()
		if err != nil {
			return
		}
		if _, err := conn.Write(append([]byte{byte(len(packed) >> 8), byte(len(packed))}, packed...)); err != nil {
			return
		}
	}
}

func dnsAnswer(question dnsmessage.Message, name string, addrs []string) *dnsmessage.Message {
	q := question.Questions[0]
	answer := &dnsmessage.Message{Header: dnsmessage.Header{ID: question.ID, Response: true, RecursionAvailable: true}, Questions: question.Questions}
	if q.Name.String() != name+"." {
		answer.RCode = dnsmessage.RCodeNameError
		return answer
	}
	header := dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class, TTL: 60}
	for _, a := range addrs {
		ip := netip.MustParseAddr(a)
		switch {
		case ip.Is4() && q.Type == dnsmessage.TypeA:
			answer.Answers = append(answer.Answers, dnsmessage.Resource{Header: header, Body: &dnsmessage.AResource{A: ip.As4()}})
		case ip.Is6() && q.Type == dnsmessage.TypeAAAA:
			answer.Answers = append(answer.Answers, dnsmessage.Resource{Header: header, Body: &dnsmessage.AAAAResource{AAAA: ip.As16()}})
		}
	}
	return answer
}

// A name that looks public and resolves to an address that is not: refused
// when it is dialled. With the check off, it is reached.
func TestNameOfPrivateAddress(t *testing.T) {
	port, reached := target(t)
	for _, addr := range []string{
		"127.0.0.1", "127.8.8.8", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "0.0.0.0", "100.64.1.1", "192.0.0.8",
		"198.18.0.1", "224.0.0.1", "240.0.0.1", "255.255.255.255",
		"::1", "::", "fe80::1", "fc00::1", "fd12:3456::1", "ff02::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1",
		"64:ff9b::7f00:1", "2002:7f00:1::", "2001::1", "2001:db8::1", "::127.0.0.1",
	} {
		c := newClient(t, Config{})
		answerWith(c, "news.example", addr)
		_, err := c.Get(t.Context(), Request{URL: "http://news.example:" + port + "/", Local: true})
		if reasonOf(err) != Refused {
			t.Errorf("%s: %v, want it refused", addr, err)
		}
	}
	if n := reached.Load(); n != 0 {
		t.Errorf("%d connections were made", n)
	}
	c := newClient(t, Config{AllowPrivate: []string{"News.Example"}})
	answerWith(c, "news.example", "127.0.0.1")
	if r, err := c.Get(t.Context(), Request{URL: "http://news.example:" + port + "/"}); err != nil || string(r.Body) != "private" {
		t.Errorf("a host that is allowed: %v", err)
	}
	if reached.Load() != 1 {
		t.Error("the target cannot be reached at all: the test shows nothing")
	}
}

func TestUnknownName(t *testing.T) {
	c := newClient(t, Config{})
	answerWith(c, "news.example")
	for _, name := range []string{"news.example", "other.example"} {
		if _, err := c.Get(t.Context(), Request{URL: "http://" + name + "/"}); reasonOf(err) != DNS {
			t.Errorf("%s: %v, want that it does not resolve", name, err)
		}
	}
}

// Hosts that are private as they are written are fetched only in a request
// that says so.
func TestLiteralPrivateHost(t *testing.T) {
	port, reached := target(t)
	c := newClient(t, Config{})
	for _, host := range []string{
		"127.0.0.1", "localhost", "LOCALHOST.", "[::1]", "[::ffff:127.0.0.1]", "127.1", "2130706433", "0x7f000001", "0x7f.1", "0177.0.0.1",
		"printer", "nas.local", "router.lan", "10.0.0.1", "169.254.169.254", "[fe80::1%25lo]", "metadata.google.internal", "１２７.0.0.1", "ⓛocalhost",
	} {
		if _, err := c.Get(t.Context(), Request{URL: "http://" + host + ":" + port + "/"}); reasonOf(err) != Refused {
			t.Errorf("%s: %v, want it refused", host, err)
		}
	}
	if n := reached.Load(); n != 0 {
		t.Errorf("%d connections were made", n)
	}
	for _, host := range []string{"127.0.0.1", "localhost"} {
		r, err := c.Get(t.Context(), Request{URL: "http://" + host + ":" + port + "/", Local: true})
		if err != nil || string(r.Body) != "private" {
			t.Errorf("%s, asked for as local: %v", host, err)
		}
	}
}

// A redirect is a way to have a request made for one: from a public host none
// leads to a private one, not even in a local request.
func TestRedirectToPrivateHost(t *testing.T) {
	port, reached := target(t)
	public := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, r.URL.Query().Get("to"), http.StatusMovedPermanently)
	}))
	defer public.Close()
	at := public.Listener.Addr().String()
	c := newClient(t, Config{Resolve: []string{"news.example:80:" + at}})
	answerWith(c, "rebound.example", "127.0.0.1")
	for _, to := range []string{
		"http://127.0.0.1:" + port, "http://localhost:" + port, "//[::1]:" + port, "http://rebound.example:" + port,
		"http://news.example/?to=http://127.0.0.1:" + port, "http://rebound.example:25",
	} {
		for _, local := range []bool{false, true} {
			if _, err := c.Get(t.Context(), Request{URL: "http://news.example/?to=" + to, Local: local}); reasonOf(err) != Refused {
				t.Errorf("to %s, local %v: %v, want it refused", to, local, err)
			}
		}
	}
	// From private to public and back again.
	there := "http://" + at + "/?to=http://news.example/?to=http://127.0.0.1:" + port
	if _, err := c.Get(t.Context(), Request{URL: there, Local: true}); reasonOf(err) != Refused {
		t.Errorf("back from a public host: %v, want it refused", err)
	}
	if n := reached.Load(); n != 0 {
		t.Errorf("%d connections were made", n)
	}
	if _, err := c.Get(t.Context(), Request{URL: "http://" + at + "/?to=http://127.0.0.1:" + port, Local: true}); err != nil || reached.Load() != 1 {
		t.Errorf("from one private host to another: %v", err)
	}
}

func TestOtherProtocolsPort(t *testing.T) {
	c := newClient(t, Config{})
	for _, port := range []string{"22", "25", "1023"} {
		_, err := c.Get(t.Context(), Request{URL: "http://192.88.98.1:" + port + "/"})
		if reasonOf(err) != Refused || !strings.Contains(err.Error(), "protocol") {
			t.Errorf("port %s: %v, want it refused", port, err)
		}
	}
}

func TestParseResolve(t *testing.T) {
	for entry, want := range map[string]string{
		"news.example:443:192.0.2.1":           "news.example:443 192.0.2.1:443",
		"News.Example.:80:192.0.2.1:8080":      "news.example:80 192.0.2.1:8080",
		"news.example:443:[2001:db8::1]":       "news.example:443 [2001:db8::1]:443",
		"news.example:443:[2001:db8::1]:8443":  "news.example:443 [2001:db8::1]:8443",
		"bücher.example:80:127.0.0.1":          "xn--bcher-kva.example:80 127.0.0.1:80",
		"news.example:443":                     "",
		"news.example:443:":                    "",
		":443:192.0.2.1":                       "",
		"news.example:0:192.0.2.1":             "",
		"news.example:http:192.0.2.1":          "",
		"news.example:443:192.0.2.1:":          "",
		"news.example:443:192.0.2.1:70000":     "",
		"news.example:443:192.0.2.1:80:81":     "",
		"news.example:443:2001:db8::1":         "",
		"news.example:443:[192.0.2.1]":         "",
		"news.example:443:[2001:db8::1]x":      "",
		"news.example:443:[2001:db8::1":        "",
		"news.example:443:other.example":       "",
		"news.example:443:[2001:db8::1]:":      "",
		"news.example:443:[2001:db8::1]:8:8":   "",
		"news.example:443:[::ffff:192.0.2.1]":  "news.example:443 [::ffff:192.0.2.1]:443",
		"news.example:443:[fe80::1%eth0]:8443": "news.example:443 [fe80::1%eth0]:8443",
	} {
		from, to, err := parseResolve(entry)
		if got := from + " " + to; want == "" && err == nil || want != "" && (err != nil || got != want) {
			t.Errorf("%q: %q, %v, want %q", entry, got, err, want)
		}
	}
	if _, err := New(Config{Resolve: []string{"nonsense"}}); err == nil || !strings.Contains(err.Error(), `"nonsense"`) {
		t.Errorf("New with a bad entry: %v", err)
	}
}
