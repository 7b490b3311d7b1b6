package agent

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"airgap.dev/airgap/preflight/netprobe"
)

// transferPiece has a time limit.
const transferPiece = 4 << 10

// exchange is the result of one exchange of data.
type exchange struct{ ok, ended, sending, unacked bool }

// addTo counts the exchange.
func (r exchange) addTo(t *netprobe.Transfer) {
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

// transfer sends data, and expects data.
func (t *vipTest) transfer(ctx context.Context, conn *tls.Conn) exchange {
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	raw := conn.NetConn()
	err := writeMoving(conn, raw, message{kind: netprobe.Size, from: t.plan.Self, clock: time.Now()}.padded(t.plan.Token, messageSize+netprobe.TransferSize))
	if err == nil {
		_, err = readMoving(conn, raw, messageSize, stalled)
	}
	if err != nil {
		t.failsAtBalancer(netprobe.Balanced, netprobe.Silent, raw, time.Time{})
		return exchange{ended: ctx.Err() != nil, sending: true, unacked: unacked(raw)}
	}
	next := message{kind: netprobe.TCP, from: t.plan.Self, clock: time.Now()}.encode(t.plan.Token)
	if _, err = conn.Write(next); err == nil {
		_, err = readMoving(conn, raw, netprobe.TransferSize, 2*stalled)
	}
	if err == nil {
		_, err = conn.Write(next)
	}
	if err != nil {
		t.failsAtBalancer(netprobe.Balanced, netprobe.Silent, raw, time.Time{})
	}
	return exchange{ok: err == nil, ended: ctx.Err() != nil}
}

// serveTransfer receives data, and answers with data. The receiver is more patient than the sender,
// so that the connection is still open when the sender counts its data.
func (c conversation) serveTransfer(secure *tls.Conn, from int, said []byte) {
	stall := netprobe.Stall{From: from}
	var err error
	if stall.Received, err = readMoving(secure, c.conn, netprobe.TransferSize, 2*stalled); err == nil {
		_, err = secure.Write(said)
	}
	if err == nil { // otherwise the load balancer could join both answers to a large packet
		_, err = readMoving(secure, c.conn, messageSize, 2*stalled)
	}
	if err == nil {
		err = writeMoving(secure, c.conn, make([]byte, netprobe.TransferSize))
	}
	if err == nil {
		_, err = readMoving(secure, c.conn, messageSize, stalled)
	}
	if err == nil || !timedOut(err) && stall.Received == netprobe.TransferSize && !unacked(c.conn) {
		return
	}
	stall.Unacked = unacked(c.conn)
	c.failsHere(netprobe.Balanced, from, netprobe.Silent)
	c.report.behind(func(b *netprobe.Behind) {
		if len(b.Stalled) < perHostSessions*len(c.plan.Hosts) {
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
