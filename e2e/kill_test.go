package e2e

import (
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

var (
	kills    = flag.Int("kills", 5, "how often TestKilledWhileItPublishesAndReceives kills: the long form is 1000")
	killSeed = flag.Uint64("kills.seed", 1, "what it draws from")
)

// Publisher and receiver are killed at random moments of a push. What the publisher
// acknowledged, by exit 0, every proxy serves in the end, once, whatever was killed;
// so it is with what it did not come to acknowledge. The origin's document never
// holds any of it: nothing is made good by HTTP. Now and then the publisher's state
// is lost, as of a job of CI, or comes from a backup. Nobody is ever proved to lie.
//
//	go test ./e2e -run TestKilledWhile -kills 1000 -v -timeout 3h
func TestKilledWhileItPublishesAndReceives(t *testing.T) {
	k := newKilling(t)
	begin := time.Now()
	for round := 1; round <= *kills; round++ {
		k.round(round)
		if round%checkEvery == 0 || round == *kills {
			k.check()
		}
		if round%checkEvery == 0 {
			left := time.Since(begin) / time.Duration(round) * time.Duration(*kills-round)
			fmt.Fprintf(os.Stderr, "%d of %d kills, %d of a publisher, %d of a receiver; %d acknowledged; %v to go\n",
				round, *kills, k.dead[publisherRole], k.dead[receiverRole], k.acked, left.Round(time.Second))
		}
	}
	t.Logf("seed %d: %d publishers and %d receivers killed, %d states lost, %d backups restored, %d items acknowledged, %d published: 0 lost, 0 doubled, in %v",
		*killSeed, k.dead[publisherRole], k.dead[receiverRole], k.lost, k.restored, k.acked, k.items, time.Since(begin).Round(time.Second))
}

const (
	checkEvery = 20
	inDocument = 30 // items that the publisher's document holds

	publisherRole = 0
	receiverRole  = 1
)

// killing is the stage and the log of what was acknowledged.
type killing struct {
	*stage
	rng      *rand.Rand
	state    string // directory of the publisher
	backup   string // an older copy of it
	took     time.Duration
	items    int // published so far
	checked  int
	acked    int // up to which a publisher exited with 0
	dead     [2]int
	lost     int
	restored int
}

func newKilling(t *testing.T) *killing {
	t.Logf("seed %d", *killSeed)
	dir := t.TempDir()
	k := &killing{
		rng:   rand.New(rand.NewPCG(*killSeed, 0)),
		state: filepath.Join(dir, "state"), backup: filepath.Join(dir, "backup"),
		stage: newStage(t, 4, "--poll-min", "1h", "--poll-max", "1h"),
	}
	k.subscribe(k.signed.url)
	begin := time.Now()
	k.write()
	if code, out := k.push(nil); code != 0 {
		t.Fatalf("the first push: exit %d\n%s", code, out)
	}
	k.took = time.Since(begin)
	k.acked = k.items
	return k
}

// write adds an item to the document that is to be pushed.
func (k *killing) write() {
	k.items++
	k.signed.add(fmt.Sprintf("item-%d", k.items))
	k.signed.items = k.signed.items[:min(len(k.signed.items), inDocument)]
	if err := os.WriteFile(k.file, []byte(k.signed.String()), 0o600); err != nil {
		k.t.Fatal(err)
	}
}

// push runs the publisher once and returns how it ended; below 0: it was killed.
func (k *killing) push(during func(*exec.Cmd)) (code int, out string) {
	k.t.Helper()
	log := &buffer{}
	args := append([]string{"publish", "--once", "--url", k.signed.url, "--file", k.file, "--key", k.key, "--data", k.state}, k.overlay()...)
	cmd := exec.Command(binary, append(args, k.origin.resolve()...)...)
	cmd.Env = append(os.Environ(), k.origin.env()...)
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		k.t.Fatal(err)
	}
	if during != nil {
		during(cmd)
	}
	_ = cmd.Wait() // its exit code says it
	return cmd.ProcessState.ExitCode(), log.String()
}

