package agent

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"strings"
	"time"

	"airgap.dev/airgap/preflight/netprobe"
)

const (
	// exchangeSize is sent each way: more than the first windows of TCP, so that full-size segments
	// and acknowledgements pass in both directions.
	exchangeSize = 64 << 10
	// tlsTimeout limits a handshake, and the exchange behind it. A busy host is not a fault.
	tlsTimeout = 6 * time.Second
	// answerTimeout limits a connection to the agent. It is longer than the sender's limits, so that
	// lost data is a timeout there, and not a closed connection.
	answerTimeout = 2 * tlsTimeout
	// maxSaid limits texts of other hosts and devices in a report.
	maxSaid = 200
)

// broken returns the result for an error on an established connection.
func broken(err error) netprobe.Result {
	if errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, context.DeadlineExceeded) {
		return netprobe.Silent
	}
	return netprobe.Ended
}

// tryPort tests a TCP port with a plain message, which some programs and devices answer otherwise
// than TLS, and with TLS.
func (a *agent) tryPort(ctx context.Context, to, port int) {
	plain := a.tryTCP(ctx, to, port)
	a.report.tried(plain)
	if plain.Result == netprobe.Answered || plain.Connected() {
		a.report.tried(a.tryTLS(ctx, to, port))
	}
}

// tryPortAgain repeats a test. A test with TLS, if it failed, is repeated on its own.
func (a *agent) tryPortAgain(ctx context.Context, failed netprobe.Attempt) {
	if failed.Result == netprobe.NoReply {
		a.tryPort(ctx, failed.To, failed.Port)
		return
	}
	a.report.tried(a.tryTCP(ctx, failed.To, failed.Port))
}

// tryTLS connects as Kubernetes does: the routes choose the source address, and the ClientHello with
// the key share X25519MLKEM768 needs two segments. Then both sides send exchangeSize bytes.
func (a *agent) tryTLS(ctx context.Context, to, port int) netprobe.Attempt {
	attempt := netprobe.Attempt{To: to, Kind: netprobe.TLS, Port: port, Source: a.routedSource(to)}
	config, err := a.identity()
	if err != nil {
		attempt.Result, attempt.Said = netprobe.NotSent, reason(err)
		return attempt
	}
	dialer := net.Dialer{Timeout: dialTimeout}
	conn, err := dialer.DialContext(ctx, "tcp4", netip.AddrPortFrom(a.plan.Hosts[to].Address, uint16(port)).String())
	if err != nil {
		attempt.Result, attempt.Said = failed(err), reason(err)
		return attempt
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	_ = conn.SetDeadline(time.Now().Add(tlsTimeout))
	c := tls.Client(conn, likeKubernetes(config))
	attempt.Result, attempt.Said = handshakeResult(c.HandshakeContext(ctx))
	if attempt.Result != netprobe.Answered {
		a.traces.failsTo(a.plan.Self, netprobe.TLS, to, port, conn.LocalAddr())
		return attempt
	}
	_ = conn.SetDeadline(time.Now().Add(tlsTimeout))
	attempt.Bytes, err = a.exchange(c, to, port)
	switch {
	case errors.Is(err, errForeign):
		attempt.Result = netprobe.OtherProgram
	case err != nil:
		attempt.Result, attempt.Said = broken(err), reason(err)
	}
	if err != nil {
		a.traces.failsTo(a.plan.Self, netprobe.TLS, to, port, conn.LocalAddr())
	}
	return attempt
}

// likeKubernetes returns the configuration with the protocols of Kubernetes clients. Their ClientHello
// has more than 1,460 bytes.
func likeKubernetes(config *tls.Config) *tls.Config {
	config = config.Clone()
	config.NextProtos = []string{"h2", "http/1.1"}
	return config
}

// handshakeResult returns Answered for a handshake with an agent.
func handshakeResult(err error) (result netprobe.Result, said string) {
	var other *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	switch {
	case err == nil:
		return netprobe.Answered, ""
	case errors.As(err, &other):
		return netprobe.OtherCertificate, short(subject(other.UnverifiedCertificates))
	case errors.As(err, &record):
		return netprobe.OtherProgram, short(err.Error())
	default:
		return broken(err), short(reason(err))
	}
}

// short limits a text from the network.
func short(text string) string {
	return strings.ToValidUTF8(text[:min(len(text), maxSaid)], "")
}

// exchange reads the number of the other host, sends exchangeSize bytes, and reads as many. It
// returns the number of received bytes.
func (a *agent) exchange(c net.Conn, to, port int) (int, error) {
	buf := make([]byte, exchangeSize)
	n, err := io.ReadFull(c, buf[:messageSize])
	if err != nil {
		return n, err
	}
	if m, err := decode(a.plan.Token, buf[:messageSize]); err != nil || !m.reply || m.from != to {
		return n, errForeign
	}
	if _, err := c.Write(message{kind: netprobe.TLS, from: a.plan.Self, to: to, port: port, clock: time.Now()}.encode(a.plan.Token)); err != nil {
		return n, err
	}
	clear(buf)
	if _, err := c.Write(buf); err != nil {
		return n, err
	}
	more, err := io.ReadFull(c, buf)
	return n + more, err
}

// serveExchange reads exchangeSize bytes of a host of the plan, and sends as many.
func (c conversation) serveExchange(secure net.Conn, m message) {
	if m.reply || m.to != c.plan.Self || m.from >= len(c.plan.Hosts) || m.port != c.port {
		return
	}
	c.sourcedAt(m)
	_ = c.conn.SetDeadline(time.Now().Add(answerTimeout))
	buf := make([]byte, exchangeSize)
	if _, err := io.ReadFull(secure, buf); err != nil {
		return
	}
	c.report.saw(netprobe.Observation{From: m.from, Kind: netprobe.TLS, Port: c.port, Layer: netprobe.AtSocket})
	_, _ = secure.Write(buf)
}

// accepted records a connection from a host of the plan.
func (c conversation) accepted() {
	from, err := netip.ParseAddrPort(c.conn.RemoteAddr().String())
	if err != nil {
		return
	}
	if host, known := c.plan.ByAddress(from.Addr().Unmap()); known && host != c.plan.Self {
		c.report.saw(netprobe.Observation{From: host, Kind: netprobe.TCP, Port: c.port, Layer: netprobe.Accepted})
	}
}
