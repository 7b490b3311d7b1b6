package agent

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"slices"
	"time"

	"airgap.dev/airgap/preflight/netprobe"
)

// A session is a TCP connection between two agents for the numbers of a path. The sender of the
// trains sends messages, and the other agent answers each: a message of the kind Session with the
// same message, and one of the kind Paced or Burst with the tally of that train. Answers are of
// fixed size, and few.
type session struct {
	a    *agent
	conn net.Conn
	to   int
	port int
}

const (
	maxExchanges = 128
	sessionIdle  = 10 * time.Second
	sessionDial  = time.Second
	// sessionDials fail all in 0.3 % of the measurements where half of the flows are lost in each
	// direction, so that a quarter of the connections work.
	sessionDials = 20
	samples      = 20
	// confirming is the number of samples of a second measurement: its 99th percentile is not the longest one.
	confirming = 100
	// confirmingFor is the time limit of a second measurement.
	confirmingFor = 5 * time.Second
)

// openSession connects to the agent of another host. One bad link loses some flows, so it tries
// several source ports. It returns nil without a connection.
func (a *agent) openSession(ctx context.Context, to int) *session {
	ports, answered := a.report.conversations(to)
	if len(ports) == 0 {
		return nil
	}
	if answered {
		if s := a.startSession(ctx, to, ports[0]); s != nil {
			return s
		}
	}
	opened := make(chan *session, sessionDials)
	for i := range sessionDials {
		go func() { opened <- a.startSession(ctx, to, ports[i%len(ports)]) }()
	}
	var first *session
	for range sessionDials {
		switch s := <-opened; {
		case s == nil:
		case first == nil:
			first = s
		default:
			s.conn.Close()
		}
	}
	return first
}

func (a *agent) startSession(ctx context.Context, to, port int) *session {
	conn, _, err := a.dialFrom(ctx, to, port, 0, sessionDial)
	if err != nil {
		return nil
	}
	s := &session{a, conn, to, port}
	if _, err := s.ask(message{kind: netprobe.Session, clock: time.Unix(0, 0)}, 0); err != nil {
		conn.Close()
		return nil
	}
	return s
}

// ask sends a message, and returns the authenticated data of the given length behind the answer.
func (s *session) ask(m message, length int) ([]byte, error) {
	t := s.a.plan.Token
	m.from, m.to, m.port = s.a.plan.Self, s.to, s.port
	_ = s.conn.SetDeadline(time.Now().Add(replyTimeout))
	if _, err := s.conn.Write(m.encode(t)); err != nil {
		return nil, err
	}
	b := make([]byte, messageSize+length)
	if length > 0 {
		b = append(b, make([]byte, macSize)...)
	}
	if _, err := io.ReadFull(s.conn, b); err != nil {
		return nil, err
	}
	got, err := decode(t, b)
	same := got.kind == m.kind && got.reply && got.from == s.to && got.to == s.a.plan.Self && got.size == m.size && got.clock.Equal(m.clock)
	if err != nil || !same || length > 0 && !bytes.Equal(b[messageSize+length:], mac(t, b[:messageSize+length])) {
		return nil, errForeign
	}
	return b[messageSize : messageSize+length], nil
}

// latency measures round trips, until the time limit. It returns nil without any.
func (s *session) latency(count int, limit time.Duration) *netprobe.Latency {
	var trips []time.Duration
	for began := time.Now(); len(trips) < count && time.Since(began) < limit; {
		sent := time.Now()
		if _, err := s.ask(message{kind: netprobe.Session, clock: time.Unix(0, sent.UnixNano())}, 0); err != nil {
			break
		}
		trips = append(trips, time.Since(sent))
	}
	if len(trips) == 0 {
		return nil
	}
	l := &netprobe.Latency{Samples: len(trips)}
	for i := range len(trips) - 1 {
		l.Jitter += (trips[i+1] - trips[i]).Abs() / time.Duration(len(trips)-1)
	}
	l.Median = median(trips) // sorts them
	l.Min, l.P99 = trips[0], trips[(len(trips)*99+99)/100-1]
	return l
}

// confirmLatency measures long round trips between control-plane hosts a second time, on a new connection.
func (s *session) confirmLatency(ctx context.Context, p *netprobe.Path) {
	a := s.a
	if !p.Latency.Unsteady() || !a.plan.Own().ControlPlane || !a.plan.Hosts[p.To].ControlPlane {
		return
	}
	again := a.openSession(ctx, p.To)
	if again == nil {
		return
	}
	defer again.conn.Close()
	if p.Again = again.latency(confirming, confirmingFor); p.Tail() > 0 {
		a.traces.failsTo(a.plan.Self, netprobe.Session, p.To, again.port, again.conn.LocalAddr())
	}
}

// responder is the other end of sessions and streams.
type responder struct {
	plan     hostPlan
	arrivals *arrivals
	conn     net.Conn
	r        io.Reader
}

// answer answers the messages of a session, or receives a stream. It reports whether the first
// message begins one.
func (p responder) answer(first message) bool {
	if first.reply || first.to != p.plan.Self || first.from >= len(p.plan.Hosts) || !slices.Contains([]netprobe.Kind{netprobe.Session, netprobe.Bulk}, first.kind) {
		return false
	}
	if first.kind == netprobe.Bulk {
		p.receive(first)
		return true
	}
	buf := make([]byte, messageSize)
	for m, i := first, 0; i < maxExchanges; i++ {
		answer, err := p.answerTo(m)
		if err != nil || m.from != first.from {
			break
		}
		_ = p.conn.SetDeadline(time.Now().Add(sessionIdle))
		if _, err := p.conn.Write(answer); err != nil {
			break
		}
		if _, err := io.ReadFull(p.r, buf); err != nil {
			break
		}
		if m, err = decode(p.plan.Token, buf); err != nil {
			break
		}
	}
	return true
}

// answerTo returns the answer to a message of a session.
func (p responder) answerTo(m message) ([]byte, error) {
	if m.reply || m.to != p.plan.Self {
		return nil, errForeign
	}
	back := message{kind: m.kind, reply: true, from: p.plan.Self, to: m.from, port: m.port, size: m.size, clock: m.clock}
	b := back.encode(p.plan.Token)
	switch m.kind {
	case netprobe.Session:
		return b, nil
	case netprobe.Paced, netprobe.Burst:
		if !p.arrivals.captures.Load() {
			return nil, errors.New(netprobe.NotCaptured)
		}
		b = append(b, p.arrivals.tally(m).encode()...)
		return append(b, mac(p.plan.Token, b)...), nil
	default:
		return nil, errForeign
	}
}
