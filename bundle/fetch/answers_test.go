package fetch

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"

	"airgap.dev/airgap/internal/httpclient"
)

// TestNoAnswerIsExplained: each kind of failed connection has an explanation with the
// next step.
func TestNoAnswerIsExplained(t *testing.T) {
	c, err := NewClient(Sources{})
	if err != nil {
		t.Fatal(err)
	}
	ref := name.MustParseReference("quay.io/x/y:1")
	for text, err := range map[string]error{
		"this host does not trust the certificate of quay.io": x509.UnknownAuthorityError{},
		"issued by \"CN=Bank inspection\"": &tls.CertificateVerificationError{
			UnverifiedCertificates: []*x509.Certificate{inspected()},
			Err:                    x509.UnknownAuthorityError{},
		},
		"set that CA in sources.ca":                                          x509.UnknownAuthorityError{},
		"this host cannot resolve quay.io":                                   &net.DNSError{Err: "no such host", Name: "quay.io", IsNotFound: true},
		"sources.rewrite":                                                    &net.DNSError{Err: "server misbehaving", Name: "quay.io"},
		"quay.io does not speak TLS":                                         tls.RecordHeaderError{Msg: "first record does not look like a TLS handshake"},
		"this host cannot connect to quay.io":                                &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("connection refused")},
		"the proxy for quay.io:443 requires a login":                         &httpclient.ProxyError{Target: "quay.io:443", Status: 407},
		"HTTPS_PROXY=http://USER:PASSWORD@HOST:PORT in the environment":      &httpclient.ProxyError{Target: "quay.io:443", Status: 407},
		"if a proxy intercepts TLS connections, or a mirror has its own CA,": &tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}},
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
