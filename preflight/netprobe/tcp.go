package netprobe

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"strconv"
	"sync"
	"syscall"
	"time"

	"airgap.dev/airgap/internal/listen"
)

const (
	recordType   = 0x16 // TLS handshake: the first byte from a client
	dialTimeout  = 3 * time.Second
	replyTimeout = 3 * time.Second
)

// listenTCP answers on the TCP ports of the cluster, except for ports that another program uses.
func (a *agent) listenTCP(ctx context.Context) {
	for _, p := range a.plan.TCP {
		if !p.To.includes(a.plan.self()) {
			continue
		}
		if err := a.listenAt(ctx, a.plan.self().Address, p.Number); err != nil {
			a.report.listenFailed(ListenError{Kind: TCP, Port: p.Number, Layer: AtSocket, Why: reason(err)})
		}
	}
}

// listenAt answers on one of this host's addresses.
func (a *agent) listenAt(ctx context.Context, address netip.Addr, port int) error {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp4", netip.AddrPortFrom(address, uint16(port)).String())
	if err != nil {
		return err
	}
	a.background(ctx, func(ctx context.Context) {
		defer context.AfterFunc(ctx, func() { listener.Close() })()
		a.acceptTCP(ctx, listener, port)
	})
	return nil
}

// maxConversations is far more than the hosts of a plan need at a time, and half of it is for one
// address. The agent closes further connections.
const maxConversations = 1024

func (a *agent) acceptTCP(ctx context.Context, listener net.Listener, port int) {
	listener = listen.PerAddress(listener, maxConversations/2, nil)
	var conversations sync.WaitGroup
	defer conversations.Wait()
	free := make(chan struct{}, maxConversations)
	for {
		conn, err := listener.Accept()
		if err != nil {
			if ctx.Err() != nil || errors.Is(err, net.ErrClosed) {
				return
			}
			time.Sleep(10 * time.Millisecond) // file descriptors can run out for a moment
			continue
		}
		select {
		case free <- struct{}{}:
			conversations.Go(func() {
				defer func() { <-free }()
				defer conn.Close()
				defer context.AfterFunc(ctx, func() { conn.Close() })()
				a.accepted(conn, port)
				a.answerTCP(ctx, conn, port)
			})
		default:
			conn.Close()
		}
	}
}

// answerTCP replies only to messages with a valid HMAC. Connections with TLS come through the load
// balancer.
func (a *agent) answerTCP(ctx context.Context, conn net.Conn, port int) {
	_ = conn.SetDeadline(time.Now().Add(answerTimeout))
	r := bufio.NewReader(conn)
	proxy, errProxy := skipProxy(r)
	first, err := r.Peek(1)
	if errors.Join(errProxy, err) != nil {
		a.checked(conn, port)
		return
	}
	switch first[0] {
	case recordType:
		a.answerVIP(ctx, peeked{conn, r, proxy}, port)
		return
	case 'G':
		a.answerHTTP(conn, r, port)
		return
	}
	buf := make([]byte, messageSize)
	if _, err := io.ReadFull(r, buf); err != nil {
		return
	}
	m, err := a.plan.Token.decode(buf)
	if err == nil && (responder{a.plan, &a.arrivals, conn, r}).answer(m) {
		return
	}
	if err != nil || m.reply || m.kind != TCP || m.to != a.plan.Self || m.from >= len(a.plan.Hosts) {
		return
	}
	a.report.saw(Observation{From: m.from, Kind: TCP, Port: port, Layer: AtSocket})
	a.report.sourcedAt(a.plan, conn, m)
	_, _ = conn.Write(message{kind: TCP, reply: true, from: a.plan.Self, to: m.from, port: port, clock: time.Now()}.encode(a.plan.Token))
}

// tryTCP connects to a port. A reply also gives the difference between the clocks.
func (a *agent) tryTCP(ctx context.Context, to, port int) Attempt {
	attempt := Attempt{To: to, Kind: TCP, Port: port}
	dialer := net.Dialer{Timeout: dialTimeout, LocalAddr: net.TCPAddrFromAddrPort(netip.AddrPortFrom(a.plan.self().Address, 0))}
	conn, err := dialer.DialContext(ctx, "tcp4", net.JoinHostPort(a.plan.Hosts[to].Address.String(), strconv.Itoa(port)))
	if err != nil {
		attempt.Result, attempt.Said = failed(err), reason(err)
		return attempt
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(replyTimeout))
	sent := time.Now()
	reply := make([]byte, messageSize)
	_, err = conn.Write(message{kind: TCP, from: a.plan.Self, to: to, port: port, clock: sent}.encode(a.plan.Token))
	if err == nil {
		_, err = io.ReadFull(conn, reply)
	}
	back := time.Now()
	m, errForeign := a.plan.Token.decode(reply)
	switch {
	case err != nil:
		attempt.Result, attempt.Said = broken(err), reason(err)
	case errForeign != nil || !m.reply || m.from != to || m.to != a.plan.Self:
		attempt.Result = OtherProgram
	default:
		attempt.Result, attempt.Trip = Answered, back.Sub(sent)
		attempt.Ahead = m.clock.Sub(sent.Add(attempt.Trip / 2))
	}
	return attempt
}

// failed returns the result for a connection error.
func failed(err error) Result {
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return Refused
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH), errors.Is(err, syscall.EACCES):
		return Unreachable
	case errors.Is(err, syscall.EPERM), errors.Is(err, syscall.EMSGSIZE), errors.Is(err, syscall.EADDRNOTAVAIL):
		return NotSent
	default:
		return NoReply
	}
}

// reason is the innermost error, without the addresses, which are known.
func reason(err error) string {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err.Error()
		}
		err = inner
	}
}
