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

// These limits keep slow clients from holding connections. There is no limit for a complete answer:
// a large layer over a slow connection takes long.
const (
	headerTimeout = 10 * time.Second
	idleTimeout   = 2 * time.Minute
	stopTimeout   = 20 * time.Second
	// connsPerAddress is far more than a node opens while it pulls and installs.
	connsPerAddress = 512
)

// ServeOptions configure the address and the certificate of a registry.
type ServeOptions struct {
	Options
	Addr        string       // "10.0.0.1:5000"; ":5000": all addresses
	Listener    net.Listener // if not nil, Serve uses it instead of Addr, and closes it
	Certificate string       // file: the server's certificate and the CA's, PEM
	Key         string       // file: PEM
}

// Serve serves until ctx ends, and then waits up to 20 s for running answers. It returns nil after
// such a stop.
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
	o.Expiry = pair.expiry
	o.Names = append(o.Names, namesOf(pair.loaded.Leaf, listener.Addr())...)
	handler, err := NewHandler(ctx, o.Options)
	if err != nil {
		return errors.Join(fmt.Errorf("serve registry: %w", err), listener.Close())
	}
	followContext, stop := context.WithCancel(ctx)
	var others sync.WaitGroup
	others.Go(func() { handler.Follow(followContext) })
	defer func() {
		stop()
		others.Wait()
		if err := handler.Close(); err != nil {
			o.Log.Error("close ledger", "error", err.Error())
		}
	}()
	limited := listen.PerAddress(listener, connsPerAddress, func(from string) {
		o.Log.Warn("connections refused: too many are open", "from", from, "limit", connsPerAddress)
	})
	return serve(ctx, newServer(handler, pair, o.Log), limited)
}

// namesOf returns the names and addresses of the certificate, each with the port.
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

// newServer serves only HTTP/1.1. There, a client sees a truncated answer as an unexpected end, and
// containerd retries it. A reset HTTP/2 stream would fail the pull.
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

// serverTLS allows the algorithms of NIST SP 800-52r2: TLS 1.2 and 1.3, AES-GCM and the NIST curves. A
// server cannot set the cipher suites of TLS 1.3: the unit's FIPS mode excludes ChaCha20.
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
	stopped := make(chan error, 1)
	go func() { stopped <- server.ServeTLS(listener, "", "") }()
	select {
	case err := <-stopped:
		return fmt.Errorf("serve registry: %w", err)
	case <-ctx.Done():
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
	defer cancel()
	err := server.Shutdown(grace)
	if err != nil {
		_ = server.Close() // the error of the stop is reported
	}
	// From here on, the server accepts no connection of a listener that stays open.
	<-stopped //nolint:errcheck // http.ErrServerClosed
	if err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("stop registry: %w", err)
	}
	return nil
}
