package fetch

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
)

// TestNoAnswerIsExplained: what keeps a registry from answering, and what to do.
func TestNoAnswerIsExplained(t *testing.T) {
	c, err := NewClient(Sources{})
	if err != nil {
		t.Fatal(err)
	}
	ref := name.MustParseReference("quay.io/x/y:1")
	for text, err := range map[string]error{
		"the certificate of quay.io is not one that this host trusts": x509.UnknownAuthorityError{},
		"issued by \"CN=Bank inspection\"": &tls.CertificateVerificationError{
			UnverifiedCertificates: []*x509.Certificate{inspected()},
			Err:                    x509.UnknownAuthorityError{},
		},
		"name that CA in sources.ca":                                            x509.UnknownAuthorityError{},
		"this host finds no address of quay.io":                                 &net.DNSError{Err: "no such host", Name: "quay.io", IsNotFound: true},
		"sources.rewrite":                                                       &net.DNSError{Err: "server misbehaving", Name: "quay.io"},
		"quay.io does not speak TLS":                                            tls.RecordHeaderError{Msg: "first record does not look like a TLS handshake"},
		"quay.io is not reached from this host":                                 &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("connection refused")},
		"the proxy on the way to quay.io wants a login":                         errors.New("Proxy Authentication Required"),
		"HTTPS_PROXY=http://USER:PASSWORD@HOST:PORT in the environment":         errors.New("Proxy Authentication Required"),
		"where a proxy opens TLS connections, or a mirror has a CA of its own,": &tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}},
	} {
		if got := c.Explain(t.Context(), ref, err); !strings.Contains(got.Error(), text) || !errors.Is(got, err) && !errors.As(got, new(*tls.CertificateVerificationError)) {
			t.Errorf("got %v, want %q", got, text)
		}
	}
	hub := name.MustParseReference("nginx")
	if got := loginCommand(hub.Context()); got != "podman login docker.io" {
		t.Error(got)
	}
}

func inspected() *x509.Certificate {
	c := &x509.Certificate{}
	c.Issuer.CommonName = "Bank inspection"
	return c
}
