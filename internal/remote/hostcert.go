package remote

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"
)

const authorityMarker = "@cert-authority"

// certificates are the kinds of host certificate to ask for.
var certificates = []string{ //nolint:gochecknoglobals // a table
	ssh.CertAlgoED25519v01, ssh.CertAlgoECDSA256v01, ssh.CertAlgoECDSA384v01, ssh.CertAlgoECDSA521v01, ssh.CertAlgoRSASHA512v01, ssh.CertAlgoRSASHA256v01,
}

// revoked returns an error if a file revokes the key, or for a certificate its key or its authority.
func (f knownFiles) revoked(h Host, key ssh.PublicKey) error {
	keys := []ssh.PublicKey{key}
	if cert, is := key.(*ssh.Certificate); is {
		keys = []ssh.PublicKey{cert.Key, cert.SignatureKey}
	}
	for _, file := range f {
		for _, k := range keys {
			err := file.judge(h.names()[0], &net.TCPAddr{Port: h.Port}, k)
			if no, is := errors.AsType[*knownhosts.RevokedError](err); is {
				return &RevokedKeyError{Host: h, Key: k, Place: fmt.Sprintf("%s:%d", no.Revoked.Filename, no.Revoked.Line)}
			}
		}
	}
	return nil
}

// checkCert requires a certificate of a known authority for this host that is valid now. As with OpenSSH, the key of
// another certificate counts as a key without one.
func (f knownFiles) checkCert(h Host, cert *ssh.Certificate) error {
	var known []knownhosts.KnownKey
	var problem error
	for _, name := range append(h.names(), h.withoutPort()...) {
		_, authorities := f.known(h, name)
		known = append(known, authorities...)
		for _, file := range f {
			err := file.judge(name, &net.TCPAddr{Port: h.Port}, cert)
			if err == nil {
				return nil
			}
			if problem == nil || !strings.Contains(err.Error(), "no authorities for hostname") {
				problem = err
			}
		}
	}
	if f.checkKey(h, cert.Key) == nil {
		return nil
	}
	return &HostCertError{Host: h, Cert: cert, Authorities: places(known), Err: problem}
}

// RevokedKeyError says that a host showed a key, or a certificate of an authority, that a known-hosts file revokes.
type RevokedKeyError struct {
	Host  Host
	Key   ssh.PublicKey
	Place string
}

func (e *RevokedKeyError) Error() string {
	return fmt.Sprintf("the host key of %s is revoked: %s %s (%s)", e.Host, e.Key.Type(), ssh.FingerprintSHA256(e.Key), e.Place)
}

// Hint returns the next step.
func (e *RevokedKeyError) Hint() string {
	return "ask the administrators of SSH keys why the key is revoked; the host needs a new key, or a new certificate"
}

// HostCertError says that the certificate of a host is not one for it.
type HostCertError struct {
	Host        Host
	Cert        *ssh.Certificate
	Authorities []string // that are known for the host
	Err         error
}

func (e *HostCertError) Error() string {
	return fmt.Sprintf("the host certificate %q of %s is refused: %s", e.Cert.KeyId, e.Host, e.reason(time.Now()))
}

func (e *HostCertError) Unwrap() error { return e.Err }

func (e *HostCertError) reason(now time.Time) string {
	signed := ssh.FingerprintSHA256(e.Cert.SignatureKey)
	if !slices.ContainsFunc(e.Authorities, func(a string) bool { return strings.Contains(a, signed) }) {
		return fmt.Sprintf("it is signed by %s, and the known authorities are %s", signed, strings.Join(e.Authorities, ", "))
	}
	if why := validity(e.Cert, now); why != "" {
		return why
	}
	if len(e.Cert.ValidPrincipals) > 0 {
		var names []string
		for _, name := range e.Host.names() {
			plain, _, _ := net.SplitHostPort(name)
			names = append(names, plain)
		}
		if !slices.ContainsFunc(names, func(n string) bool { return slices.Contains(e.Cert.ValidPrincipals, n) }) {
			return fmt.Sprintf("it is for %s, and not for %s", strings.Join(e.Cert.ValidPrincipals, ", "), strings.Join(names, " or "))
		}
	}
	return e.Err.Error()
}

// Hint returns the next step.
func (e *HostCertError) Hint() string {
	return "show it on " + e.Host.Name + " (ssh-keygen -L -f /etc/ssh/ssh_host_ed25519_key-cert.pub), and sign a new one for " + e.Host.Address +
		"; or set nodes[].ssh.hostKey to the fingerprint of the host's key"
}

// validity says why a certificate is not valid now; "" if it is.
func validity(cert *ssh.Certificate, now time.Time) string {
	at := func(t uint64) string { return time.Unix(int64(t), 0).UTC().Format("2006-01-02 15:04 UTC") }
	second := uint64(max(0, now.Unix()))
	switch {
	case cert.ValidBefore != ssh.CertTimeInfinity && second >= cert.ValidBefore:
		return "it expired on " + at(cert.ValidBefore)
	case second < cert.ValidAfter:
		return "it is not valid before " + at(cert.ValidAfter)
	}
	return ""
}
