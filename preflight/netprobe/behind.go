package netprobe

import (
	"bufio"
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/netip"
	"time"
)

// Behind is the view of a control-plane host behind the load balancer.
type Behind struct {
	// Checks counts the connections without a message from addresses of no host of the plan, such as
	// health checks.
	Checks map[netip.Addr]int `json:"checks,omitempty"`
	// Proxy counts the connections of hosts of the plan that began with a header of the PROXY
	// protocol, by its version.
	Proxy map[string]int `json:"proxy,omitempty"`
	// Stalled are the exchanges of data that did not complete, and Idle the idle connections.
	Stalled []Stall      `json:"stalled,omitempty"`
	Idle    []IdleServer `json:"idle,omitempty"`
}

const (
	maxCheckers = 64 // in Behind.Checks
	// perHostSessions is the largest number of records of each kind for a host of the plan.
	perHostSessions = 4
	// maxRequests is the largest number of requests on a connection.
	maxRequests = 4
)

// behind changes the view of this host.
func (r *Report) behind(change func(*Behind)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.Behind == nil {
		r.Behind = &Behind{Checks: map[netip.Addr]int{}, Proxy: map[string]int{}}
	}
	change(r.Behind)
}

// checked counts a connection without a message.
func (a *agent) checked(conn net.Conn, port int) {
	from, err := netip.ParseAddrPort(conn.RemoteAddr().String())
	if _, known := a.plan.byAddress(from.Addr()); err != nil || known || a.plan.VIP == "" || port != apiServer {
		return
	}
	a.report.behind(func(b *Behind) {
		if _, counted := b.Checks[from.Addr()]; counted || len(b.Checks) < maxCheckers {
			b.Checks[from.Addr()]++
		}
	})
}

// answerVIP sends the number of this host over TLS, and answers requests.
func (a *agent) answerVIP(ctx context.Context, conn peeked, port int) {
	config, err := a.identity()
	if err != nil {
		return
	}
	config = config.Clone()
	// A load balancer that terminates TLS has no certificate of this measurement.
	config.ClientAuth = tls.VerifyClientCertIfGiven
	c := tls.Server(conn, config)
	if err := c.HandshakeContext(ctx); err != nil {
		a.checked(conn, port)
		return
	}
	if len(c.ConnectionState().PeerCertificates) == 0 {
		a.answerHTTP(c, bufio.NewReader(c), port)
		return
	}
	if conn.proxy != "" {
		a.report.behind(func(b *Behind) { b.Proxy[conn.proxy]++ })
	}
	said := message{kind: TCP, reply: true, from: a.plan.Self, port: port, clock: time.Now()}.encode(a.plan.Token)
	if _, err := c.Write(said); err != nil {
		return
	}
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	buf := make([]byte, messageSize)
	for range maxRequests {
		_ = conn.SetDeadline(time.Now().Add(a.plan.Idle.Duration() + 2*replyTimeout))
		if _, err := io.ReadFull(c, buf); err != nil {
			return
		}
		m, err := a.plan.Token.decode(buf)
		if err != nil || m.reply || m.from >= len(a.plan.Hosts) {
			return
		}
		switch m.kind {
		case TLS:
			a.answerTLS(c, conn, m, port)
			return
		case Size:
			a.serveTransfer(c, conn, m.from, said)
		case VXLANPing: // the connection is idle from now on
			a.serveIdle(ctx, c, m.from, said)
		default:
			_, err = c.Write(said)
		}
		if err != nil {
			return
		}
	}
}

// answerHTTP answers a message that came through a load balancer that terminates TLS.
func (a *agent) answerHTTP(conn net.Conn, r *bufio.Reader, port int) {
	m, err := a.plan.Token.decode(httpMessage(r))
	if err != nil || m.reply || m.kind != TCP || m.from >= len(a.plan.Hosts) {
		a.checked(conn, port)
		return
	}
	_, _ = io.WriteString(conn, httpReply(message{kind: TCP, reply: true, from: a.plan.Self, to: m.from, port: port, clock: time.Now()}.encode(a.plan.Token)))
}
