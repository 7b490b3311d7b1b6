package netprobe

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

// connected reports whether an attempt has a TCP connection, but no answer of the agent.
func connected(a Attempt) bool {
	switch a.Result {
	case OtherProgram, OtherCertificate, Silent, Ended:
		return true
	}
	return false
}

// broken returns the result for an error on an established connection.
func broken(err error) Result {
	if errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, context.DeadlineExceeded) {
		return Silent
	}
	return Ended
}

// tryPort tests a TCP port with a plain message, which some programs and devices answer otherwise
// than TLS, and with TLS.
func (a *agent) tryPort(ctx context.Context, to, port int) {
	plain := a.tryTCP(ctx, to, port)
	a.report.tried(plain)
	if plain.Result == Answered || connected(plain) {
		a.report.tried(a.tryTLS(ctx, to, port))
	}
}

// tryPortAgain repeats a test. A test with TLS, if it failed, is repeated on its own.
func (a *agent) tryPortAgain(ctx context.Context, failed Attempt) {
	if failed.Result == NoReply {
		a.tryPort(ctx, failed.To, failed.Port)
		return
	}
	a.report.tried(a.tryTCP(ctx, failed.To, failed.Port))
}

// tryTLS connects as Kubernetes does: the routes choose the source address, and the ClientHello with
// the key share X25519MLKEM768 needs two segments. Then both sides send exchangeSize bytes.
func (a *agent) tryTLS(ctx context.Context, to, port int) Attempt {
	attempt := Attempt{To: to, Kind: TLS, Port: port, Source: a.routedSource(to)}
	config, err := a.identity()
	if err != nil {
		attempt.Result, attempt.Said = NotSent, reason(err)
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
	if attempt.Result != Answered {
		return attempt
	}
	_ = conn.SetDeadline(time.Now().Add(tlsTimeout))
	attempt.Bytes, err = a.exchange(c, to, port)
	switch {
	case errors.Is(err, errForeign):
		attempt.Result = OtherProgram
	case err != nil:
		attempt.Result, attempt.Said = broken(err), reason(err)
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
func handshakeResult(err error) (result Result, said string) {
	var other *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	switch {
	case err == nil:
		return Answered, ""
	case errors.As(err, &other):
		return OtherCertificate, short(subject(other.UnverifiedCertificates))
	case errors.As(err, &record):
		return OtherProgram, short(err.Error())
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
	if m, err := a.plan.Token.decode(buf[:messageSize]); err != nil || !m.reply || m.from != to {
		return n, errForeign
	}
	if _, err := c.Write(message{kind: TLS, from: a.plan.Self, to: to, port: port, clock: time.Now()}.encode(a.plan.Token)); err != nil {
		return n, err
	}
	clear(buf)
	if _, err := c.Write(buf); err != nil {
		return n, err
	}
	more, err := io.ReadFull(c, buf)
	return n + more, err
}

// answerTLS reads exchangeSize bytes of a host of the plan, and sends as many.
func (a *agent) answerTLS(c, conn net.Conn, m message, port int) {
	if m.reply || m.to != a.plan.Self || m.from >= len(a.plan.Hosts) || m.port != port {
		return
	}
	a.report.sourcedAt(a.plan, conn, m)
	_ = conn.SetDeadline(time.Now().Add(answerTimeout))
	buf := make([]byte, exchangeSize)
	if _, err := io.ReadFull(c, buf); err != nil {
		return
	}
	a.report.saw(Observation{From: m.from, Kind: TLS, Port: port, Layer: AtSocket})
	_, _ = c.Write(buf)
}

// accepted records a connection from a host of the plan.
func (a *agent) accepted(conn net.Conn, port int) {
	from, err := netip.ParseAddrPort(conn.RemoteAddr().String())
	if err != nil {
		return
	}
	if host, known := a.plan.byAddress(from.Addr().Unmap()); known && host != a.plan.Self {
		a.report.saw(Observation{From: host, Kind: TCP, Port: port, Layer: Accepted})
	}
}
