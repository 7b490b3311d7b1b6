package registry

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"airgap.dev/airgap/internal/listen"
)

// Times that keep slow clients from holding connections. There is no limit on
// a whole answer: a big layer over a slow line takes its time.
const (
	headerTimeout = 10 * time.Second
	idleTimeout   = 2 * time.Minute
	stopTimeout   = 20 * time.Second
	// connsPerAddress is far above what a node has open that pulls and installs.
	connsPerAddress = 512
)

// ServeOptions say where and with which certificate to serve.
type ServeOptions struct {
	Options
	Addr        string       // "10.0.0.1:5000"; ":5000" is every address
	Listener    net.Listener // used instead of Addr when not nil, and closed
	Certificate string       // file: the server's certificate and the CA's, PEM
	Key         string       // file: PEM
}

// Serve serves until ctx ends, then lets running answers finish for 20 s. It
// returns nil after such a stop.
func Serve(ctx context.Context, o ServeOptions) error {
	pair, err := loadKeyPair(o.Certificate, o.Key, o.Log)
	if err != nil {
		return err
	}
	listener := o.Listener
	if listener == nil {
		if listener, err = new(net.ListenConfig).Listen(ctx, "tcp", o.Addr); err != nil {
			return fmt.Errorf("serve registry: %w", err)
		}
	}
	o.Expiry = pair.ends
	o.Names = append(o.Names, namesOf(pair.loaded.Leaf, listener.Addr())...)
	handler, err := NewHandler(ctx, o.Options)
	if err != nil {
		return errors.Join(fmt.Errorf("serve registry: %w", err), listener.Close())
	}
	following, stop := context.WithCancel(ctx)
	var others sync.WaitGroup
	others.Go(func() { handler.Follow(following) })
	defer others.Wait()
	defer stop()
	limited := listen.PerAddress(listener, connsPerAddress, func(from string) {
		o.Log.Warn("connections refused: too many are open", "from", from, "limit", connsPerAddress)
	})
	return serve(ctx, newServer(handler, pair, o.Log), limited)
}

// namesOf are those of the certificate, each with the port.
func namesOf(leaf *x509.Certificate, at net.Addr) []string {
	_, port, err := net.SplitHostPort(at.String())
	if err != nil {
		return nil
	}
	var names []string
	for _, name := range leaf.DNSNames {
		names = append(names, net.JoinHostPort(name, port))
	}
	for _, ip := range leaf.IPAddresses {
		names = append(names, net.JoinHostPort(ip.String(), port))
	}
	return names
}

// newServer speaks HTTP/1.1 only: there an answer that was cut short shows up
// as an unexpected end, which containerd tries again; a reset HTTP/2 stream
// fails its pull.
func newServer(handler http.Handler, pair *keyPair, log *slog.Logger) *http.Server {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	return &http.Server{
		Handler:           handler,
		Protocols:         protocols,
		TLSConfig:         serverTLS(pair),
		ReadHeaderTimeout: headerTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
}

// serverTLS takes what NIST SP 800-52r2 approves: TLS 1.2 and 1.3, AES-GCM, the NIST
// curves. The suites of TLS 1.3 are no setting of a server's: the unit's FIPS mode
// leaves ChaCha20 out.
func serverTLS(pair *keyPair) *tls.Config {
	return &tls.Config{
		MinVersion:     tls.VersionTLS12,
		GetCertificate: pair.forHandshake,
		CipherSuites: []uint16{
			tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, tls.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,
			tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256, tls.TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
		},
		CurvePreferences: []tls.CurveID{tls.CurveP256, tls.CurveP384, tls.CurveP521},
	}
}

func serve(ctx context.Context, server *http.Server, listener net.Listener) error {
	ended := make(chan error, 1)
	go func() { ended <- server.ServeTLS(listener, "", "") }()
	select {
	case err := <-ended:
		return fmt.Errorf("serve registry: %w", err)
	case <-ctx.Done():
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
	defer cancel()
	if err := server.Shutdown(grace); err != nil {
		server.Close()
		if !errors.Is(err, context.DeadlineExceeded) {
			return fmt.Errorf("stop registry: %w", err)
		}
	}
	return nil
}
