package chromium

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// within is how long anything may take on a slow machine.
const within = time.Minute

// Browser is a running Chromium with a profile of its own.
type Browser struct {
	t    testing.TB
	to   *os.File
	done chan struct{} // closed when it says nothing more

	mu      sync.Mutex
	last    int
	waiting map[int]chan answer
}

// message is what goes over the pipe, either way.
type message struct {
	ID      int             `json:"id,omitempty"`
	Session string          `json:"sessionId,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  any             `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *struct {
		Message string `json:"message"`
	} `json:"error,omitempty"`
}

type answer struct {
	result json.RawMessage
	err    error
}

// Start runs Chromium until the test ends. More flags can be given.
func Start(t testing.TB, flags ...string) *Browser {
	t.Helper()
	if testing.Short() {
		t.Skip("a browser takes its time: not in short form")
	}
	path, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("there is no chromium here: apt-get install chromium")
	}
	in, to := pipe(t)
	from, out := pipe(t)
	if !slices.ContainsFunc(flags, func(f string) bool { return strings.HasPrefix(f, resolverRules) }) {
		flags = append(flags, Resolve("* ~NOTFOUND"))
	}
	command := exec.Command(path, append([]string{
		"--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
		"--disable-component-update", "--disable-sync", "--disable-extensions", "--disable-dev-shm-usage", "--hide-scrollbars",
		"--user-data-dir=" + t.TempDir(), "--remote-debugging-pipe", "about:blank",
	}, flags...)...)
	command.ExtraFiles = []*os.File{in, out}
	var says bytes.Buffer
	command.Stderr = &says
	if err := command.Start(); err != nil {
		t.Fatalf("start chromium: %v", err)
	}
	_, _ = in.Close(), out.Close()
	b := &Browser{t: t, to: to, done: make(chan struct{}), waiting: map[int]chan answer{}}
	go b.read(from)
	t.Cleanup(func() {
		_, _ = b.call("", "Browser.close", nil)
		_ = to.Close()
		ended := time.AfterFunc(10*time.Second, func() { _ = command.Process.Kill() })
		_ = command.Wait() // how it ends says nothing about the page
		ended.Stop()
		<-b.done
		if t.Failed() {
			t.Logf("chromium says: %s", says.Bytes()[max(0, says.Len()-2000):])
		}
	})
	return b
}

const resolverRules = "--host-resolver-rules="

// Resolve is the flag by which names lead elsewhere; by default they lead nowhere.
// A rule is "NAME ADDRESS"; the first that matches counts.
func Resolve(rules ...string) string {
	var b strings.Builder
	for _, r := range rules {
		b.WriteString("MAP " + r + ",")
	}
	return resolverRules + b.String() + "EXCLUDE 127.0.0.1"
}

func pipe(t testing.TB) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	return r, w
}

// read takes answers off the pipe. Messages end with a NUL.
func (b *Browser) read(from *os.File) {
	defer close(b.done)
	defer from.Close()
	for lines := bufio.NewReader(from); ; {
		text, err := lines.ReadBytes(0)
		if err != nil {
			return
		}
		var m message
		if err := json.Unmarshal(text[:len(text)-1], &m); err != nil || m.ID == 0 {
			continue // an event: nobody asked for it
		}
		a := answer{result: m.Result}
		if m.Error != nil {
			a.err = errors.New(m.Error.Message)
		}
		b.mu.Lock()
		c := b.waiting[m.ID]
		delete(b.waiting, m.ID)
		b.mu.Unlock()
		if c != nil {
			c <- a
		}
	}
}

// call has the browser do something and waits for what comes of it.
func (b *Browser) call(session, method string, params any) (json.RawMessage, error) {
	c := make(chan answer, 1)
	b.mu.Lock()
	b.last++
	m := message{ID: b.last, Session: session, Method: method, Params: params}
	b.waiting[m.ID] = c
	b.mu.Unlock()
	text, err := json.Marshal(m)
	if err != nil {
		return nil, err
	}
	if _, err := b.to.Write(append(text, 0)); err != nil {
		return nil, fmt.Errorf("%s: %w", method, err)
	}
	timeout := time.NewTimer(within)
	defer timeout.Stop()
	select {
	case a := <-c:
		if a.err != nil {
			return nil, fmt.Errorf("%s: %w", method, a.err)
		}
		return a.result, nil
	case <-b.done:
		return nil, fmt.Errorf("%s: chromium has ended", method)
	case <-timeout.C:
		return nil, fmt.Errorf("%s: no answer in %v", method, within)
	}
}
