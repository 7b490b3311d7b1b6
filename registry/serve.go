package registry

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"
)

// Times that keep slow clients from holding connections. There is no limit on
// a whole answer: a big layer over a slow line takes its time.
const (
	headerTimeout = 10 * time.Second
	idleTimeout   = 2 * time.Minute
	stopTimeout   = 20 * time.Second
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
	handler, err := NewHandler(ctx, o.Options)
	if err != nil {
		return fmt.Errorf("serve registry: %w", err)
	}
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
	return serve(ctx, newServer(handler, pair, o.Log), listener)
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
		TLSConfig:         &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: pair.forHandshake},
		ReadHeaderTimeout: headerTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn),
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
