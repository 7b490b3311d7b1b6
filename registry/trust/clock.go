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

// ClockError reports that this host cannot verify the certificate of a registry, because the
// clocks of the two hosts differ.
type ClockError struct {
	Ahead time.Duration // how far the registry host's clock is ahead of this host's; negative if it is behind
	Err   error         // the error of the verification
}

func (e *ClockError) Error() string { return e.Err.Error() }

// Unwrap returns the error of the verification.
func (e *ClockError) Unwrap() error { return e.Err }

// Ahead returns how far the clock of the registry at addr (HOST:PORT) is ahead of this host's, to
// about a second. It is negative if the clock is behind. ca (PEM) must have signed the registry's
// certificate. Since the clocks may be wrong, the certificate is verified at a time in its own validity
// period. A first handshake, which must fail, shows it.
func Ahead(ctx context.Context, addr string, ca []byte) (time.Duration, error) {
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(ca) {
		return 0, errors.New("read registry CA: it contains no certificate")
	}
	shown, err := shownChain(ctx, addr)
	if err != nil {
		return 0, fmt.Errorf("query registry's clock: %w", err)
	}
	valid := shown[0].NotBefore.Add(time.Second)
	client := httpclient.New(&http.Transport{
		DialContext: (&net.Dialer{Timeout: dialTimeout}).DialContext, TLSHandshakeTimeout: dialTimeout, DisableKeepAlives: true,
		TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots, Time: func() time.Time { return valid }},
	})
	ctx, cancel := context.WithTimeout(ctx, 2*dialTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodHead, "https://"+addr+"/healthz", nil)
	if err != nil {
		return 0, fmt.Errorf("query registry's clock: %w", err)
	}
	asked := time.Now()
	resp, err := client.Do(req)
	if err != nil {
		return 0, fmt.Errorf("query registry's clock: %w", err)
	}
	resp.Body.Close()
	there, err := http.ParseTime(resp.Header.Get("Date"))
	if err != nil {
		return 0, fmt.Errorf("query registry's clock: %w", err)
	}
	// The header has whole seconds, which are half over on average. So is the round trip.
	return there.Add(time.Second / 2).Sub(asked.Add(time.Since(asked) / 2)), nil
}

// explainClock turns the error of a handshake into a *ClockError if the clocks differ too much for
// the certificate. It returns other errors unchanged.
func explainClock(ctx context.Context, addr string, ca *x509.Certificate, err error) error {
	invalid, is := errors.AsType[x509.CertificateInvalidError](err)
	if !is || invalid.Reason != x509.Expired {
		return err
	}
	ahead, asked := Ahead(ctx, addr, encodeCertificate(ca))
	if asked != nil || ahead.Abs() < time.Hour {
		return err // the certificate has expired on both clocks
	}
	return &ClockError{Ahead: ahead, Err: err}
}
