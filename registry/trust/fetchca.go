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
)

const dialTimeout = 10 * time.Second

// FetchCA gets the authority's certificate (PEM) from the registry at addr
// (HOST:PORT), knowing only its CAHash. It trusts nothing else: the registry
// must show a certificate with that hash, and then prove, in a second and full
// handshake, that its own was signed by it. Where that fails for the clocks of
// the two hosts alone, the error is a *ClockError.
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
		return nil, fmt.Errorf("verify registry %s against its CA: %w", addr, clockAtFault(ctx, addr, ca, err))
	}
	return encodeCertificate(ca), nil
}

// shownChain is what the server shows to a client that trusts nobody. Its
// handshake is meant to fail, and the failure carries the chain.
func shownChain(ctx context.Context, addr string) ([]*x509.Certificate, error) {
	err := handshake(ctx, addr, x509.NewCertPool())
	var unverified *tls.CertificateVerificationError
	switch {
	case errors.As(err, &unverified):
		return unverified.UnverifiedCertificates, nil
	case err != nil:
		return nil, err
	}
	return nil, errors.New("a certificate was accepted that nobody signed")
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
	return nil, fmt.Errorf("want CA %s, the registry shows %s: the join line is another cluster's, or something on the way answers in the registry's place", hash, shown)
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
