package trust

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"airgap.dev/airgap/internal/httpclient"
)

// ClockError says that a registry's certificate is not valid by this host's
// clock, because that is not the registry host's.
type ClockError struct {
	Ahead time.Duration // of the registry host's clock before this one's; negative when it is behind
	Err   error         // what the verification said
}

func (e *ClockError) Error() string { return e.Err.Error() }

// Unwrap gives what the verification said.
func (e *ClockError) Unwrap() error { return e.Err }

// Ahead is how far the clock of the registry at addr (HOST:PORT) is ahead of
// this host's, to about a second, and negative when it is behind. The answer
// is the registry's own, by its authority ca (PEM); only the times in its
// certificate are not held against it, for they are what the clocks decide.
func Ahead(ctx context.Context, addr string, ca []byte) (time.Duration, error) {
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(ca) {
		return 0, errors.New("read registry CA: no certificate in it")
	}
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return 0, fmt.Errorf("ask registry for its time: %w", err)
	}
	client := httpclient.New(&http.Transport{
		DialContext: (&net.Dialer{Timeout: dialTimeout}).DialContext, TLSHandshakeTimeout: dialTimeout, DisableKeepAlives: true,
		// timeless verifies all but the time.
		TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: true, VerifyConnection: timeless(host, roots)}, //nolint:gosec // as said
	})
	ctx, cancel := context.WithTimeout(ctx, 2*dialTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodHead, "https://"+addr+"/healthz", nil)
	if err != nil {
		return 0, fmt.Errorf("ask registry for its time: %w", err)
	}
	asked := time.Now()
	resp, err := client.Do(req)
	if err != nil {
		return 0, fmt.Errorf("ask registry for its time: %w", err)
	}
	resp.Body.Close()
	there, err := http.ParseTime(resp.Header.Get("Date"))
	if err != nil {
		return 0, fmt.Errorf("ask registry for its time: %w", err)
	}
	// The header's second is half over on average, and so is the way.
	return there.Add(time.Second / 2).Sub(asked.Add(time.Since(asked) / 2)), nil
}

// timeless verifies the chain and the name as TLS does, at a time when the
// certificate was valid.
func timeless(host string, roots *x509.CertPool) func(tls.ConnectionState) error {
	return func(c tls.ConnectionState) error {
		leaf := c.PeerCertificates[0] // a client always has one
		between := x509.NewCertPool()
		for _, more := range c.PeerCertificates[1:] {
			between.AddCert(more)
		}
		_, err := leaf.Verify(x509.VerifyOptions{DNSName: host, Roots: roots, Intermediates: between, CurrentTime: leaf.NotBefore.Add(time.Second)})
		return err
	}
}

// clockAtFault turns the error of a handshake into a *ClockError where the
// clocks are too far apart for the certificate, and leaves every other error.
func clockAtFault(ctx context.Context, addr string, ca *x509.Certificate, err error) error {
	invalid, is := errors.AsType[x509.CertificateInvalidError](err)
	if !is || invalid.Reason != x509.Expired {
		return err
	}
	ahead, asked := Ahead(ctx, addr, encodeCertificate(ca))
	if asked != nil || ahead.Abs() < time.Hour {
		return err // the certificate is over by both clocks
	}
	return &ClockError{Ahead: ahead, Err: err}
}
