package kad

import (
	"testing"
	"time"
)

func TestWatch(t *testing.T) {
	at := time.Now()
	for _, tc := range []struct {
		name string
		next time.Time
		addr string
		met  bool
		want string
	}{
		{"nothing happened", at.Add(time.Second), "eth0 a", true, ""},
		{"both clocks jump", at.Add(time.Minute), "eth0 a", true, "the machine was asleep"},
		{"the machine is busy", at.Add(15 * time.Second), "eth0 a", true, ""},
		{"the calendar jumps", at.Round(0).Add(time.Minute), "eth0 a", true, "the machine was asleep"},
		{"another address", at.Add(time.Second), "eth0 b", true, "the network is another"},
		{"nobody left", at.Add(time.Second), "eth0 a", false, "all connections are lost"},
	} {
		w := watch{last: at, local: "eth0 a", met: true}
		if got := w.look(tc.next, tc.addr, tc.met); got != tc.want {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
	var fresh watch
	if why := fresh.look(at, "eth0 a", false); why != "" {
		t.Errorf("the first look: %q", why)
	}
	if why := fresh.look(at.Add(time.Second), "eth0 a", false); why != "" {
		t.Errorf("alone all the time: %q", why)
	}
}
