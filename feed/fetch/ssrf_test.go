package fetch

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"
)

// Security reference, §3 and row 18: loopback, private, link-local, multicast, 0/8,
// 100.64/10, 192.0.0/24, 198.18/15, 240/4, 64:ff9b::/96, 2002::/16, 2001::/32, fc00::/7,
// at the ends of each range and inside it, and what maps onto them.
var forbidden = []string{
	"0.0.0.0", "0.0.0.1", "0.255.255.255", "10.0.0.0", "10.0.0.1", "10.255.255.255", "100.64.0.0", "100.64.0.1", "100.127.255.255",
	"127.0.0.0", "127.0.0.1", "127.0.0.2", "127.1.2.3", "127.255.255.255", "169.254.0.0", "169.254.169.254", "169.254.255.255",
	"172.16.0.0", "172.20.1.1", "172.31.255.255", "192.0.0.0", "192.0.0.8", "192.0.0.255", "192.168.0.0", "192.168.1.1", "192.168.255.255",
	"198.18.0.0", "198.18.0.1", "198.19.255.255", "224.0.0.0", "224.0.0.1", "239.255.255.250", "240.0.0.0", "250.1.1.1", "255.255.255.255",
	"::", "::1", "::ffff:0.0.0.0", "::ffff:10.0.0.1", "::ffff:127.0.0.1", "::ffff:169.254.169.254", "::ffff:192.168.1.1", "::127.0.0.1",
	"64:ff9b::", "64:ff9b::7f00:1", "64:ff9b::a00:1", "2001::", "2001::1", "2001:0:ffff::1", "2002::", "2002:7f00:1::", "2002:a00:1::1",
	"fc00::", "fc00::1", "fd12:3456::1", "fdff:ffff::1", "fe80::", "fe80::1", "febf::1", "ff00::", "ff02::1", "ff05::2",
}

// However a request comes to a forbidden address, no connection is made. With the check
// off, the same ways lead to a server of this machine.
func TestNoWayLeadsToAForbiddenAddress(t *testing.T) {
	port, reached := target(t)
	public := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, r.URL.Query().Get("to"), http.StatusFound)
	}))
	defer public.Close()
	written := func(addr string) string {
		if netip.MustParseAddr(addr).Is4() {
			return addr
		}
		return "[" + addr + "]"
	}
	ways := map[string]struct {
		url   func(addr string) string
		local bool
	}{
		"a name":                   {func(string) string { return "http://evil.example:" + port + "/" }, false},
		"a name, asked as local":   {func(string) string { return "http://evil.example:" + port + "/" }, true},
		"a redirect to a name":     {func(string) string { return "http://news.example/?to=http://evil.example:" + port + "/" }, false},
		"a redirect to an address": {func(a string) string { return "http://news.example/?to=http://" + written(a) + ":" + port + "/" }, false},
		"an address":               {func(a string) string { return "http://" + written(a) + ":" + port + "/" }, false},
	}
	config := Config{Resolve: []string{"news.example:80:" + public.Listener.Addr().String()}}
	cases := 0
	for _, addr := range forbidden {
		c := newClient(t, config)
		answerWith(c, "evil.example", addr)
		for name, way := range ways {
			cases++
			if _, err := c.Get(t.Context(), Request{URL: way.url(addr), Local: way.local}); reasonOf(err) != Refused {
				t.Errorf("%s by %s: %v, want it refused", addr, name, err)
			}
		}
	}
	if n := reached.Load(); n != 0 || cases < 200 {
		t.Errorf("%d connections were made in %d cases", n, cases)
	}
	off := newClient(t, config)
	off.door.guarded.Control = nil
	for name, way := range ways {
		if name == "an address" || name == "a redirect to an address" {
			continue // refused by how it is written as well: see TestLiteralPrivateHost
		}
		answerWith(off, "evil.example", "127.0.0.1")
		if r, err := off.Get(t.Context(), Request{URL: way.url("127.0.0.1"), Local: way.local}); err != nil || string(r.Body) != "private" {
			t.Errorf("by %s, with the check off: %v; it is no attack", name, err)
		}
	}
}

// A name that leads to a public address when it is looked at, and to this machine when
// it is dialled (DNS rebinding): what is dialled is what is checked.
func TestANameThatIsReboundBetweenRequests(t *testing.T) {
	port, reached := target(t)
	c := newClient(t, Config{})
	url := "http://evil.example:" + port + "/"
	answerWith(c, "evil.example", "192.88.98.1")
	c.door.guarded.Timeout = 1 // nobody is there; it need not be waited for
	if _, err := c.Get(t.Context(), Request{URL: url}); reasonOf(err) == Refused {
		t.Errorf("the public address: %v", err)
	}
	answerWith(c, "evil.example", "127.0.0.1", "::1")
	c.door.guarded.Timeout = dialTimeout
	if _, err := c.Get(t.Context(), Request{URL: url}); reasonOf(err) != Refused {
		t.Errorf("then this machine: %v, want it refused", err)
	}
	answerWith(c, "evil.example", "192.88.98.1", "127.0.0.1") // the one does not answer: the other is next
	c.door.guarded.Timeout = 1
	_, _ = c.Get(t.Context(), Request{URL: url})
	if n := reached.Load(); n != 0 {
		t.Errorf("%d connections were made", n)
	}
}
