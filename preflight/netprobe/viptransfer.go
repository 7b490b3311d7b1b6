package netprobe

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// A connection through the load balancer has two legs. After the handshake, 64 KiB go each way: a leg
// that loses full-size packets passes the small ones.
const (
	transferSize  = 64 << 10
	transferPiece = 4 << 10
)

// transferTries is the number of failures that is a result: one can be a busy host.
const transferTries = 2

// Transfer counts the exchanges of data with a control-plane host through the load balancer.
type Transfer struct {
	To     int `json:"to"`
	Tried  int `json:"tried"`
	Failed int `json:"failed,omitempty"`
	// Sending counts the failures in which this host's data did not arrive. In the other ones the
	// answer did not arrive.
	Sending int `json:"sending,omitempty"`
	// Unacked counts the failures in which the next end of the connection did not acknowledge this
	// host's data.
	Unacked int `json:"unacked,omitempty"`
}

// settled reports whether the exchanges have a result.
func (t *Transfer) settled() bool {
	return t != nil && (t.Failed < t.Tried || t.Failed >= transferTries)
}

// stalls reports whether data does not pass to a host. Handshakes without a reply repeat one failure.
func (v *VIP) stalls(t Transfer) bool {
	enough := t.Failed >= transferTries || t.Failed > 0 && v.Failures[NoHandshake] >= transferTries
	return enough && t.Failed == t.Tried
}

// add counts an exchange.
func (t *Transfer) add(r exchange) {
	if r.ended { // by the end of the measurement
		return
	}
	t.Tried++
	if r.ok {
		return
	}
	t.Failed++
	if r.sending {
		t.Sending++
	}
	if r.unacked {
		t.Unacked++
	}
}

// exchange is the result of one exchange of data.
type exchange struct{ ok, ended, sending, unacked bool }

// Stall is an exchange of data that did not complete, for the host behind the load balancer.
type Stall struct {
	From     int `json:"from"`
	Received int `json:"received"` // bytes, of transferSize
	// Unacked is true if the next end of the connection did not acknowledge this host's answer.
	Unacked bool `json:"unacked,omitempty"`
}

// transfer sends data, and expects data.
func (t *vipTest) transfer(ctx context.Context, conn *tls.Conn) exchange {
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	raw := conn.NetConn()
	err := writeMoving(conn, raw, message{kind: Size, from: t.plan.Self, clock: time.Now()}.padded(t.plan.Token, messageSize+transferSize))
	if err == nil {
		_, err = readMoving(conn, raw, messageSize, stalled)
	}
	if err != nil {
		return exchange{ended: ctx.Err() != nil, sending: true, unacked: unacked(raw)}
	}
	next := message{kind: TCP, from: t.plan.Self, clock: time.Now()}.encode(t.plan.Token)
	if _, err = conn.Write(next); err == nil {
		_, err = readMoving(conn, raw, transferSize, 2*stalled)
	}
	if err == nil {
		_, err = conn.Write(next)
	}
	return exchange{ok: err == nil, ended: ctx.Err() != nil}
}

// serveTransfer receives data, and answers with data. The receiver is more patient than the sender,
// so that the connection is still open when the sender counts its data.
func (a *agent) serveTransfer(c *tls.Conn, raw net.Conn, from int, said []byte) {
	stall := Stall{From: from}
	var err error
	if stall.Received, err = readMoving(c, raw, transferSize, 2*stalled); err == nil {
		_, err = c.Write(said)
	}
	if err == nil { // otherwise the load balancer could join both answers to a large packet
		_, err = readMoving(c, raw, messageSize, 2*stalled)
	}
	if err == nil {
		err = writeMoving(c, raw, make([]byte, transferSize))
	}
	if err == nil {
		_, err = readMoving(c, raw, messageSize, stalled)
	}
	if err == nil || !timedOut(err) && stall.Received == transferSize && !unacked(raw) {
		return
	}
	stall.Unacked = unacked(raw)
	a.report.behind(func(b *Behind) {
		if len(b.Stalled) < perHostSessions*len(a.plan.Hosts) {
			b.Stalled = append(b.Stalled, stall)
		}
	})
}

// readMoving reads n bytes. The time limit is for a piece, so that slow data is no failure.
func readMoving(r io.Reader, raw net.Conn, n int, pause time.Duration) (read int, err error) {
	buf := make([]byte, transferPiece)
	for read < n && err == nil {
		_ = raw.SetDeadline(time.Now().Add(pause))
		var count int
		count, err = r.Read(buf[:min(len(buf), n-read)])
		read += count
	}
	if read == n {
		return read, nil
	}
	return read, err
}

// writeMoving writes in pieces, each with a time limit.
func writeMoving(w io.Writer, raw net.Conn, b []byte) error {
	for len(b) > 0 {
		_ = raw.SetDeadline(time.Now().Add(stalled))
		n, err := w.Write(b[:min(len(b), transferPiece)])
		if err != nil {
			return err
		}
		b = b[n:]
	}
	return nil
}

// unacked reports whether the next end of the connection has not acknowledged all data. That is the
// load balancer if it has a connection for each leg.
func unacked(conn net.Conn) bool {
	if p, is := conn.(peeked); is {
		conn = p.Conn
	}
	of, is := conn.(syscall.Conn)
	if !is {
		return false
	}
	raw, err := of.SyscallConn()
	if err != nil {
		return false
	}
	queued := 0
	err = raw.Control(func(fd uintptr) { queued, _ = unix.IoctlGetInt(int(fd), unix.TIOCOUTQ) })
	return err == nil && queued > 0
}
