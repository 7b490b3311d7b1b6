package proxytest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"io"
	"log"
	"math/big"
	"net"
	"sync"
	"time"
)

// Issuer is the name of the CA of a proxy that decrypts TLS.
const Issuer = "Bank inspection"

// authority signs certificates for the servers behind the proxy.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	pem         []byte

	mu     sync.Mutex
	leaves map[string]*tls.Certificate
}

func newAuthority() (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	about := template(Issuer)
	about.IsCA, about.BasicConstraintsValid, about.KeyUsage = true, true, x509.KeyUsageCertSign
	der, err := x509.CreateCertificate(rand.Reader, about, about, &key.PublicKey, key)
	if err != nil {
		return nil, err
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	return &authority{certificate: parsed, key: key, pem: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), leaves: map[string]*tls.Certificate{}}, nil
}

func template(name string) *x509.Certificate {
	return &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour), KeyUsage: x509.KeyUsageDigitalSignature,
	}
}

// leaf returns a certificate for a host or an address.
func (a *authority) leaf(host string) (*tls.Certificate, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if made := a.leaves[host]; made != nil {
		return made, nil
	}
	about := template(host)
	about.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	if ip := net.ParseIP(host); ip != nil {
		about.IPAddresses = []net.IP{ip}
	} else {
		about.DNSNames = []string{host}
	}
	der, err := x509.CreateCertificate(rand.Reader, about, a.certificate, &a.key.PublicKey, a.key)
	if err != nil {
		return nil, err
	}
	a.leaves[host] = &tls.Certificate{Certificate: [][]byte{der, a.certificate.Raw}, PrivateKey: a.key}
	return a.leaves[host], nil
}

func basic(user string) string { return "Basic " + base64.StdEncoding.EncodeToString([]byte(user)) }

func quiet() *log.Logger { return log.New(io.Discard, "", 0) }

// oneConn is a listener for one connection. It ends when the connection is closed.
type oneConn struct {
	conn   chan net.Conn
	addr   net.Addr
	closed chan struct{}
}

func newOneConn(c net.Conn) *oneConn {
	l := &oneConn{conn: make(chan net.Conn, 1), addr: c.LocalAddr(), closed: make(chan struct{})}
	l.conn <- &closeNotifier{Conn: c, closed: l.closed}
	return l
}

func (l *oneConn) Accept() (net.Conn, error) {
	select {
	case c := <-l.conn:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *oneConn) Addr() net.Addr { return l.addr }
func (l *oneConn) Close() error   { return nil }

type closeNotifier struct {
	net.Conn

	once   sync.Once
	closed chan struct{}
}

func (c *closeNotifier) Close() error {
	err := c.Conn.Close()
	c.once.Do(func() { close(c.closed) })
	return err
}

// flipped changes the last byte of a body.
type flipped struct {
	from io.Reader
	kept []byte
	err  error
}

func (f *flipped) Read(p []byte) (int, error) {
	for f.err == nil && len(f.kept) < 2 {
		buf := make([]byte, 32<<10)
		n, err := f.from.Read(buf)
		f.kept = append(f.kept, buf[:n]...)
		if f.err = err; err == io.EOF && len(f.kept) > 0 {
			f.kept[len(f.kept)-1] ^= 1
		}
	}
	n := len(f.kept)
	if f.err == nil {
		n-- // the last byte may be the last one of the body
	}
	if n <= 0 {
		return 0, f.err
	}
	n = copy(p, f.kept[:n])
	f.kept = f.kept[n:]
	return n, nil
}
