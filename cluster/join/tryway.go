package join

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"syscall"
	"time"

	"airgap.dev/airgap/internal/peercert"
)

const (
	wayTimeout = 5 * time.Second
	udpWait    = 500 * time.Millisecond // for a message of ICMP
)

// wayError is a failure after the TCP connection was established.
type wayError struct {
	what string
	err  error
}

func (e *wayError) Error() string { return e.what + ": " + e.err.Error() }

func (e *wayError) Unwrap() error { return e.err }

// certificateError is a certificate of another server.
type certificateError struct{ err error }

func (e *certificateError) Error() string { return e.err.Error() }

func (e *certificateError) Unwrap() error { return e.err }

// once connects as the program of the node does, without a bound source address.
func (w way) once(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 2*wayTimeout)
	defer cancel()
	conn, err := (&net.Dialer{Timeout: wayTimeout}).DialContext(ctx, w.protocol, w.address)
	if err == nil {
		defer conn.Close()
		_ = conn.SetDeadline(time.Now().Add(wayTimeout))
		if w.protocol == "udp" {
			err = udpRefused(conn)
		}
	}
	if w.optional && errors.Is(err, syscall.ECONNREFUSED) {
		return nil
	}
	if err != nil || !w.tls {
		return plainError(err)
	}
	return w.overTLS(ctx, conn)
}

// udpRefused returns the error of a router or a firewall. Without one, nothing is known: a tunnel does
// not answer.
func udpRefused(conn net.Conn) error {
	for range 2 { // the kernel reports the answer to the first packet at the second one
		if _, err := conn.Write([]byte{0}); err != nil {
			return err
		}
		_ = conn.SetReadDeadline(time.Now().Add(udpWait))
		_, err := conn.Read(make([]byte, 1))
		if timeout, is := errors.AsType[net.Error](err); err != nil && (!is || !timeout.Timeout()) {
			return err
		}
	}
	return nil
}

// alerted reports whether the other end refuses the handshake with an alert.
func alerted(err error) bool {
	op, is := errors.AsType[*net.OpError](err)
	return is && op.Op == "remote error" // the alert's own type is not exported
}

// overTLS makes the handshake of the program, and a request if there is one. If this host does not have
// the CA of the program yet, the handshake trusts none and ends at the certificate, whose names count.
func (w way) overTLS(ctx context.Context, conn net.Conn) error {
	host, _, _ := net.SplitHostPort(w.address)
	config := &tls.Config{ServerName: host, RootCAs: w.roots, MinVersion: tls.VersionTLS12}
	if w.roots == nil {
		config = peercert.New(host).Config()
	}
	c := tls.Client(conn, config)
	err := c.HandshakeContext(ctx)
	if presented := peercert.Presented(err); len(presented) > 0 {
		if w.roots == nil {
			err = w.named(presented[0], host)
		}
		if err == nil {
			return nil
		}
		err = fmt.Errorf("%w, subject %q, issuer %q", err, presented[0].Subject, presented[0].Issuer)
		return &wayError{"another server answers, or a device on the way terminates TLS", &certificateError{err}}
	}
	switch {
	case w.kubelet && alerted(err):
		return nil
	case err != nil:
		return &wayError{"TCP connects, but the TLS handshake fails", plainError(err)}
	case w.path == "":
		return nil
	}
	request := fmt.Sprintf("GET %s HTTP/1.1\r\nHost: %s\r\nUser-Agent: airgap\r\nConnection: close\r\n\r\n", w.path, w.address)
	_, err = c.Write([]byte(request))
	if err == nil {
		var response *http.Response
		if response, err = http.ReadResponse(bufio.NewReader(c), nil); err == nil {
			return response.Body.Close() // each status is an answer of the program
		}
	}
	return &wayError{"TLS connects, but the request fails", plainError(err)}
}

// named compares the names in a certificate whose CA this host does not have yet.
func (w way) named(certificate *x509.Certificate, address string) error {
	if w.anyName || certificate.VerifyHostname(address) == nil || certificate.VerifyHostname(w.host) == nil {
		return nil
	}
	return fmt.Errorf("the certificate is not for %s or %s", w.host, address)
}

// plainError names the cause without the addresses, which are known.
func plainError(err error) error {
	timeout, is := errors.AsType[net.Error](err)
	switch {
	case err == nil:
		return nil
	case is && timeout.Timeout(), errors.Is(err, context.DeadlineExceeded):
		return errNoAnswer
	}
	if number, is := errors.AsType[syscall.Errno](err); is {
		return number
	}
	return err
}

var errNoAnswer = fmt.Errorf("no answer within %s, several times", wayTimeout)

// owner is the team that can fix the failure.
func (w way) owner(err error) string {
	_, connected := errors.AsType[*wayError](err)
	switch {
	case w.host == "":
		return "load balancer team"
	case connected && errors.Is(err, syscall.ECONNRESET):
		return "administrators of " + w.host + ", or network team"
	case connected, errors.Is(err, errNoAnswer):
		return "network team"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "administrators of " + w.host + ": the program does not run, or the firewall rejects this host"
	case errors.Is(err, syscall.ENETUNREACH):
		return "administrators of this host: it has no route"
	case errors.Is(err, syscall.EPERM):
		return "administrators of this host: its own packet filter blocks it"
	default:
		return "administrators of " + w.host + ": its firewall rejects this host; or network team"
	}
}
