package main

import (
	"encoding/pem"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestVerifyOverHTTPS runs the command against a site with TLS, whose authority the
// system vouches for, as SSL_CERT_FILE has it.
func TestVerifyOverHTTPS(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("SSL_CERT_FILE says nothing to the system here")
	}
	testscript.Run(t, testscript.Params{
		Dir: "testdata/https",
		Setup: func(e *testscript.Env) error {
			site := httptest.NewTLSServer(http.FileServer(http.Dir(filepath.Join(e.WorkDir, "site"))))
			e.Defer(site.Close)
			_, port, err := net.SplitHostPort(site.Listener.Addr().String())
			if err != nil {
				return err
			}
			const named, other = "example.com", "other.example" // the first is in httptest's certificate
			e.Setenv("ORIGIN", "https://"+named+":"+port)
			e.Setenv("RESOLVE", named+":"+port+":127.0.0.1")
			e.Setenv("OTHER", "https://"+other+":"+port)
			e.Setenv("OTHERRESOLVE", other+":"+port+":127.0.0.1")
			authority := filepath.Join(e.WorkDir, "authority.pem")
			e.Setenv("SSL_CERT_FILE", authority)
			e.Setenv("SSL_CERT_DIR", filepath.Join(e.WorkDir, "none"))
			e.Setenv("HOME", filepath.Join(e.WorkDir, "home"))
			return os.WriteFile(authority, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: site.Certificate().Raw}), 0o600)
		},
	})
}
