package netprobe

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"os"
	"time"
)

// Idle is the result of the test with an idle connection through the load balancer.
type Idle struct {
	For    Seconds `json:"for"`
	Result Result  `json:"result"` // Answered if the load balancer kept it
	// Ended is true if the other end closed it; otherwise it was dropped silently.
	Ended bool `json:"ended,omitempty"`
	To    int  `json:"to"` // the host behind the load balancer
	// Unacked is true if the next end of the connection did not acknowledge the request after the
	// idle time.
	Unacked bool `json:"unacked,omitempty"`
}

// IdleServer is an idle connection for the host behind the load balancer.
type IdleServer struct {
	From  int     `json:"from"`
	For   Seconds `json:"for"`             // until it ended, or the request arrived
	Ended bool    `json:"ended,omitempty"` // by the other end
	Asked bool    `json:"asked,omitempty"` // the request arrived
}

// tryIdle keeps a connection idle for the time in the plan, and then expects an answer. TCP
// keep-alives continue, as in Kubernetes clients. It returns nil without a connection, or if the
// measurement ends.
func (a *agent) tryIdle(ctx context.Context, config *tls.Config) *Idle {
	g := a.greetVIP(ctx, config)
	if g.conn == nil {
		return nil
	}
	conn := g.conn
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	if _, err := conn.Write(message{kind: VXLANPing, from: a.plan.Self, clock: time.Now()}.encode(a.plan.Token)); err != nil {
		return nil
	}
	began := time.Now()
	_ = conn.SetDeadline(began.Add(a.plan.Idle.Duration()))
	buf := make([]byte, messageSize)
	_, err := conn.Read(buf)
	idle := &Idle{For: elapsed(began), Result: Answered, To: g.from}
	switch {
	case ctx.Err() != nil:
		return nil
	case !errors.Is(err, os.ErrDeadlineExceeded):
		idle.Result, idle.Ended = failed(err), true
		return idle
	}
	_ = conn.SetDeadline(time.Now().Add(replyTimeout))
	_, errAsk := conn.Write(message{kind: TCP, from: a.plan.Self, clock: time.Now()}.encode(a.plan.Token))
	_, errAnswer := io.ReadFull(conn, buf)
	if err := errors.Join(errAsk, errAnswer); err != nil {
		idle.Result, idle.Unacked = failed(err), unacked(conn.NetConn())
	}
	return idle
}

// serveIdle waits for the request after the idle time.
func (a *agent) serveIdle(ctx context.Context, c *tls.Conn, from int, said []byte) {
	began := time.Now()
	_, err := io.ReadFull(c, make([]byte, messageSize))
	s := IdleServer{From: from, For: elapsed(began), Asked: err == nil, Ended: err != nil && !timedOut(err) && ctx.Err() == nil}
	a.report.behind(func(b *Behind) {
		if len(b.Idle) < perHostSessions*len(a.plan.Hosts) {
			b.Idle = append(b.Idle, s)
		}
	})
	if err == nil {
		_, _ = c.Write(said)
	}
}

func elapsed(began time.Time) Seconds {
	return Seconds(time.Since(began).Round(time.Second) / time.Second)
}
