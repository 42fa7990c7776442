package e2e

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

var (
	soak     = flag.Duration("soak", 0, "for how long TestSoak kills and restarts proxies")
	soakSeed = flag.Uint64("soak.seed", 1, "what it begins with")
)

// Proxies are killed and started again at random while a publisher pushes an
// item a second and the origin of another feed changes. In the end everybody
// serves everything, once.
func TestSoak(t *testing.T) {
	if *soak == 0 {
		t.Skip("kills and restarts for as long as you like: go test ./e2e -run TestSoak -soak 3m -v -timeout 30m")
	}
	t.Logf("seed %d", *soakSeed)
	rng := rand.New(rand.NewPCG(*soakSeed, 0))
	st := newStage(t, 8)
	st.subscribe(st.signed.url)
	st.subscribe(st.legacy.url)
	st.watched()
	var dead []*proxy
	items, kills := 0, 0
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for begin := time.Now(); time.Since(begin) < *soak; <-tick.C {
		items++
		st.signed.add(fmt.Sprintf("signed-%d", items))
		if items%5 == 0 {
			st.legacy.add(fmt.Sprintf("legacy-%d", items))
		}
		st.put()
		switch i := rng.IntN(len(st.proxies)); rng.IntN(4) {
		case 0:
			if len(st.proxies) > 3 {
				kills++
				st.proxies[i].kill()
				dead = append(dead, st.proxies[i])
				st.proxies = append(st.proxies[:i:i], st.proxies[i+1:]...)
			}
		case 1, 2:
			if len(dead) > 0 {
				dead[0].start()
				st.proxies = append(st.proxies, dead[0])
				dead = dead[1:]
			}
		}
	}
	for _, p := range dead {
		p.start()
		st.proxies = append(st.proxies, p)
	}
	st.signed.add("signed-last")
	st.legacy.add("legacy-last")
	st.put()
	st.spread(st.signed.url, "signed-last", time.Now(), 30*time.Second)
	st.spread(st.legacy.url, "legacy-last", time.Now(), 30*time.Second)
	requests := 0
	for i, p := range st.proxies {
		f, _ := p.feed(st.signed.url)
		requests += f.OriginRequests
		for k := max(1, items-90); k <= items; k++ { // a document holds the latest hundred or so
			guid := fmt.Sprintf("signed-%d", k)
			eventually(t, 30*time.Second, fmt.Sprintf("%s at proxy %d", guid, i), func() bool { return p.holds(st.signed.url, guid) == 1 })
			if guid = fmt.Sprintf("legacy-%d", k); k%5 == 0 {
				eventually(t, 30*time.Second, fmt.Sprintf("%s at proxy %d", guid, i), func() bool { return p.holds(st.legacy.url, guid) == 1 })
			}
		}
	}
	t.Logf("%d items, %d kills, %d requests of the signed feed's origin since the last starts", items, kills, requests)
}
