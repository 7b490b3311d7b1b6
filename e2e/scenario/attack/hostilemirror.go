package attack

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"

	"airgap.dev/airgap/e2e/scenario"
)

// hostileMirror serves the files of the lab's upstream, except for one path.
type hostileMirror struct {
	*httptest.Server

	ca         string
	missing    string // a path that gets status 404
	redirected string // a path that redirects to plain
	plain      *httptest.Server
	plainAsked atomic.Int32
}

func attackMirror(e *scenario.Env) (*hostileMirror, error) {
	upstream, err := url.Parse(e.Upstream.URL)
	if err != nil {
		return nil, err
	}
	ca, err := os.ReadFile(e.Upstream.CA)
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(ca) {
		return nil, errors.New("read the upstream's CA: no certificate in it")
	}
	m := &hostileMirror{ca: filepath.Join(e.Work, "mirror-ca.pem")}
	m.plain = httptest.NewUnstartedServer(http.NotFoundHandler())
	m.plain.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			m.plainAsked.Add(1)
		}
	}
	m.plain.Start()
	behind := httputil.NewSingleHostReverseProxy(upstream)
	behind.Transport = &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}
	m.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case m.missing:
			http.NotFound(w, r)
		case m.redirected:
			http.Redirect(w, r, m.plain.URL+r.URL.Path, http.StatusFound)
		default:
			behind.ServeHTTP(w, r)
		}
	}))
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: m.Certificate().Raw})
	return m, os.WriteFile(m.ca, text, 0o644)
}

func (m *hostileMirror) host() string { return strings.TrimPrefix(m.URL, "https://") }

// Close stops both servers.
func (m *hostileMirror) Close() {
	m.Server.Close()
	m.plain.Close()
}
