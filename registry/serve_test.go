package registry

import (
	"bytes"
	"context"
	"log/slog"
	"net"
	"net/http"
	"os"
	"sync"
	"testing"
	"time"

	"airgap.dev/airgap/bundle"
)

// running is a registry on a loopback port with certificates of its own.
type running struct {
	addr   string
	pki    PKI
	client *http.Client
	log    *lockedBuffer
}

func (r *running) url(path string) string { return "https://" + r.addr + path }

// start serves the bundles until the test ends, and checks that it stops.
func start(t testing.TB, bundles ...*bundle.Bundle) *running {
	t.Helper()
	return startWith(t, Options{Bundles: bundles})
}

func startWith(t testing.TB, o Options) *running {
	t.Helper()
	r := &running{pki: PKI{Dir: t.TempDir()}, log: new(lockedBuffer)}
	must(t, r.pki.Ensure(nil, time.Now()))
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	r.addr = listener.Addr().String()
	o.Log = slog.New(slog.NewJSONHandler(r.log, nil))
	ctx, cancel := context.WithCancel(context.Background())
	stopped := make(chan error, 1)
	go func() {
		stopped <- Serve(ctx, ServeOptions{Options: o, Listener: listener, Certificate: r.pki.CertificateFile(), Key: r.pki.KeyFile()})
	}()
	ca, err := os.ReadFile(r.pki.CAFile())
	must(t, err)
	r.client, err = HTTPClient(ca)
	must(t, err)
	t.Cleanup(func() {
		r.client.CloseIdleConnections()
		cancel()
		if err := <-stopped; err != nil {
			t.Errorf("stop: %v", err)
		}
	})
	return r
}

func discard() *slog.Logger { return slog.New(slog.DiscardHandler) }

// lockedBuffer is a log that is read while it is written.
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
