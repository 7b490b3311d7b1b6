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

// VIP is what a host found behind the address of the load balancer.
type VIP struct {
	// Hits is how often each control-plane host answered, by its number.
	Hits map[int]int `json:"hits,omitempty"`
	// Failures is how often nobody of the plan answered, by what happened; before the
	// first answer only the last one counts.
	Failures map[Result]int `json:"failures,omitempty"`
	Said     string         `json:"said,omitempty"` // of the last failure
	Idle     *Idle          `json:"idle,omitempty"` // nil when it was not tried
	// Own says that this control-plane host has the address itself, and answered there.
	Own bool `json:"own,omitempty"`
}

// Idle is what became of a connection through the balancer on which nothing was said.
type Idle struct {
	For    Seconds `json:"for"`
	Result Result  `json:"result"` // Answered: it was kept
	// Ended says that the other end closed it; else it was forgotten in silence.
	Ended bool `json:"ended,omitempty"`
}

// Foreign is another certificate than the hosts': the balancer ends TLS itself, or is
// another service's.
const Foreign Result = "another certificate"

const (
	vipEvery   = 200 * time.Millisecond // on average
	recordType = 0x16                   // TLS handshake, the first byte a client sends
)

// peeked is a connection of which something has been read already.
type peeked struct {
	net.Conn
	r *bufio.Reader
}

func (p peeked) Read(b []byte) (int, error) { return p.r.Read(b) }

// answerVIP says through TLS which host this is.
func (a *agent) answerVIP(ctx context.Context, conn net.Conn, port int) {
	config, err := a.plan.Token.identity()
	if err != nil {
		return
	}
	c := tls.Server(conn, config)
	if err := c.HandshakeContext(ctx); err != nil {
		return
	}
	said := message{kind: TCP, reply: true, from: a.plan.Self, port: port, clock: time.Now()}.encode(a.plan.Token)
	if _, err := c.Write(said); err != nil {
		return
	}
	// Who wants to know how long the balancer keeps a connection says something later.
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	_ = conn.SetDeadline(time.Now().Add(a.plan.Idle.Duration() + 2*replyTimeout))
	if _, err := io.ReadFull(c, make([]byte, messageSize)); err == nil {
		_, _ = c.Write(said)
	}
}

// listenVIP answers on the balancer's address where this host has it itself: an API server
// listens on all addresses. Where another program is bound to it, that one is the balancer.
func (a *agent) listenVIP(ctx context.Context) {
	host, _, err := net.SplitHostPort(a.plan.VIP)
	if err != nil || !a.plan.self().ControlPlane {
		return
	}
	asked, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	addresses, _ := net.DefaultResolver.LookupNetIP(asked, "ip4", host) // a name that is unknown shows when it is dialled
	for _, address := range addresses {
		if _, _, err := ownInterface(Host{Address: address.Unmap()}); err == nil {
			a.ownVIP = a.listenAt(ctx, address.Unmap(), apiServer) == nil
		}
	}
}

// tryVIP dials the balancer until each control-plane host has answered twice, or time is
// over.
func (a *agent) tryVIP(ctx context.Context) {
	if a.plan.VIP == "" {
		return
	}
	config, err := a.plan.Token.identity()
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
				last = time.Now().Add(a.plan.Patience.Duration() / 3) // for the others to answer
			}
			v.Hits[from]++
		case len(v.Hits) == 0: // health checks may not have been there yet
			clear(v.Failures)
			fallthrough
		default:
			v.Failures[result]++
			v.Said = said
		}
		if result == Foreign { // that does not change by waiting
			break
		}
		// In step with a balancer that gives turns, a host would be sent to the same one forever.
		time.Sleep(vipEvery/2 + rand.N(vipEvery)) //nolint:gosec // no secret
	}
	if len(v.Hits) > 0 && a.plan.Idle > 0 {
		v.Idle = a.tryIdle(ctx, config)
	}
	a.report.mu.Lock()
	defer a.report.mu.Unlock()
	a.report.VIP = v
}

// allHit tells whether every control-plane host has answered twice; who has the address
// itself comes to no other one.
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

// dialVIP makes a connection for the time of an answer.
func (a *agent) dialVIP(ctx context.Context, config *tls.Config) (from int, result Result, said string) {
	conn, from, result, said := a.greetVIP(ctx, config)
	if conn != nil {
		conn.Close()
	}
	return from, result, said
}

// greetVIP makes a connection and reads which host it leads to. There is one only when the
// result is Answered.
func (a *agent) greetVIP(ctx context.Context, config *tls.Config) (conn net.Conn, from int, result Result, said string) {
	dialer := tls.Dialer{NetDialer: &net.Dialer{Timeout: dialTimeout}, Config: config}
	ctx, cancel := context.WithTimeout(ctx, dialTimeout+replyTimeout)
	defer cancel()
	conn, err := dialer.DialContext(ctx, "tcp4", a.plan.VIP)
	if foreign := (&tls.CertificateVerificationError{}); errors.As(err, &foreign) {
		return nil, 0, Foreign, owner(foreign.UnverifiedCertificates)
	}
	if err != nil {
		return nil, 0, failed(err), reason(err)
	}
	_ = conn.SetDeadline(time.Now().Add(replyTimeout))
	buf := make([]byte, messageSize)
	if _, err := io.ReadFull(conn, buf); err != nil {
		conn.Close()
		return nil, 0, Silence, reason(err)
	}
	m, err := a.plan.Token.decode(buf)
	if err != nil || !m.reply || m.from >= len(a.plan.Hosts) {
		conn.Close()
		return nil, 0, Stranger, ""
	}
	return conn, m.from, Answered, ""
}

// tryIdle says nothing for as long as the plan has it, and then wants an answer. TCP's
// keep-alives go on meanwhile, as those of Kubernetes' clients do. nil when there was no
// connection, or the measurement ended.
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

// owner is who a certificate says to be.
func owner(certificates []*x509.Certificate) string {
	if len(certificates) == 0 {
		return ""
	}
	return certificates[0].Subject.String()
}
