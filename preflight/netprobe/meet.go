package netprobe

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"math/big"
	"net"
	"net/netip"
	"regexp"
	"strings"
	"sync"
	"time"

	"airgap.dev/airgap/internal/listen"
)

// Without SSH the user starts the agents: one host waits for the others (Meet), and an agent on each
// other host connects to it. A one-time code authenticates them: both ends derive the same
// key from it, and accept only TLS connections with a certificate of that key.

// codeForm matches a code without hyphens: 20 characters of base32, 100 bits.
var codeForm = regexp.MustCompile(`^[a-z2-7]{20}$`)

// NewCode returns a random code, which is secret until the end of the measurement.
func NewCode() string {
	text := strings.ToLower(rand.Text())[:20]
	return strings.Join([]string{text[:5], text[5:10], text[10:15], text[15:]}, "-")
}

// ParseCode returns the token of a code. The error does not contain the code.
func ParseCode(text string) (Token, error) {
	plain := strings.Join(strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return r == '-' || r == ' ' || r == '\n' || r == '\r' || r == '\t' }), "")
	if !codeForm.MatchString(plain) {
		return Token{}, errors.New("invalid code: expected 20 letters and digits, such as abcde-fghij-klmno-pqrst")
	}
	return sha256.Sum256([]byte("airgap netprobe " + plain)), nil
}

// serverName is the name in the certificate of the measurement.
const serverName = "netprobe"

// Identity returns the TLS configuration of a token, with the same key on all hosts. The
// certificate is valid for any clock.
func (t Token) Identity() (*tls.Config, error) {
	seed := sha256.Sum256(append([]byte("identity"), t[:]...))
	key := ed25519.NewKeyFromSeed(seed[:])
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: serverName}, DNSNames: []string{serverName},
		NotBefore: time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC), NotAfter: time.Date(2200, 1, 1, 0, 0, 0, 0, time.UTC),
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, BasicConstraintsValid: true, IsCA: true,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("create the certificate of the measurement: %w", err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	pool.AddCert(certificate)
	return &tls.Config{
		Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}, MinVersion: tls.VersionTLS13,
		RootCAs: pool, ServerName: serverName, ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert,
	}, nil
}

const (
	HandshakeTimeout = 10 * time.Second
	// perHost is the largest number of open connections from one host.
	perHost = 16
)

// Meet waits on the listener until all other hosts of the plan are connected, or enough is closed,
// and returns their links. It calls joined for each host, and refused for each rejected connection.
func Meet(ctx context.Context, plan *Plan, listener net.Listener, enough <-chan struct{}, joined func(i int), refused func(error)) (map[int]Link, error) {
	config, err := plan.Token.Identity()
	if err != nil {
		return nil, err
	}
	links := map[int]Link{}
	var mu sync.Mutex
	all := make(chan struct{})
	meeting, stop := context.WithCancel(ctx)
	defer stop()
	defer context.AfterFunc(meeting, func() { listener.Close() })()
	listener = listen.PerAddress(listener, perHost, nil)
	handle := func(conn net.Conn) {
		i, c, err := admit(meeting, plan, config, conn)
		mu.Lock()
		defer mu.Unlock()
		if err != nil {
			conn.Close()
			refused(err)
			return
		}
		before, again := links[i]
		if again { // the agent was started again: the last one counts
			before.In.Close()
		}
		links[i] = Link{writeEnd{c}, c}
		joined(i)
		if !again && len(links) == len(plan.Hosts)-1 {
			close(all)
		}
	}
	var handlers sync.WaitGroup
	handlers.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			handlers.Go(func() { handle(conn) })
		}
	})
	select {
	case <-all:
	case <-enough:
	case <-ctx.Done():
		err = ctx.Err()
	}
	stop()
	handlers.Wait()
	return links, err
}

// admit accepts a connection from a host of the plan with the right code.
func admit(ctx context.Context, plan *Plan, config *tls.Config, conn net.Conn) (int, *tls.Conn, error) {
	from, err := netip.ParseAddrPort(conn.RemoteAddr().String())
	if err != nil {
		return 0, nil, err
	}
	i, known := plan.ByAddress(from.Addr().Unmap())
	if !known || i == plan.Self {
		return 0, nil, fmt.Errorf("reject connection from %s: not the address of another host in airgap.yaml", from.Addr())
	}
	ctx, cancel := context.WithTimeout(ctx, HandshakeTimeout)
	defer cancel()
	c := tls.Server(conn, config)
	if err := c.HandshakeContext(ctx); err != nil {
		return 0, nil, fmt.Errorf("reject connection from %s (%s): it has another code", plan.Hosts[i].Name, from.Addr())
	}
	return i, c, nil
}

// writeEnd closes only the write side, so that the reply can still be read.
type writeEnd struct{ *tls.Conn }

func (w writeEnd) Close() error { return w.CloseWrite() }
