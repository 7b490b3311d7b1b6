package sshtest

import (
	"crypto/rand"
	"os"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"
)

// Authority signs certificates.
type Authority struct{ ssh.Signer }

// NewAuthority makes one.
func NewAuthority(t *testing.T) Authority {
	t.Helper()
	return Authority{NewKey(t)}
}

// Sign makes a certificate for a key. until is its end, from now; kind is ssh.HostCert or ssh.UserCert.
func (a Authority) Sign(t *testing.T, key ssh.PublicKey, kind uint32, until time.Duration, principals ...string) *ssh.Certificate {
	t.Helper()
	now := time.Now()
	cert := &ssh.Certificate{
		Key: key, CertType: kind, KeyId: "of the bank", ValidPrincipals: principals,
		ValidAfter: uint64(now.Add(-48 * time.Hour).Unix()), ValidBefore: uint64(now.Add(until).Unix()),
	}
	if err := cert.SignCert(rand.Reader, a.Signer); err != nil {
		t.Fatal(err)
	}
	return cert
}

// Host returns the key of a host with a certificate.
func (a Authority) Host(t *testing.T, key ssh.Signer, until time.Duration, principals ...string) ssh.Signer {
	t.Helper()
	signer, err := ssh.NewCertSigner(a.Sign(t, key.PublicKey(), ssh.HostCert, until, principals...), key)
	if err != nil {
		t.Fatal(err)
	}
	return signer
}

// Trusts lets users in who have a certificate of the authority.
func (a Authority) Trusts(c *ssh.ServerConfig) {
	checker := &ssh.CertChecker{IsUserAuthority: func(k ssh.PublicKey) bool { return string(k.Marshal()) == string(a.PublicKey().Marshal()) }}
	c.PublicKeyCallback = checker.Authenticate
}

// WriteCert writes a certificate.
func WriteCert(t *testing.T, path string, cert *ssh.Certificate) {
	t.Helper()
	if err := os.WriteFile(path, ssh.MarshalAuthorizedKey(cert), 0o644); err != nil {
		t.Fatal(err)
	}
}

// Again signs a certificate that the test has changed, for the key of a host.
func (a Authority) Again(cert *ssh.Certificate, key ssh.Signer) (ssh.Signer, error) {
	if err := cert.SignCert(rand.Reader, a.Signer); err != nil {
		return nil, err
	}
	return ssh.NewCertSigner(cert, key)
}
