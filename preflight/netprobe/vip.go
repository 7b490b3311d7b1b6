package netprobe

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
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
}

// Foreign is another certificate than the hosts': the balancer ends TLS itself, or is
// another service's.
const Foreign Result = "another certificate"

const (
	vipEvery   = 200 * time.Millisecond
	recordType = 0x16 // TLS handshake, the first byte a client sends
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
	_, _ = c.Write(message{kind: TCP, reply: true, from: a.plan.Self, port: port, clock: time.Now()}.encode(a.plan.Token))
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
	v := &VIP{Hits: map[int]int{}, Failures: map[Result]int{}}
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
		time.Sleep(vipEvery)
	}
	a.report.mu.Lock()
	defer a.report.mu.Unlock()
	a.report.VIP = v
}

// allHit tells whether every control-plane host has answered twice.
func (a *agent) allHit(v *VIP) bool {
	for i, h := range a.plan.Hosts {
		if h.ControlPlane && v.Hits[i] < 2 {
			return false
		}
	}
	return true
}

func (a *agent) dialVIP(ctx context.Context, config *tls.Config) (from int, result Result, said string) {
	dialer := tls.Dialer{NetDialer: &net.Dialer{Timeout: dialTimeout}, Config: config}
	ctx, cancel := context.WithTimeout(ctx, dialTimeout+replyTimeout)
	defer cancel()
	conn, err := dialer.DialContext(ctx, "tcp4", a.plan.VIP)
	if foreign := (&tls.CertificateVerificationError{}); errors.As(err, &foreign) {
		return 0, Foreign, owner(foreign.UnverifiedCertificates)
	}
	if err != nil {
		return 0, failed(err), reason(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(replyTimeout))
	buf := make([]byte, messageSize)
	if _, err := io.ReadFull(conn, buf); err != nil {
		return 0, Silence, reason(err)
	}
	m, err := a.plan.Token.decode(buf)
	if err != nil || !m.reply || m.from >= len(a.plan.Hosts) {
		return 0, Stranger, ""
	}
	return m.from, Answered, ""
}

// owner is who a certificate says to be.
func owner(certificates []*x509.Certificate) string {
	if len(certificates) == 0 {
		return ""
	}
	return certificates[0].Subject.String()
}
