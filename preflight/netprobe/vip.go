package netprobe

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"time"
)

// VIP is the result of a host's test of the load balancer.
type VIP struct {
	// Hits counts the answers of each control-plane host, by its number.
	Hits map[int]int `json:"hits,omitempty"`
	// Failures counts the connections without an answer of a host, by result. Before the first
	// answer only the last failure counts.
	Failures map[Result]int `json:"failures,omitempty"`
	Said     string         `json:"said,omitempty"` // details of the last failure
	Idle     *Idle          `json:"idle,omitempty"` // nil without a test
	// Own is true if this control-plane host has the address, and answered there.
	Own bool `json:"own,omitempty"`
}

// Idle is the result of the test with an idle connection through the load balancer.
type Idle struct {
	For    Seconds `json:"for"`
	Result Result  `json:"result"` // Answered if the load balancer kept it
	// Ended is true if the other end closed it; otherwise it was dropped silently.
	Ended bool `json:"ended,omitempty"`
}

// OtherCertificate is the result for a certificate of another service: the load balancer terminates
// TLS, or the address belongs to another service.
const OtherCertificate Result = "other certificate"

const (
	vipEvery   = 200 * time.Millisecond // on average
	recordType = 0x16                   // TLS handshake: the first byte from a client
)

// peeked is a connection with buffered input.
type peeked struct {
	net.Conn
	r *bufio.Reader
}

func (p peeked) Read(b []byte) (int, error) { return p.r.Read(b) }

// answerVIP sends the number of this host over TLS.
func (a *agent) answerVIP(ctx context.Context, conn net.Conn, port int) {
	config, err := a.identity()
	if err != nil {
		return
	}
	_ = conn.SetDeadline(time.Now().Add(answerTimeout))
	c := tls.Server(conn, config)
	if err := c.HandshakeContext(ctx); err != nil {
		return
	}
	said := message{kind: TCP, reply: true, from: a.plan.Self, port: port, clock: time.Now()}.encode(a.plan.Token)
	if _, err := c.Write(said); err != nil {
		return
	}
	// A host sends another message at once, and the test of idle connections sends it later.
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	_ = conn.SetDeadline(time.Now().Add(a.plan.Idle.Duration() + 2*replyTimeout))
	second := make([]byte, messageSize)
	if _, err := io.ReadFull(c, second); err != nil {
		return
	}
	if m, err := a.plan.Token.decode(second); err == nil && m.kind == TLS {
		a.answerTLS(c, conn, m, port)
		return
	}
	_, _ = c.Write(said)
}

// listenVIP answers on the load balancer's address if this host has it, because an API server
// listens on all addresses. A program that already listens there is the load balancer.
func (a *agent) listenVIP(ctx context.Context) {
	host, _, err := net.SplitHostPort(a.plan.VIP)
	if err != nil || !a.plan.self().ControlPlane {
		return
	}
	asked, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	addresses, _ := net.DefaultResolver.LookupNetIP(asked, "ip4", host) // the connection reports an unknown name
	for _, address := range addresses {
		if _, _, err := ownInterface(Host{Address: address.Unmap()}); err == nil {
			a.ownVIP = a.listenAt(ctx, address.Unmap(), apiServer) == nil
		}
	}
}

// tryVIP connects to the load balancer until each control-plane host has answered twice, or until
// the time limit.
func (a *agent) tryVIP(ctx context.Context) {
	if a.plan.VIP == "" {
		return
	}
	config, err := a.identity()
	if err != nil {
		return
	}
	v := &VIP{Hits: map[int]int{}, Failures: map[Result]int{}, Own: a.ownVIP}
	last := time.Now().Add(a.plan.Patience.Duration())
	for time.Now().Before(last) && ctx.Err() == nil && !a.allHit(v) {
		from, result, said := a.dialVIP(ctx, config)
		switch {
		case result == Answered:
			if len(v.Hits) == 0 {
				clear(v.Failures)
				last = time.Now().Add(a.plan.Patience.Duration() / 3) // for answers of the other hosts
			}
			v.Hits[from]++
		case len(v.Hits) == 0: // the health checks have possibly not run yet
			clear(v.Failures)
			fallthrough
		default:
			v.Failures[result]++
			v.Said = said
		}
		if result == OtherCertificate { // waiting does not change it
			break
		}
		// Without a random delay, a round-robin load balancer could always select the same host.
		time.Sleep(vipEvery/2 + rand.N(vipEvery)) //nolint:gosec // no secret
	}
	if len(v.Hits) > 0 && a.plan.Idle > 0 {
		v.Idle = a.tryIdle(ctx, config)
	}
	a.report.mu.Lock()
	defer a.report.mu.Unlock()
	a.report.VIP = v
}

