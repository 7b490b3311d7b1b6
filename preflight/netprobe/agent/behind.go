package agent

import (
	"bufio"
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/netip"
	"time"

	"airgap.dev/airgap/preflight/netprobe"
)

const (
	maxCheckers = 64 // in Behind.Checks
	// perHostSessions is the largest number of records of each kind for a host of the plan.
	perHostSessions = 4
	// maxRequests is the largest number of requests on a connection.
	maxRequests = 4
)

// behind changes the view of this host.
func (r *record) behind(change func(*netprobe.Behind)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.Behind == nil {
		r.Behind = &netprobe.Behind{Checks: map[netip.Addr]int{}, Proxy: map[string]int{}}
	}
	change(r.Behind)
}

// checked counts a connection without a message.
func (c conversation) checked() {
	from, err := netip.ParseAddrPort(c.conn.RemoteAddr().String())
	if _, known := c.plan.ByAddress(from.Addr()); err != nil || known || c.plan.VIP == "" || c.port != netprobe.APIServer {
		return
	}
	c.report.behind(func(b *netprobe.Behind) {
		if _, counted := b.Checks[from.Addr()]; counted || len(b.Checks) < maxCheckers {
			b.Checks[from.Addr()]++
		}
	})
}

// answerTLS sends the number of this host over TLS, and answers requests.
func (c conversation) answerTLS(ctx context.Context, conn peeked) {
	config, err := c.identity()
	if err != nil {
		return
	}
	config = config.Clone()
	// A load balancer that terminates TLS has no certificate of this measurement.
	config.ClientAuth = tls.VerifyClientCertIfGiven
	secure := tls.Server(conn, config)
	if err := secure.HandshakeContext(ctx); err != nil {
		c.checked()
		return
	}
	if len(secure.ConnectionState().PeerCertificates) == 0 {
		c.answerHTTP(secure, bufio.NewReader(secure))
		return
	}
	if conn.proxy != "" {
		c.report.behind(func(b *netprobe.Behind) { b.Proxy[conn.proxy]++ })
	}
	said := message{kind: netprobe.TCP, reply: true, from: c.plan.Self, port: c.port, clock: time.Now()}.encode(c.plan.Token)
	if _, err := secure.Write(said); err != nil {
		return
	}
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	buf := make([]byte, messageSize)
	for range maxRequests {
		_ = conn.SetDeadline(time.Now().Add(c.plan.Idle.Duration() + 2*replyTimeout))
		if _, err := io.ReadFull(secure, buf); err != nil {
			return
		}
		m, err := decode(c.plan.Token, buf)
		if err != nil || m.reply || m.from >= len(c.plan.Hosts) {
			return
		}
		switch m.kind {
		case netprobe.TLS:
			c.serveExchange(secure, m)
			return
		case netprobe.Size:
			c.serveTransfer(secure, m.from, said)
		case netprobe.VXLANPing: // the connection is idle from now on
			c.serveIdle(ctx, secure, m.from, said)
		default:
			_, err = secure.Write(said)
		}
		if err != nil {
			return
		}
	}
}

// answerHTTP answers a message that came through a load balancer that terminates TLS.
func (c conversation) answerHTTP(conn net.Conn, r *bufio.Reader) {
	m, err := decode(c.plan.Token, httpMessage(r))
	if err != nil || m.reply || m.kind != netprobe.TCP || m.from >= len(c.plan.Hosts) {
		c.checked()
		return
	}
	_, _ = io.WriteString(conn, httpReply(message{kind: netprobe.TCP, reply: true, from: c.plan.Self, to: m.from, port: c.port, clock: time.Now()}.encode(c.plan.Token)))
}
