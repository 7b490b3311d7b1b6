package client_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"net"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"airgap.dev/airgap/preflight/netprobe/client"
)

// issued returns a certificate of an unknown CA.
func issued(t *testing.T, change func(*x509.Certificate)) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	form := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: "server"}, NotBefore: time.Now().Add(-2 * time.Hour),
		NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	change(form)
	issuer := &x509.Certificate{Subject: pkix.Name{CommonName: "unknown"}}
	der, err := x509.CreateCertificate(rand.Reader, form, issuer, key.Public(), key)
	require.NoError(t, err)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// TestClientCertificates: the certificate of each server is shown. The tests go on if a client can
// accept the certificate at some time and by some name.
func TestClientCertificates(t *testing.T) {
	t.Parallel()
	as := func(certificate tls.Certificate, auth tls.ClientAuthType, version uint16) func(*httptest.Server) {
		return func(s *httptest.Server) {
			s.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}, ClientAuth: auth, MaxVersion: version}
		}
	}
	plain := func(*x509.Certificate) {}
	expired := func(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Hour) }
	wildcard := func(c *x509.Certificate) { c.IPAddresses, c.DNSNames = nil, []string{"*.apps.example"} }
	unnamed := func(c *x509.Certificate) { c.IPAddresses = nil }
	ofClient := func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth} }
	const stops = "; not tested further: "
	for name, test := range map[string]struct {
		kind   client.Kind
		change func(*x509.Certificate)
		auth   tls.ClientAuthType
		found  []string // in each version of TLS
		never  string
		passed bool
	}{
		"API":                   {client.API, plain, tls.RequestClientCert, []string{"ok      TLS", "certificate CN=server of CN=unknown for 127.0.0.1", "ok      data"}, "fix:", true},
		"expired API":           {client.API, expired, tls.RequestClientCert, []string{"failed  TLS", "; not valid at ", "ok      answer"}, "", false},
		"terminated TLS":        {client.API, plain, tls.NoClientCert, []string{"failed  TLS", "does not ask for a client certificate", "ok      answer"}, "", false},
		"API of another name":   {client.API, wildcard, tls.RequestClientCert, []string{"failed  TLS", "for *.apps.example, until ", "; not for 127.0.0.1", "ok      answer"}, "", false},
		"wildcard":              {client.Ingress, wildcard, tls.NoClientCert, []string{"warn    TLS", "; not for 127.0.0.1", "ok      answer", "ok      data"}, "", true},
		"ingress without names": {client.Ingress, unnamed, tls.NoClientCert, []string{"warn    TLS", "certificate CN=server", stops + "it contains no DNS name and no IP address"}, "answer", true},
		"API without names":     {client.API, unnamed, tls.RequestClientCert, []string{"failed  TLS", stops + "it contains no DNS name"}, "answer", false},
		"NodePort of a client":  {client.NodePort, ofClient, tls.NoClientCert, []string{"warn    TLS", stops, "incompatible key usage"}, "answer", true},
		"client certificates": {client.Ingress, plain, tls.RequireAnyClientCert, []string{
			"ok      TLS", "certificate CN=server", "failed  answer      no HTTP answer: tls: ",
		}, "", false},
	} {
		for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
			t.Run(name+", "+tls.VersionName(version), func(t *testing.T) {
				t.Parallel()
				address := api(t, as(issued(t, test.change), test.auth, version))
				text, passed := tested(t, client.Target{Kind: test.kind, Address: address}, 0)
				for _, found := range append(test.found, tls.VersionName(version)+", first message of 1") {
					assert.Contains(t, text, found)
				}
				if test.never != "" {
					assert.NotContains(t, text, test.never)
				}
				assert.Equal(t, test.passed, passed, text)
			})
		}
	}
}

// TestClientOfSeveralServers: behind a load balancer, each API server has its own certificate.
func TestClientOfSeveralServers(t *testing.T) {
	t.Parallel()
	var connections atomic.Int64
	servers := []tls.Certificate{issued(t, func(*x509.Certificate) {}), issued(t, func(*x509.Certificate) {}), issued(t, func(*x509.Certificate) {})}
	address := api(t, func(s *httptest.Server) {
		s.TLS.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) {
			next := servers[int(connections.Add(1))%len(servers)]
			return &tls.Config{Certificates: []tls.Certificate{next}, ClientAuth: tls.RequestClientCert, NextProtos: []string{"h2", "http/1.1"}}, nil
		}
	})
	text, passed := tested(t, client.Target{Kind: client.API, Address: address}, 2*time.Second)
	for _, want := range []string{"ok      TLS", "ok      answer", "ok      data", "ok      idle"} {
		assert.Contains(t, text, want)
	}
	assert.True(t, passed, text)
}
