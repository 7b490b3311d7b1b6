package lab

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net/netip"
	"os"
	"path/filepath"
	"time"
)

// Balance runs a TCP load balancer (haproxy) outside of the servers. It has the address
// vip and distributes the connections to port over the servers that accept connections.
// It ends with stop, or with this process.
func (l *Lab) Balance(ctx context.Context, vip netip.Addr, port int, servers ...Machine) (stop func() error, err error) {
	return l.balance(ctx, vip, port, servers, "", "")
}

// BalanceTLS runs a load balancer with a wrong setup: it terminates TLS with its own
// certificate, and opens new TLS connections to the servers.
func (l *Lab) BalanceTLS(ctx context.Context, vip netip.Addr, port int, servers ...Machine) (stop func() error, err error) {
	file := filepath.Join(runDir(l.cache, l.run), "haproxy.pem")
	if err := WriteCertificate(file, "balancer.bank.example"); err != nil {
		return nil, fmt.Errorf("run a load balancer: %w", err)
	}
	return l.balance(ctx, vip, port, servers, " ssl crt "+file, " ssl verify none")
}

func (l *Lab) balance(ctx context.Context, vip netip.Addr, port int, servers []Machine, bind, server string) (stop func() error, err error) {
	config := filepath.Join(runDir(l.cache, l.run), "haproxy.cfg")
	if err := os.WriteFile(config, balancerConfig(vip, port, servers, bind, server), 0o644); err != nil {
		return nil, fmt.Errorf("run a load balancer: %w", err)
	}
	return l.Beside(ctx, "a load balancer", netip.AddrPortFrom(vip, uint16(port)), "haproxy", "-db", "-f", config)
}

// WriteCertificate writes a key and a self-signed certificate to one file, in the form
// that haproxy reads.
func WriteCertificate(file, name string) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
	}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	text := append(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})...)
	return os.WriteFile(file, text, 0o600)
}

// balancerConfig keeps connections open that a server has lost, as a site's balancer
// may do: the clients must notice it.
func balancerConfig(vip netip.Addr, port int, servers []Machine, bind, server string) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, `global
  maxconn 4096
defaults
  mode tcp
  timeout connect 2s
  timeout client %[1]s
  timeout server %[1]s
frontend api
  bind %[2]s:%[3]d%[4]s
  default_backend api
backend api
  balance roundrobin
  default-server check inter 1s fall 2 rise 2
`, "15m", vip, port, bind)
	for _, m := range servers {
		fmt.Fprintf(&b, "  server %s %s:%d%s\n", m.Name(), m.Addr(), port, server)
	}
	return b.Bytes()
}
