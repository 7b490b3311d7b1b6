package agent

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"os"
	"time"

	"airgap.dev/airgap/preflight/netprobe"
)

// idle keeps a connection idle for the time in the plan, and then expects an answer. TCP
// keep-alives continue, as in Kubernetes clients. It returns nil without a connection, or if the
// measurement ends.
func (t *vipTest) idle(ctx context.Context) *netprobe.Idle {
	g := t.greet(ctx, t.config)
	if g.conn == nil {
		return nil
	}
	conn := g.conn
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	if _, err := conn.Write(message{kind: netprobe.VXLANPing, from: t.plan.Self, clock: time.Now()}.encode(t.plan.Token)); err != nil {
		return nil
	}
	began := time.Now()
	_ = conn.SetDeadline(began.Add(t.plan.Idle.Duration()))
	buf := make([]byte, messageSize)
	count, err := conn.Read(buf)
	result := &netprobe.Idle{For: elapsed(began), Result: netprobe.Answered, To: g.from, Last: count > 0}
	switch {
	case ctx.Err() != nil:
		return nil
	case !errors.Is(err, os.ErrDeadlineExceeded):
		if err == nil { // the message came first, and the end after it
			err = io.EOF
		}
		t.failsAtBalancer(netprobe.BalancedIdle, "", conn, time.Time{})
		result.Result, result.Ended = failed(err), true
		if !result.Last { // a load balancer that closed one direction passes this on
			_, _ = conn.Write(message{kind: netprobe.TCP, from: t.plan.Self, clock: time.Now()}.encode(t.plan.Token))
		}
		pause(ctx, netprobe.EndsApart.Duration()) // for the other end to see it
		return result
	}
	_ = conn.SetDeadline(time.Now().Add(replyTimeout))
	_, errAsk := conn.Write(message{kind: netprobe.TCP, from: t.plan.Self, clock: time.Now()}.encode(t.plan.Token))
	_, errAnswer := io.ReadFull(conn, buf)
	if err := errors.Join(errAsk, errAnswer); err != nil {
		result.Result, result.Unacked = failed(err), unacked(conn.NetConn())
		t.failsAtBalancer(netprobe.BalancedIdle, "", conn, time.Time{})
	}
	return result
}

// serveIdle waits for the request after the idle time. If the connection ends before, it sends a last
// message, which a load balancer passes on if it closed only the direction to this host.
func (c conversation) serveIdle(ctx context.Context, secure *tls.Conn, from int, said []byte) {
	began := time.Now()
	_, err := io.ReadFull(secure, make([]byte, messageSize))
	s := netprobe.IdleServer{From: from, For: elapsed(began), Asked: err == nil, Ended: err != nil && !timedOut(err) && ctx.Err() == nil}
	c.report.behind(func(b *netprobe.Behind) {
		if len(b.Idle) < perHostSessions*len(c.plan.Hosts) {
			b.Idle = append(b.Idle, s)
		}
	})
	if err == nil || s.Ended {
		_, _ = secure.Write(said)
	}
}

func elapsed(began time.Time) netprobe.Seconds {
	return netprobe.Seconds(time.Since(began).Round(time.Second) / time.Second)
}
