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
	"io"
	"math/big"
	"net"
	"net/netip"
	"regexp"
	"strings"
	"sync"
	"time"

	"airgap.dev/airgap/internal/listen"
)

// Where nobody logs in on other hosts, people start the agents: on one host who waits for
// the others (Meet), on each other one an agent that goes there (Join). They know each
// other by a code that is typed once and good for one measurement: it gives both ends the
// same key, and TLS with a certificate of it lets nobody else in.

// codeForm is 20 characters of base32 in groups: 100 bits, to be read aloud.
var codeForm = regexp.MustCompile(`^[a-z2-7]{20}$`)

// NewCode is a fresh code: a secret until the measurement is over.
func NewCode() string {
	text := strings.ToLower(rand.Text())[:20]
	return strings.Join([]string{text[:5], text[5:10], text[10:15], text[15:]}, "-")
}

// ParseCode makes the token of a code. The error never repeats it.
func ParseCode(text string) (Token, error) {
	plain := strings.Join(strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return r == '-' || r == ' ' || r == '\n' || r == '\r' || r == '\t' }), "")
	if !codeForm.MatchString(plain) {
		return Token{}, errors.New("that is no code: expected 20 letters and digits, such as abcde-fghij-klmno-pqrst")
	}
	return sha256.Sum256([]byte("airgap netprobe " + plain)), nil
}

// serverName is in the certificate, which is nobody's but this measurement's.
const serverName = "netprobe"

// identity is the key and certificate of a token: the same on all of its hosts, whose
// clocks may be anything.
func (t Token) identity() (*tls.Config, error) {
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
		return nil, fmt.Errorf("make the measurement's certificate: %w", err)
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
	handshake = 10 * time.Second
	// perHost is how many connections of one host are open at a time; more are refused.
	perHost = 16
)

// Meet waits on the listener until all other hosts of the plan have come, or enough is
// closed, and gives their links. came is called for each, refused for who is not let in.
func Meet(ctx context.Context, plan *Plan, listener net.Listener, enough <-chan struct{}, came func(i int), refused func(error)) (map[int]Link, error) {
	config, err := plan.Token.identity()
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
	let := func(conn net.Conn) {
		i, c, err := admit(meeting, plan, config, conn)
		mu.Lock()
		defer mu.Unlock()
		if err != nil {
			conn.Close()
			refused(err)
			return
		}
		before, again := links[i]
		if again { // started again: the last one counts
			before.In.Close()
		}
		links[i] = Link{writeEnd{c}, c}
		came(i)
		if !again && len(links) == len(plan.Hosts)-1 {
			close(all)
		}
	}
	var door sync.WaitGroup
	door.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			door.Go(func() { let(conn) })
		}
	})
	select {
	case <-all:
	case <-enough:
	case <-ctx.Done():
		err = ctx.Err()
	}
	stop()
	door.Wait()
	return links, err
}

// admit lets a host of the plan in that has the code.
func admit(ctx context.Context, plan *Plan, config *tls.Config, conn net.Conn) (int, *tls.Conn, error) {
	from, err := netip.ParseAddrPort(conn.RemoteAddr().String())
	if err != nil {
		return 0, nil, err
	}
	i, known := plan.byAddress(from.Addr().Unmap())
	if !known || i == plan.Self {
		return 0, nil, fmt.Errorf("%s is none of the other hosts of airgap.yaml", from.Addr())
	}
	ctx, cancel := context.WithTimeout(ctx, handshake)
	defer cancel()
	c := tls.Server(conn, config)
	if err := c.HandshakeContext(ctx); err != nil {
		return 0, nil, fmt.Errorf("%s (%s) is not let in: its code is another one", plan.Hosts[i].Name, from.Addr())
	}
	return i, c, nil
}

// writeEnd ends what is written, so that the answer can still be read.
type writeEnd struct{ *tls.Conn }

func (w writeEnd) Close() error { return w.CloseWrite() }

// Join goes to the host that waits at address, HOST:PORT, and measures as it says.
func Join(ctx context.Context, address string, token Token) error {
	config, err := token.identity()
	if err != nil {
		return err
	}
	dialer := tls.Dialer{NetDialer: &net.Dialer{Timeout: handshake}, Config: config}
	conn, err := dialer.DialContext(ctx, "tcp4", address)
	if unknown := (&tls.CertificateVerificationError{}); errors.As(err, &unknown) {
		return fmt.Errorf("go to %s: another program answers there, or the code is another one", address)
	}
	if err != nil {
		return fmt.Errorf("go to %s: %w", address, err)
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	err = Serve(ctx, conn, conn)
	if errors.Is(err, io.EOF) || errors.Is(err, net.ErrClosed) {
		return fmt.Errorf("measure as %s says: it has hung up: is the code the one that it shows?", address)
	}
	return err
}
