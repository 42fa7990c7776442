package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/feedtree/feedtree/feed"
	"github.com/feedtree/feedtree/multicast"
	"github.com/feedtree/feedtree/signing"
)

// demoSite is a web server with two feeds under public-looking names: one that is
// only served, and one whose publisher signs and pushes.
type demoSite struct {
	news, blog string // URLs
	key        *signing.Identity
	roots      *x509.CertPool
	port       string
	server     *http.Server

	mu     sync.Mutex
	titles map[string][]string // by URL, newest first
	count  int                 // requests
}

const (
	newsHost, blogHost = "news.example", "blog.example"
	forgedTitle        = "Forged"
)

func openDemoSite() (*demoSite, error) {
	cert, roots, err := demoCertificate(newsHost, blogHost)
	if err != nil {
		return nil, err
	}
	key, err := signing.Generate(nil)
	if err != nil {
		return nil, err
	}
	l, err := listen(context.Background(), "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		return nil, err
	}
	s := &demoSite{
		news: "https://" + newsHost + ":" + port + "/feed.xml", blog: "https://" + blogHost + ":" + port + "/feed.xml",
		key: key, roots: roots, port: port, titles: make(map[string][]string),
	}
	s.write(s.news)
	s.write(s.blog)
	s.server = &http.Server{
		Handler: s, ReadHeaderTimeout: 5 * time.Second, ErrorLog: log.New(io.Discard, "", 0),
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12},
	}
	go func() { _ = s.server.ServeTLS(l, "", "") }() // ends with close
	return s, nil
}

func (s *demoSite) close() error { return s.server.Close() }

// resolve leads the names of the site to this machine.
func (s *demoSite) resolve() []string {
	return []string{newsHost + ":" + s.port + ":127.0.0.1", blogHost + ":" + s.port + ":127.0.0.1"}
}

// ServeHTTP serves a feed, with what conditional requests need.
func (s *demoSite) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	url := s.news
	if strings.HasPrefix(r.Host, blogHost) {
		url = s.blog
	}
	s.mu.Lock()
	s.count++
	s.mu.Unlock()
	doc := s.document(url)
	sum := sha256.Sum256(doc)
	w.Header().Set("ETag", `"`+hex.EncodeToString(sum[:8])+`"`)
	w.Header().Set("Content-Type", feed.MediaType(feed.RSS))
	http.ServeContent(w, r, "", time.Time{}, strings.NewReader(string(doc)))
}

func (s *demoSite) requests() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.count
}

// write puts a new item on top of a feed and returns its title.
func (s *demoSite) write(url string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	name := "News"
	if url == s.blog {
		name = "Post"
	}
	title := fmt.Sprintf("%s %d", name, len(s.titles[url])+1)
	s.titles[url] = append([]string{title}, s.titles[url]...)
	return title
}

// document is a feed as it is now. The blog's announces how it can be had by push.
func (s *demoSite) document(url string) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	tree := ""
	if url == s.blog {
		tree = feed.Tree{
			Version: 1, Group: multicast.GroupOf(url).String(), Fingerprint: s.key.Public().Fingerprint().String(),
		}.XML()
	}
	return render(url, s.titles[url], tree)
}

// forged is a document of the blog that its publisher never wrote.
func (s *demoSite) forged() []byte { return render(s.blog, []string{forgedTitle}, "") }

func render(url string, titles []string, tree string) []byte {
	name := "The news"
	if tree != "" {
		name = "A signed blog"
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<rss version="2.0"><channel><title>%s</title><link>%s</link><description>Of the demo</description>%s`, name, url, tree)
	for _, title := range titles {
		fmt.Fprintf(&b, `<item><title>%s</title><link>%s#%s</link><guid isPermaLink="false">%s</guid></item>`,
			title, url, strings.ReplaceAll(title, " ", "-"), title)
	}
	b.WriteString(`</channel></rss>`)
	return []byte(b.String())
}

// demoCertificate makes a certificate for names, and the pool that trusts it.
func demoCertificate(names ...string) (tls.Certificate, *x509.CertPool, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, nil, err
	}
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()), Subject: pkix.Name{CommonName: "feedtree demo"}, DNSNames: names,
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(24 * time.Hour), IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return tls.Certificate{}, nil, err
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		return tls.Certificate{}, nil, err
	}
	roots := x509.NewCertPool()
	roots.AddCert(leaf)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, roots, nil
}
