package main

import "testing"

func TestNearest(t *testing.T) {
	names := []string{"listen", "p2p-listen", "poll-min", "poll-max", "max-requests", "no-nat", "no-mdns", "data"}
	for typed, want := range map[string]string{
		"lisen": "listen", "lsiten": "listen", "poll-mim": "poll-min", "maxrequests": "max-requests",
		"no-nats": "no-nat", "date": "data", "": "", "colour": "", "x": "",
	} {
		if got := nearest(typed, names); got != want {
			t.Errorf("%q is taken for %q, want %q", typed, got, want)
		}
	}
}
