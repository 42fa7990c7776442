package e2e

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// origin is a web server of feeds under a public-looking name, with an access
// log.
type origin struct {
	host   string
	base   string // the URL readers know
	addr   string // where it really listens
	caFile string
	ahead  time.Duration // of its clock; set before it is asked
	mu     sync.Mutex
	docs   map[string]string
	log    []request
}

type request struct {
	at   time.Time
	path string
	code int
}

// newOrigin serves over https with a certificate of its own authority, or over
// plain http.
func newOrigin(t testing.TB, host string, secure bool) *origin {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return serveOrigin(t, host, secure, l)
}

func serveOrigin(t testing.TB, host string, secure bool, l net.Listener) *origin {
	o := &origin{host: host, docs: map[string]string{}}
	srv := httptest.NewUnstartedServer(o)
	srv.Listener.Close()
	srv.Listener, srv.Config.ErrorLog = l, nil
	o.addr = srv.Listener.Addr().String()
	_, port, _ := net.SplitHostPort(o.addr)
	if secure {
		cert, ca := certificate(t, host)
		srv.TLS = &tls.Config{Certificates: []tls.Certificate{cert}}
		srv.StartTLS()
		o.caFile = ca
		o.base = "https://" + host + ":" + port
	} else {
		srv.Start()
		o.base = "http://" + host + ":" + port
	}
	t.Cleanup(srv.Close)
	return o
}

// certificate makes an authority and a certificate for host, and writes the
// authority where SSL_CERT_FILE can point to.
func certificate(t testing.TB, host string) (tls.Certificate, string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	tmpl := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "feedtree test authority"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, DNSNames: []string{host},
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, file
}

func (o *origin) env() []string {
	if o.caFile == "" {
		return nil
	}
	return []string{"SSL_CERT_FILE=" + o.caFile}
}

func (o *origin) resolve() []string {
	host, port, _ := net.SplitHostPort(o.addr)
	return []string{"--resolve", o.host + ":" + port + ":" + host}
}

func (o *origin) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == stalledPath {
		o.note(r, 0)
		<-r.Context().Done() // until the client gives up
		return
	}
	w.Header().Set("Date", time.Now().Add(o.ahead).UTC().Format(http.TimeFormat))
	o.mu.Lock()
	doc, ok := o.docs[r.URL.Path]
	o.mu.Unlock()
	etag := fmt.Sprintf(`"%x"`, sha256.Sum256([]byte(doc)))
	code := http.StatusOK
	switch {
	case !ok:
		code = http.StatusNotFound
	case r.Header.Get("If-None-Match") == etag:
		code = http.StatusNotModified
	}
	o.note(r, code)
	w.Header().Set("ETag", etag)
	w.Header().Set("Content-Type", "application/rss+xml; charset=utf-8")
	w.WriteHeader(code)
	if code == http.StatusOK {
		w.Write([]byte(doc))
	}
}

// stalledPath takes a request and never answers.
const stalledPath = "/stalled.xml"

func (o *origin) note(r *http.Request, code int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.log = append(o.log, request{time.Now(), r.URL.Path, code})
}

func (o *origin) set(path, doc string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.docs[path] = doc
}

// requests counts the access log's lines about a path.
func (o *origin) requests(path string) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	n := 0
	for _, r := range o.log {
		if r.path == path {
			n++
		}
	}
	return n
}

// rss is a feed document under test.
type rss struct {
	url   string
	extra string // channel children, such as the ft:tree snippet
	items []string
}

func (d *rss) add(guid string) {
	d.items = append([]string{fmt.Sprintf(`<item><title>Title of %[1]s</title><link>%[2]s/%[1]s</link>`+
		`<guid isPermaLink="false">%[1]s</guid><pubDate>%[3]s</pubDate>`+
		`<description>Text of %[1]s &amp; more</description></item>`,
		guid, d.url, time.Now().UTC().Format(time.RFC1123Z))}, d.items...)
}

func (d *rss) String() string {
	return `<?xml version="1.0" encoding="UTF-8"?>` + "\n" + `<rss version="2.0"><channel><title>News of the test</title><link>` + d.url +
		`</link><description>A feed under test</description>` + d.extra + strings.Join(d.items, "\n") + `</channel></rss>`
}
