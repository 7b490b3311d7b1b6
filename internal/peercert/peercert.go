// Package peercert reads and pins the certificates of servers if this host does not have their CA. A
// first handshake trusts no CA, so it fails and shows the certificates of the server. Later handshakes
// accept exactly these certificates. This proves only that the same server answers: send no secret.
package peercert

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"
)

const (
	maxLeaves = 16 // servers behind one address, each with its own certificate
	maxNames  = 16 // of a certificate, which comes from the network
)

// Presented returns the certificates that the server presented in a failed handshake, the server's
// own certificate first. It returns nil if the handshake failed before.
func Presented(err error) []*x509.Certificate {
	unverified, is := errors.AsType[*tls.CertificateVerificationError](err)
	if !is {
		return nil
	}
	return unverified.UnverifiedCertificates
}

// PinError reports a certificate that cannot be pinned.
type PinError struct{ Err error }

func (e *PinError) Error() string { return "pin certificate: " + e.Err.Error() }

// Unwrap returns the cause.
func (e *PinError) Unwrap() error { return e.Err }

// Pins are the certificates of the servers at one address. A value is not for concurrent use.
type Pins struct {
	host   string
	name   string // a name in each certificate
	at     time.Time
	leaves []*x509.Certificate
}

// New returns no pins yet. host is the name or IP address of the servers.
func New(host string) *Pins { return &Pins{host: host, name: host} }

// Config returns a configuration that accepts only the pinned certificates. Without pins it accepts
// none, and Presented reads the certificate from the error of the handshake.
func (p *Pins) Config() *tls.Config {
	leaves, at := slices.Clone(p.leaves), p.at
	config := &tls.Config{RootCAs: pool(leaves), ServerName: p.name, MinVersion: tls.VersionTLS12}
	if len(leaves) == 0 {
		return config
	}
	config.Time = func() time.Time { return at }
	// A pinned certificate can be a CA: the certificates that it signed are not pinned.
	config.VerifyConnection = func(s tls.ConnectionState) error {
		if contains(leaves, s.PeerCertificates[0]) {
			return nil
		}
		return &tls.CertificateVerificationError{UnverifiedCertificates: s.PeerCertificates, Err: errors.New("the certificate is not pinned")}
	}
	return config
}

// Add pins a certificate. crypto/x509 accepts a certificate that is in the pool of roots, but also
// requires a name, a time in the validity period and the usage server authentication. Add returns a
// *PinError if no name and time meet this for all certificates.
func (p *Pins) Add(leaf *x509.Certificate) error {
	switch {
	case contains(p.leaves, leaf):
		return &PinError{errors.New("TLS refuses it although it is pinned")}
	case len(p.leaves) == maxLeaves:
		return &PinError{fmt.Errorf("the servers present more than %d certificates", maxLeaves)}
	}
	leaves, at := append(slices.Clone(p.leaves), leaf), leaf.NotBefore
	if p.at.After(at) {
		at = p.at
	}
	err := errors.New("it contains no DNS name and no IP address")
	for _, name := range p.names(leaf) {
		if err = verify(leaves, name, at); err == nil {
			p.leaves, p.name, p.at = leaves, name, at
			return nil
		}
	}
	if len(p.leaves) > 0 {
		err = fmt.Errorf("the servers present different certificates without a common name and time: %w", err)
	}
	return &PinError{err}
}

// names are the names to try. The first ones keep the server name of the first handshake, since a
// server can choose its certificate by it: the host, and for an address, which TLS does not send,
// other addresses.
func (p *Pins) names(leaf *x509.Certificate) []string {
	var names, addresses []string
	for _, n := range leaf.DNSNames[:min(len(leaf.DNSNames), maxNames)] {
		if rest, is := strings.CutPrefix(n, "*."); is {
			n = "airgap." + rest
		}
		names = append(names, n)
	}
	for _, a := range leaf.IPAddresses[:min(len(leaf.IPAddresses), maxNames)] {
		addresses = append(addresses, a.String())
	}
	if net.ParseIP(p.host) != nil {
		names, addresses = addresses, names
	}
	all := slices.Concat(names, addresses)
	if leaf.VerifyHostname(p.host) == nil {
		all = slices.Insert(all, 0, p.host)
	}
	return all
}

func verify(leaves []*x509.Certificate, name string, at time.Time) error {
	roots := pool(leaves)
	for _, leaf := range leaves {
		if _, err := leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: name, CurrentTime: at}); err != nil {
			return err
		}
	}
	return nil
}

// Connect makes a handshake with a new connection, and repeats it as long as the server presents a
// certificate that is not pinned yet: a load balancer can connect to a server with another one. It
// returns the last error of the handshake, or a *PinError.
func (p *Pins) Connect(handshake func(*tls.Config) error) error {
	for {
		err := handshake(p.Config())
		presented := Presented(err)
		if len(presented) == 0 {
			return err
		}
		if err := p.Add(presented[0]); err != nil {
			return err
		}
	}
}

func pool(leaves []*x509.Certificate) *x509.CertPool {
	all := x509.NewCertPool()
	for _, leaf := range leaves {
		all.AddCert(leaf)
	}
	return all
}

func contains(leaves []*x509.Certificate, leaf *x509.Certificate) bool {
	return slices.ContainsFunc(leaves, leaf.Equal)
}
