package registry

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/bundle/bundletest"
	"airgap.dev/airgap/registry/trust"
)

// running is a registry on a loopback port with its own CA.
type running struct {
	addr   string
	pki    trust.PKI
	client *http.Client
	log    *lockedBuffer
}

func (r *running) url(path string) string { return "https://" + r.addr + path }

// start serves the bundles until the test ends, and checks that the server stops.
func start(t testing.TB, bundles ...*bundle.Bundle) *running {
	t.Helper()
	return startWith(t, Options{Bundles: bundles})
}

func startWith(t testing.TB, o Options) *running {
	t.Helper()
	return prepare(t).start(t, o)
}

// prepared is a registry with a known address that does not serve yet.
type prepared struct {
	running

	listener net.Listener
}

func prepare(t testing.TB) *prepared {
	t.Helper()
	r := &prepared{running: running{pki: trust.PKI{Dir: t.TempDir()}, log: new(lockedBuffer)}}
	must(t, r.pki.Ensure(nil, time.Now()))
	var err error
	r.listener, err = net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	r.addr = r.listener.Addr().String()
	ca, err := os.ReadFile(r.pki.CAFile())
	must(t, err)
	r.client, err = HTTPClient(ca)
	must(t, err)
	return r
}

// peer returns the client with which another registry queries this one.
func (r *running) peer(t testing.TB) *Client {
	t.Helper()
	ca, err := os.ReadFile(r.pki.CAFile())
	must(t, err)
	c, err := NewClient(r.addr, ca)
	must(t, err)
	return c
}

func (p *prepared) start(t testing.TB, o Options) *running {
	t.Helper()
	o.Log = slog.New(slog.NewJSONHandler(p.log, nil))
	ctx, cancel := context.WithCancel(context.Background())
	stopped := make(chan error, 1)
	go func() {
		stopped <- Serve(ctx, ServeOptions{Options: o, Listener: p.listener, Certificate: p.pki.CertificateFile(), Key: p.pki.KeyFile()})
	}()
	t.Cleanup(func() {
		p.client.CloseIdleConnections()
		cancel()
		if err := <-stopped; err != nil {
			t.Errorf("stop: %v", err)
		}
	})
	return &p.running
}

func discard() *slog.Logger { return slog.New(slog.DiscardHandler) }

// lockedBuffer is a log that can be read while it is written.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestTLS(t *testing.T) {
	r := start(t)
	ca, err := os.ReadFile(r.pki.CAFile())
	must(t, err)
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca)
	for name, c := range map[string]struct {
		client *tls.Config
		fails  bool
	}{
		"default client": {client: &tls.Config{}},
		"TLS 1.2":        {client: &tls.Config{MaxVersion: tls.VersionTLS12}},
		"TLS 1.1":        {client: &tls.Config{MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}, fails: true},
		"ChaCha20 only": {client: &tls.Config{MaxVersion: tls.VersionTLS12, CipherSuites: []uint16{
			tls.TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,
		}}, fails: true},
		"CBC only":    {client: &tls.Config{MaxVersion: tls.VersionTLS12, CipherSuites: []uint16{tls.TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA}}, fails: true},
		"X25519 only": {client: &tls.Config{CurvePreferences: []tls.CurveID{tls.X25519}}, fails: true},
		"P-384 only":  {client: &tls.Config{CurvePreferences: []tls.CurveID{tls.CurveP384}}},
	} {
		c.client.RootCAs = roots
		conn, err := tls.Dial("tcp", r.addr, c.client)
		if (err != nil) != c.fails {
			t.Errorf("%s: %v, want an error: %t", name, err, c.fails)
		}
		if err != nil {
			continue
		}
		if suite := tls.CipherSuiteName(conn.ConnectionState().CipherSuite); !strings.Contains(suite, "AES") || !strings.Contains(suite, "GCM") {
			t.Errorf("%s: %s", name, suite)
		}
		must(t, conn.Close())
	}
}

// TestHealthNamesTheVersion: after an update of airgap.rpm, Health reports the version of the running process.
func TestHealthNamesTheVersion(t *testing.T) {
	r := startWith(t, Options{Bundles: []*bundle.Bundle{bundletest.New(t).Open(t)}, Version: "1.2.3"})
	health, err := r.peer(t).Health(t.Context())
	if err != nil || health.Version != "1.2.3" {
		t.Errorf("version %q, %v", health.Version, err)
	}
}
