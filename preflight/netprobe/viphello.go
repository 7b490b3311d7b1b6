package netprobe

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"strconv"
	"strings"
	"time"
)

// Results of connections to the load balancer that no agent answers.
const (
	// OtherCertificate is the certificate of another service: the load balancer terminates TLS, or
	// the address belongs to another service.
	OtherCertificate Result = "other certificate"
	// TerminatesTLS is a request in TLS with another certificate that arrives at a control-plane host.
	TerminatesTLS Result = "terminates TLS"
	// WithoutTLS is an answer to a TLS handshake that is not TLS, such as an HTTP error.
	WithoutTLS Result = "answer without TLS"
	// NoHandshake is an open connection without a reply to the handshake.
	NoHandshake Result = "no reply to TLS"
)

// greeting is a connection to the load balancer.
type greeting struct {
	conn   *tls.Conn // nil unless a host answered
	from   int       // the host that answered
	result Result
	said   string
}

// small returns the configuration for a handshake with a small first message. Today's has the key of a
// post-quantum exchange (ML-KEM), and is larger than one packet.
func small(config *tls.Config) *tls.Config {
	config = config.Clone()
	config.CurvePreferences = []tls.CurveID{tls.X25519}
	return config
}

// greetVIP connects and reads the number of the host.
func (a *agent) greetVIP(ctx context.Context, config *tls.Config) (g greeting) {
	dialer := net.Dialer{Timeout: dialTimeout}
	raw, err := dialer.DialContext(ctx, "tcp4", a.plan.VIP)
	if err != nil {
		return greeting{result: failed(err), said: reason(err)}
	}
	conn := tls.Client(raw, config)
	_ = raw.SetDeadline(time.Now().Add(replyTimeout))
	err = conn.HandshakeContext(ctx)
	other, plain := (&tls.CertificateVerificationError{}), (&tls.RecordHeaderError{})
	switch {
	case err == nil:
		g = a.readGreeting(conn)
	case errors.As(err, &other):
		g = greeting{result: OtherCertificate, said: subject(other.UnverifiedCertificates)}
		if a.throughTLS(ctx) {
			g.result = TerminatesTLS
		}
	case errors.As(err, plain):
		g = greeting{result: WithoutTLS, said: strconv.QuoteToASCII(string(plain.RecordHeader[:]))}
		if strings.HasPrefix(string(plain.RecordHeader[:]), "HTTP") {
			g.said = "HTTP"
		}
	default:
		g = greeting{result: NoHandshake, said: reason(err)}
	}
	if g.conn == nil {
		raw.Close()
	}
	return g
}

func (a *agent) readGreeting(conn *tls.Conn) greeting {
	buf := make([]byte, messageSize)
	if _, err := io.ReadFull(conn, buf); err != nil {
		return greeting{result: NoReply, said: reason(err)}
	}
	m, err := a.plan.Token.decode(buf)
	if err != nil || !m.reply || m.from >= len(a.plan.Hosts) {
		return greeting{result: OtherProgram}
	}
	return greeting{conn: conn, from: m.from, result: Answered}
}

// nobody is no host, so that the reader of a request cannot repeat it to an agent as a message.
const nobody = 0xffff

// throughTLS sends a request in TLS with any certificate. If an agent answers it, the load balancer
// terminates TLS. The request is a message in the path of an HTTP request, so that it also passes a
// load balancer that reads HTTP.
func (a *agent) throughTLS(ctx context.Context) bool {
	//nolint:gosec // the content is no secret, and the answer has an HMAC
	dialer := tls.Dialer{NetDialer: &net.Dialer{Timeout: dialTimeout}, Config: &tls.Config{InsecureSkipVerify: true}}
	conn, err := dialer.DialContext(ctx, "tcp4", a.plan.VIP)
	if err != nil {
		return false
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(replyTimeout))
	m := message{kind: TCP, from: a.plan.Self, to: nobody, port: apiServer, clock: time.Now()}
	if _, err := io.WriteString(conn, httpRequest(m.encode(a.plan.Token))); err != nil {
		return false
	}
	answer, _ := io.ReadAll(io.LimitReader(conn, maxHTTP))
	reply, err := a.plan.Token.decode(httpAnswer(answer))
	return err == nil && reply.reply
}

// subject is the subject of the first certificate.
func subject(certificates []*x509.Certificate) string {
	if len(certificates) == 0 {
		return ""
	}
	return certificates[0].Subject.String()
}
