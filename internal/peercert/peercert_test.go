package peercert

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"fmt"
	"io"
	"math/big"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// issue returns a certificate of the issuer, or a self-signed one if the issuer is nil.
func issue(t *testing.T, issuer *tls.Certificate, change func(*x509.Certificate)) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<60))
	require.NoError(t, err)
	form := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: "server"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	change(form)
	parent, signer := form, any(key)
	if issuer != nil {
		parent, signer = issuer.Leaf, issuer.PrivateKey
	}
	der, err := x509.CreateCertificate(rand.Reader, form, parent, key.Public(), signer)
	require.NoError(t, err)
	leaf, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}
}

func ca(c *x509.Certificate) {
	c.IsCA, c.BasicConstraintsValid, c.DNSNames = true, true, []string{"ca.example"}
	c.KeyUsage |= x509.KeyUsageCertSign
}

func named(names ...string) func(*x509.Certificate) {
	return func(c *x509.Certificate) { c.DNSNames = names }
}

// served returns a client of a server that presents the certificates in turn. The client makes a
// handshake and exchanges one byte.
func served(t *testing.T, version uint16, certificates ...tls.Certificate) func(*tls.Config) error {
	t.Helper()
	var connections atomic.Int64
	listener, err := tls.Listen("tcp4", "127.0.0.1:0", &tls.Config{MaxVersion: version, GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
		return &certificates[int(connections.Add(1)-1)%len(certificates)], nil
	}})
	require.NoError(t, err)
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				_, _ = io.CopyN(conn, conn, 1)
			}()
		}
	}()
	return func(config *tls.Config) error {
		conn, err := tls.Dial("tcp4", listener.Addr().String(), config)
		if err != nil {
			return err
		}
		defer conn.Close()
		if _, err := conn.Write([]byte("x")); err != nil {
			return err
		}
		_, err = io.ReadFull(conn, make([]byte, 1))
		return err
	}
}

// TestConnect: a first handshake shows the certificate, and the second one accepts it. A certificate
// that crypto/x509 cannot accept has an error that names the reason.
func TestConnect(t *testing.T) {
	unknown := issue(t, nil, ca)
	for name, tc := range map[string]struct {
		issuer *tls.Certificate
		change func(*x509.Certificate)
		host   string
		says   string // "" if the certificate can be pinned
	}{
		"self-signed":   {nil, named("cp1"), "cp1", ""},
		"a CA":          {nil, ca, "127.0.0.1", ""},
		"unknown CA":    {&unknown, named("cp1"), "cp1", ""},
		"another name":  {&unknown, named("cp1"), "127.0.0.1", ""},
		"wildcard":      {&unknown, named("*.apps.example"), "127.0.0.1", ""},
		"IP SAN only":   {&unknown, func(c *x509.Certificate) { c.IPAddresses = []net.IP{net.IPv4(10, 0, 0, 1)} }, "cp1", ""},
		"IPv6 SAN only": {&unknown, func(c *x509.Certificate) { c.IPAddresses = []net.IP{net.ParseIP("fd00::1")} }, "10.0.0.1", ""},
		"expired":       {&unknown, func(c *x509.Certificate) { c.DNSNames, c.NotAfter = []string{"cp1"}, time.Now().Add(-time.Minute) }, "cp1", ""},
		"not valid yet": {&unknown, func(c *x509.Certificate) { c.DNSNames, c.NotBefore = []string{"cp1"}, time.Now().Add(time.Minute) }, "cp1", ""},
		"without usage": {&unknown, func(c *x509.Certificate) { c.DNSNames, c.ExtKeyUsage = []string{"cp1"}, nil }, "cp1", ""},

		"without names": {&unknown, named(), "cp1", "it contains no DNS name and no IP address"},
		"of a client": {&unknown, func(c *x509.Certificate) {
			c.DNSNames, c.ExtKeyUsage = []string{"cp1"}, []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
		}, "cp1", "incompatible key usage"},
		"critical extension": {&unknown, func(c *x509.Certificate) {
			c.DNSNames = []string{"cp1"}
			c.ExtraExtensions = []pkix.Extension{{Id: asn1.ObjectIdentifier{1, 2, 3, 4}, Critical: true, Value: []byte{5, 0}}}
		}, "cp1", "unhandled critical extension"},
	} {
		for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
			t.Run(name+", "+tls.VersionName(version), func(t *testing.T) {
				certificate := issue(t, tc.issuer, tc.change)
				connect, attempts := served(t, version, certificate), []error{}
				err := New(tc.host).Connect(func(config *tls.Config) error {
					attempts = append(attempts, connect(config))
					return attempts[len(attempts)-1]
				})
				presented := Presented(attempts[0])
				require.Len(t, presented, 1)
				assert.True(t, presented[0].Equal(certificate.Leaf))
				if tc.says == "" {
					require.NoError(t, err)
					assert.Len(t, attempts, 2)
					return
				}
				require.ErrorAs(t, err, new(*PinError))
				assert.ErrorContains(t, err, tc.says)
				assert.Len(t, attempts, 1, "no handshake follows")
			})
		}
	}
}

