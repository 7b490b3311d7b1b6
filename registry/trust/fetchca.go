package trust

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"airgap.dev/airgap/internal/peercert"
)

const dialTimeout = 10 * time.Second

// FetchCA gets the certificate of the CA (PEM) from the registry at addr (HOST:PORT). hash is its
// CAHash, and the only trust anchor. The registry must present a CA certificate with this hash. In a
// second, full handshake it must prove that this CA signed its certificate. If only the clocks of
// the two hosts prevent that, the error is a *ClockError.
func FetchCA(ctx context.Context, addr, hash string) ([]byte, error) {
	shown, err := shownChain(ctx, addr)
	if err != nil {
		return nil, fmt.Errorf("fetch CA from %s: %w", addr, err)
	}
	ca, err := pick(shown, hash)
	if err != nil {
		return nil, fmt.Errorf("fetch CA from %s: %w", addr, err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(ca)
	if err := handshake(ctx, addr, roots); err != nil {
		return nil, fmt.Errorf("verify registry %s against its CA: %w", addr, explainClock(ctx, addr, ca, err))
	}
	return encodeCertificate(ca), nil
}

// shownChain returns the certificates that the server presents. Its handshake has no trusted CA and
// must fail. The error contains the chain.
func shownChain(ctx context.Context, addr string) ([]*x509.Certificate, error) {
	err := handshake(ctx, addr, x509.NewCertPool())
	shown := peercert.Presented(err)
	switch {
	case len(shown) > 0:
		return shown, nil
	case err != nil:
		return nil, err
	}
	return nil, errors.New("the handshake accepted a certificate without a trusted CA")
}

func pick(chain []*x509.Certificate, hash string) (*x509.Certificate, error) {
	shown := "no CA"
	for _, c := range chain {
		if !c.IsCA {
			continue
		}
		if CAHash(c) == strings.ToLower(hash) {
			return c, nil
		}
		shown = CAHash(c)
	}
	return nil, fmt.Errorf("expected CA %s, the registry presents %s: the join command belongs to another cluster, or another server answers instead of the registry", hash, shown)
}

func handshake(ctx context.Context, addr string, roots *x509.CertPool) error {
	dialer := tls.Dialer{
		NetDialer: &net.Dialer{Timeout: dialTimeout},
		Config:    &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots},
	}
	ctx, cancel := context.WithTimeout(ctx, 2*dialTimeout)
	defer cancel()
	conn, err := dialer.DialContext(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	return conn.Close()
}
