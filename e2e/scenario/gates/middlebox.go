package gates

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"airgap.dev/airgap/e2e/scenario"
)

// mirror is the name under which the connected host reaches the lab's upstream through the
// middlebox. It does not resolve: without the proxy, no request can pass.
const mirror = "mirror.bank.example"

// middlebox is a proxy that inspects TLS, with its own authority.
type middlebox struct {
	*httptest.Server

	ca      string // file with its certificate
	issuer  *x509.Certificate
	key     *ecdsa.PrivateKey
	connect func(w http.ResponseWriter, r *http.Request) bool // answers a CONNECT request itself
	content func(w http.ResponseWriter, r *http.Request) bool // answers a request inside of TLS itself
	behind  http.Handler
}

func newMiddlebox(s *stage) (*middlebox, error) {
	upstream, err := url.Parse(s.Upstream.URL)
	if err != nil {
		return nil, err
	}
	m := &middlebox{ca: filepath.Join(s.dir, "inspection-ca.pem")}
	if err := m.makeAuthority(); err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	text, err := os.ReadFile(s.Upstream.CA)
	if err != nil || !roots.AppendCertsFromPEM(text) {
		return nil, errors.Join(err, errors.New("read the upstream's CA"))
	}
	forward := &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(upstream) },
		Transport:     &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}, DisableCompression: true},
		FlushInterval: -1,
	}
	m.behind = forward
	m.Server = httptest.NewServer(http.HandlerFunc(m.serve))
	return m, nil
}

// makeAuthority makes the certificate with which the middlebox signs for every host.
func (m *middlebox) makeAuthority() error {
	var err error
	if m.key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		return err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "Bank Inspection CA"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &m.key.PublicKey, m.key)
	if err != nil {
		return err
	}
	if m.issuer, err = x509.ParseCertificate(der); err != nil {
		return err
	}
	return os.WriteFile(m.ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o644)
}

// certificate signs for the host that the client asks for.
func (m *middlebox) certificate(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: hello.ServerName}, DNSNames: []string{hello.ServerName},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour), KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, m.issuer, &m.key.PublicKey, m.key)
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: m.key}, err
}

func (m *middlebox) serve(w http.ResponseWriter, r *http.Request) {
	if m.connect != nil && m.connect(w, r) {
		return
	}
	if r.Method != http.MethodConnect {
		http.Error(w, "only CONNECT", http.StatusMethodNotAllowed)
		return
	}
	conn, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	_, _ = conn.Write([]byte("HTTP/1.1 200 Connection established\r\n\r\n"))
	inside := tls.Server(&readFirst{conn, buffered.Reader}, &tls.Config{GetCertificate: m.certificate, MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}})
	once := &oneConnection{conn: inside, closed: make(chan struct{})}
	server := &http.Server{Handler: http.HandlerFunc(m.inspect), ReadHeaderTimeout: time.Minute, ConnState: func(_ net.Conn, state http.ConnState) {
		if state == http.StateClosed || state == http.StateHijacked {
			once.end()
		}
	}}
	_ = server.Serve(once) // it ends with the connection
}

func (m *middlebox) inspect(w http.ResponseWriter, r *http.Request) {
	if m.content == nil || !m.content(w, r) {
		m.behind.ServeHTTP(w, r)
	}
}

// readFirst reads the bytes that the HTTP server has read too early.
type readFirst struct {
	net.Conn
	first *bufio.Reader
}

func (c *readFirst) Read(p []byte) (int, error) { return c.first.Read(p) }

// oneConnection is a listener with one connection.
type oneConnection struct {
	conn   net.Conn
	taken  bool
	closed chan struct{}
}

func (l *oneConnection) Accept() (net.Conn, error) {
	if !l.taken {
		l.taken = true
		return l.conn, nil
	}
	<-l.closed
	return nil, net.ErrClosed
}

func (l *oneConnection) end() {
	select {
	case <-l.closed:
	default:
		close(l.closed)
	}
}

func (l *oneConnection) Close() error   { return nil }
func (l *oneConnection) Addr() net.Addr { return l.conn.LocalAddr() }

// build makes a bundle through the middlebox. env are additional variables.
func (m *middlebox) build(s *stage, ca string, env ...string) (scenario.Result, error) {
	config, err := s.Config("gates.yaml", s.Upstream.CA, ca, s.Upstream.URL[len("https://"):], mirror)
	if err != nil {
		return scenario.Result{}, err
	}
	args := append([]string{"env", "-u", "NO_PROXY", "-u", "no_proxy", "HTTPS_PROXY=" + m.URL}, env...)
	return s.command(append(args, s.Program, "bundle", "-f", config, "-o", filepath.Join(s.dir, "out"))...)
}
