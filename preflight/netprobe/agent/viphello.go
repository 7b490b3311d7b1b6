package agent

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

	"airgap.dev/airgap/internal/peercert"
	"airgap.dev/airgap/preflight/netprobe"
)

// greeting is a connection to the load balancer.
type greeting struct {
	conn   *tls.Conn // nil unless a host answered
	from   int       // the host that answered
	result netprobe.Result
	said   string
	failed net.Conn // closed; nil if the dial failed
}

// small returns the configuration for a handshake with a small first message. Today's has the key of a
// post-quantum exchange (ML-KEM), and is larger than one packet.
func small(config *tls.Config) *tls.Config {
	config = config.Clone()
	config.CurvePreferences = []tls.CurveID{tls.X25519}
	return config
}

// greet connects and reads the number of the host.
func (t *vipTest) greet(ctx context.Context, config *tls.Config) (g greeting) {
	dialer := net.Dialer{Timeout: dialTimeout}
	raw, err := dialer.DialContext(ctx, "tcp4", t.plan.VIP)
	if err != nil {
		return greeting{result: failed(err), said: reason(err)}
	}
	conn := tls.Client(raw, config)
	_ = raw.SetDeadline(time.Now().Add(replyTimeout))
	err = conn.HandshakeContext(ctx)
	other, plain := (&tls.CertificateVerificationError{}), (&tls.RecordHeaderError{})
	switch {
	case err == nil:
		g = t.readGreeting(conn)
	case errors.As(err, &other):
		g = greeting{result: netprobe.OtherCertificate, said: short(subject(other.UnverifiedCertificates))}
		if t.throughTLS(ctx, other.UnverifiedCertificates) {
			g.result = netprobe.TerminatesTLS
		}
	case errors.As(err, plain):
		g = greeting{result: netprobe.WithoutTLS, said: strconv.QuoteToASCII(string(plain.RecordHeader[:]))}
		if strings.HasPrefix(string(plain.RecordHeader[:]), "HTTP") {
			g.said = "HTTP"
		}
	default:
		g = greeting{result: netprobe.NoHandshake, said: reason(err)}
	}
	if g.conn == nil {
		raw.Close()
		g.failed = raw
	}
	return g
}

func (t *vipTest) readGreeting(conn *tls.Conn) greeting {
	buf := make([]byte, messageSize)
	if _, err := io.ReadFull(conn, buf); err != nil {
		return greeting{result: netprobe.NoReply, said: reason(err)}
	}
	m, err := decode(t.plan.Token, buf)
	if err != nil || !m.reply || m.from >= len(t.plan.Hosts) {
		return greeting{result: netprobe.OtherProgram}
	}
	return greeting{conn: conn, from: m.from, result: netprobe.Answered}
}

// noHost is the number of no host, so that a device that reads a request cannot repeat it to an agent as a message.
const noHost = 0xffff

// throughTLS sends a request in TLS to the server with these certificates. If an agent answers it, the
// load balancer terminates TLS. The request is a message in the path of an HTTP request, so that it
// also passes a load balancer that reads HTTP. Its content is no secret, and the answer has an HMAC. A
// certificate that cannot be pinned counts as one of another service.
func (t *vipTest) throughTLS(ctx context.Context, presented []*x509.Certificate) bool {
	host, _, err := net.SplitHostPort(t.plan.VIP)
	if err != nil || len(presented) == 0 {
		return false
	}
	pins := peercert.New(host)
	if err := pins.Add(presented[0]); err != nil {
		return false
	}
	var conn net.Conn
	err = pins.Connect(func(config *tls.Config) (err error) {
		dialer := tls.Dialer{NetDialer: &net.Dialer{Timeout: dialTimeout}, Config: config}
		conn, err = dialer.DialContext(ctx, "tcp4", t.plan.VIP)
		return err
	})
	if err != nil {
		return false
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(replyTimeout))
	m := message{kind: netprobe.TCP, from: t.plan.Self, to: noHost, port: netprobe.APIServer, clock: time.Now()}
	if _, err := io.WriteString(conn, httpRequest(m.encode(t.plan.Token))); err != nil {
		return false
	}
	answer, _ := io.ReadAll(io.LimitReader(conn, maxHTTP))
	reply, err := decode(t.plan.Token, httpAnswer(answer))
	return err == nil && reply.reply
}

// subject is the subject of the first certificate.
func subject(certificates []*x509.Certificate) string {
	if len(certificates) == 0 {
		return ""
	}
	return certificates[0].Subject.String()
}