// round pushes an item and kills somebody meanwhile.
func (k *killing) round(n int) {
	k.t.Helper()
	switch k.rng.IntN(10) {
	case 0:
		k.lost++
		k.remove(k.state)
	case 1:
		if _, err := os.Stat(k.backup); err == nil {
			k.restored++
			k.remove(k.state)
			k.copy(k.backup, k.state)
		}
	case 2, 3:
		if _, err := os.Stat(k.state); err == nil {
			k.remove(k.backup)
			k.copy(k.state, k.backup)
		}
	}
	k.write()
	begin, role := time.Now(), k.rng.IntN(2)
	moment := time.Duration(k.rng.Int64N(int64(k.took * 5 / 4)))
	victim := k.proxies[len(k.proxies)-1]
	code, out := k.push(func(cmd *exec.Cmd) {
		timer := time.NewTimer(moment)
		defer timer.Stop()
		<-timer.C
		k.dead[role]++
		if role == publisherRole {
			_ = cmd.Process.Kill() // it may have ended
			return
		}
		victim.kill()
		victim.start()
	})
	switch {
	case code == 0:
		k.acked = k.items
		if role == publisherRole { // the kill came too late; so it lasts about so long
			k.took = (3*k.took + time.Since(begin)) / 4
		}
	case code > 0 && code != 3: // 3: too few hold it yet, and it may be asked again
		k.t.Fatalf("round %d: exit %d\n%s", n, code, tail(out, 20))
	}
}

// check has all that was acknowledged so far arrive by itself, the rest after a push
// that nobody kills, and looks at every proxy.
func (k *killing) check() {
	k.t.Helper()
	k.arrived(k.acked)
	k.write()
	eventually(k.t, 2*time.Minute, "a push that nobody kills", func() bool {
		code, _ := k.push(nil)
		return code == 0
	})
	k.acked = k.items
	k.arrived(k.items)
	for i, p := range k.proxies {
		if forks := p.forks(k.signed.url); len(forks) > 0 {
			k.t.Errorf("seed %d: proxy %d holds proofs against an honest publisher: %s", *killSeed, i, forks)
		}
	}
	k.checked = k.items
	if k.t.Failed() {
		k.t.FailNow()
	}
}

// arrived waits until every proxy serves the items up to one that were not looked
// at before, each once.
func (k *killing) arrived(last int) {
	k.t.Helper()
	for i, p := range k.proxies {
		for n := k.checked + 1; n <= last; n++ {
			guid := fmt.Sprintf("item-%d", n)
			eventually(k.t, time.Minute, fmt.Sprintf("seed %d: %s at proxy %d", *killSeed, guid, i), func() bool { return p.holds(k.signed.url, guid) >= 1 })
			if times := p.holds(k.signed.url, guid); times != 1 {
				k.t.Errorf("seed %d: proxy %d serves %s %d times", *killSeed, i, guid, times)
			}
		}
	}
}

// forks are the proofs that a proxy shows for a feed, as JSON.
func (p *proxy) forks(url string) (all []string) {
	_, body := p.get("/api/v1/status")
	var st struct {
		Feeds []struct {
			URL   string            `json:"url"`
			Forks []json.RawMessage `json:"forks"`
		} `json:"feeds"`
	}
	if err := json.Unmarshal([]byte(body), &st); err != nil {
		return []string{err.Error()}
	}
	i := slices.IndexFunc(st.Feeds, func(f struct {
		URL   string            `json:"url"`
		Forks []json.RawMessage `json:"forks"`
	}) bool {
		return f.URL == url
	})
	if i < 0 {
		return []string{"the feed is not followed"}
	}
	for _, f := range st.Feeds[i].Forks {
		all = append(all, strings.TrimSpace(string(f)))
	}
	return all
}

func (k *killing) remove(dir string) {
	if err := os.RemoveAll(dir); err != nil {
		k.t.Fatal(err)
	}
}

func (k *killing) copy(from, to string) {
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		k.t.Fatal(err)
	}
}