// TestOthersAreRefused: a pinned configuration accepts no other certificate, not even one that the
// pinned certificate signed.
func TestOthersAreRefused(t *testing.T) {
	pinned := issue(t, nil, ca)
	pins := New("127.0.0.1")
	require.NoError(t, pins.Add(pinned.Leaf))
	require.NoError(t, served(t, tls.VersionTLS13, pinned)(pins.Config()))
	for name, other := range map[string]tls.Certificate{
		"of the same name":    issue(t, nil, ca),
		"of the pinned CA":    issue(t, &pinned, named("ca.example")),
		"with the chain":      {Certificate: [][]byte{issue(t, &pinned, named("ca.example")).Certificate[0], pinned.Certificate[0]}},
		"of an expired owner": issue(t, nil, func(c *x509.Certificate) { ca(c); c.NotAfter = time.Now().Add(-time.Minute) }),
	} {
		t.Run(name, func(t *testing.T) {
			if other.PrivateKey == nil { // the key does not matter: the certificate is refused before
				other.PrivateKey = pinned.PrivateKey
			}
			for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
				presented := Presented(served(t, version, other)(pins.Config()))
				require.NotEmpty(t, presented, tls.VersionName(version))
				assert.False(t, presented[0].Equal(pinned.Leaf))
			}
		})
	}
}

// TestServersBehindOneAddress: each server behind a load balancer can have its own certificate.
func TestServersBehindOneAddress(t *testing.T) {
	several := func(number int, change func(i int, c *x509.Certificate)) (all []tls.Certificate) {
		for i := range number {
			all = append(all, issue(t, nil, func(c *x509.Certificate) { change(i, c) }))
		}
		return all
	}
	for name, tc := range map[string]struct {
		certificates []tls.Certificate
		says         string
	}{
		"API servers": {several(3, func(i int, c *x509.Certificate) {
			c.DNSNames, c.NotBefore = []string{fmt.Sprintf("cp%d", i), "kubernetes"}, c.NotBefore.Add(time.Duration(i)*time.Minute)
		}), ""},
		"no common name": {several(2, func(i int, c *x509.Certificate) { c.DNSNames = []string{fmt.Sprintf("cp%d", i)} }), "different certificates without a common name"},
		"no common time": {several(2, func(i int, c *x509.Certificate) {
			c.DNSNames, c.NotBefore = []string{"kubernetes"}, c.NotBefore.Add(time.Duration(i)*3*time.Hour)
			c.NotAfter = c.NotBefore.Add(time.Hour)
		}), "different certificates without a common name"},
		"a new one each time": {several(maxLeaves+1, func(_ int, c *x509.Certificate) { c.DNSNames = []string{"kubernetes"} }), "more than 16 certificates"},
	} {
		t.Run(name, func(t *testing.T) {
			pins, connect := New("127.0.0.1"), served(t, tls.VersionTLS13, tc.certificates...)
			err := pins.Connect(connect)
			if tc.says != "" {
				require.ErrorAs(t, err, new(*PinError))
				assert.ErrorContains(t, err, tc.says)
				return
			}
			require.NoError(t, err)
			for range tc.certificates {
				require.NoError(t, connect(pins.Config()))
			}
		})
	}
}

// TestServerName: the second handshake keeps the server name of the first one if the certificate has
// it, because a server can choose its certificate by the name.
func TestServerName(t *testing.T) {
	both := func(c *x509.Certificate) {
		c.DNSNames, c.IPAddresses = []string{"a.example", "b.example"}, []net.IP{net.IPv4(10, 0, 0, 1)}
	}
	for host, want := range map[string]string{"b.example": "b.example", "c.example": "a.example", "10.0.0.1": "10.0.0.1", "10.0.0.2": "10.0.0.1"} {
		pins := New(host)
		assert.Equal(t, host, pins.Config().ServerName)
		require.NoError(t, pins.Add(issue(t, nil, both).Leaf))
		assert.Equal(t, want, pins.Config().ServerName)
	}
}

// TestPresented: only an error about certificates has them.
func TestPresented(t *testing.T) {
	assert.Nil(t, Presented(nil))
	assert.Nil(t, Presented(io.EOF))
	leaf := &x509.Certificate{}
	assert.Equal(t, []*x509.Certificate{leaf}, Presented(fmt.Errorf("connect: %w", &tls.CertificateVerificationError{UnverifiedCertificates: []*x509.Certificate{leaf}, Err: io.EOF})))
}
