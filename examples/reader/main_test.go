package main_test

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/feedtree/feedtree"
	"github.com/feedtree/feedtree/overlay/kad"
	"github.com/feedtree/feedtree/signing"
)

const channel = `<rss version="2.0"><channel><title>Blog</title><link>http://blog.example.org/</link><description>b</description>%s</channel></rss>`

// The two examples as programs: the reader prints what the publisher pushes. A
// node between them, whose store outlives it as far as it says, holds it.
func TestThePublisherReachesTheReader(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"reader", "publisher"} {
		out, err := exec.Command("go", "build", "-o", filepath.Join(dir, name), "../"+name).CombinedOutput()
		if err != nil {
			t.Fatalf("build %s: %v\n%s", name, err, out)
		}
	}
	asked := make(chan struct{}, 16)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, channel, "")
		asked <- struct{}{}
	}))
	defer web.Close()
	_, port, err := net.SplitHostPort(web.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	url := "http://blog.example.org:" + port + "/feed.xml"
	const network = "examples"
	meeting, err := feedtree.New(t.Context(), feedtree.Config{Overlay: kad.Config{
		Network: network, Listen: []string{"/ip4/127.0.0.1/udp/0/quic-v1"}, NoMDNS: true, NoNAT: true, NoRendezvous: true}})
	if err != nil {
		t.Fatal(err)
	}
	defer meeting.Close()
	overlay := []string{"-network", network, "-listen", "/ip4/127.0.0.1/udp/0/quic-v1", "-bootstrap", meeting.Addrs()[0]}

	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	defer cancel()
	reader := exec.CommandContext(ctx, filepath.Join(dir, "reader"),
		append(overlay, "-resolve", "blog.example.org:"+port+":127.0.0.1", url)...)
	reader.Stderr = os.Stderr
	stdout, err := reader.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := reader.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(stdout)
	<-asked // before, the item would not be news
	push(ctx, t, dir, url, overlay)
	if !lines.Scan() || !strings.HasPrefix(lines.Text(), "Hello  http://blog.example.org/1 (") {
		t.Fatalf("the reader printed %q", lines.Text())
	}
	if err := reader.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := reader.Wait(); err != nil {
		t.Errorf("interrupted, the reader ended with %v", err)
	}
}

// push runs the publisher until somebody has got it.
func push(ctx context.Context, t *testing.T, dir, url string, overlay []string) {
	t.Helper()
	id, err := signing.Generate(nil)
	if err != nil {
		t.Fatal(err)
	}
	pem, err := id.MarshalPEM("example", nil)
	if err != nil {
		t.Fatal(err)
	}
	key, doc := filepath.Join(dir, "key.pem"), filepath.Join(dir, "feed.xml")
	item := `<item><guid>1</guid><title>Hello</title><link>http://blog.example.org/1</link></item>`
	for file, content := range map[string][]byte{key: pem, doc: []byte(fmt.Sprintf(channel, item))} {
		if err := os.WriteFile(file, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	publisher := exec.CommandContext(ctx, filepath.Join(dir, "publisher"), append(append([]string{"-key", key}, overlay...), url, doc)...)
	publisher.Stdout, publisher.Stderr = os.Stderr, os.Stderr
	if err := publisher.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = publisher.Process.Kill() // nobody here holds anything durably, so it would wait a minute
		_ = publisher.Wait()
	})
}