// allHit reports whether every control-plane host has answered twice. A host with the address
// reaches only itself.
func (a *agent) allHit(v *VIP) bool {
	if a.ownVIP {
		return v.Hits[a.plan.Self] >= 2
	}
	for i, h := range a.plan.Hosts {
		if h.ControlPlane && v.Hits[i] < 2 {
			return false
		}
	}
	return true
}

// dialVIP connects and reads one answer.
func (a *agent) dialVIP(ctx context.Context, config *tls.Config) (from int, result Result, said string) {
	conn, from, result, said := a.greetVIP(ctx, config)
	if conn != nil {
		conn.Close()
	}
	return from, result, said
}

// greetVIP connects and reads the number of the host. conn is nil unless the result is Answered.
func (a *agent) greetVIP(ctx context.Context, config *tls.Config) (conn net.Conn, from int, result Result, said string) {
	dialer := tls.Dialer{NetDialer: &net.Dialer{Timeout: dialTimeout}, Config: config}
	ctx, cancel := context.WithTimeout(ctx, dialTimeout+replyTimeout)
	defer cancel()
	conn, err := dialer.DialContext(ctx, "tcp4", a.plan.VIP)
	if other := (&tls.CertificateVerificationError{}); errors.As(err, &other) {
		return nil, 0, OtherCertificate, subject(other.UnverifiedCertificates)
	}
	if err != nil {
		return nil, 0, failed(err), reason(err)
	}
	_ = conn.SetDeadline(time.Now().Add(replyTimeout))
	buf := make([]byte, messageSize)
	if _, err := io.ReadFull(conn, buf); err != nil {
		conn.Close()
		return nil, 0, NoReply, reason(err)
	}
	m, err := a.plan.Token.decode(buf)
	if err != nil || !m.reply || m.from >= len(a.plan.Hosts) {
		conn.Close()
		return nil, 0, OtherProgram, ""
	}
	return conn, m.from, Answered, ""
}

// tryIdle keeps a connection idle for the time in the plan, and then expects an answer. TCP
// keep-alives continue, as in Kubernetes clients. It returns nil without a connection, or if the
// measurement ends.
func (a *agent) tryIdle(ctx context.Context, config *tls.Config) *Idle {
	conn, _, result, _ := a.greetVIP(ctx, config)
	if result != Answered {
		return nil
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	began := time.Now()
	_ = conn.SetDeadline(began.Add(a.plan.Idle.Duration()))
	buf := make([]byte, messageSize)
	_, err := conn.Read(buf)
	idle := &Idle{For: Seconds(time.Since(began).Round(time.Second) / time.Second), Result: Answered}
	switch {
	case ctx.Err() != nil:
		return nil
	case !errors.Is(err, os.ErrDeadlineExceeded):
		idle.Result, idle.Ended = failed(err), true
		return idle
	}
	_ = conn.SetDeadline(time.Now().Add(replyTimeout))
	_, errAsk := conn.Write(message{kind: TCP, from: a.plan.Self, clock: time.Now()}.encode(a.plan.Token))
	_, errAnswer := io.ReadFull(conn, buf)
	if err := errors.Join(errAsk, errAnswer); err != nil {
		idle.Result = failed(err)
	}
	return idle
}

// subject is the subject of the first certificate.
func subject(certificates []*x509.Certificate) string {
	if len(certificates) == 0 {
		return ""
	}
	return certificates[0].Subject.String()
}
