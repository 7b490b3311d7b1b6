package agent

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
	"airgap.dev/airgap/preflight/netprobe"
)

const (
	recordType   = 0x16 // TLS handshake: the first byte from a client
	dialTimeout  = 3 * time.Second
	replyTimeout = 3 * time.Second
)

// listenTCP answers on the TCP ports of the cluster, except for ports that another program uses.
func (a *agent) listenTCP(ctx context.Context) {
	for _, p := range a.plan.TCP {
		if !p.To.Includes(a.plan.Own()) {
			continue
		}
		if err := a.listenAt(ctx, a.plan.Own().Address, p.Number); err != nil {
			a.report.listenFailed(netprobe.ListenError{Kind: netprobe.TCP, Port: p.Number, Layer: netprobe.AtSocket, Why: reason(err)})
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
				c := conversation{a, conn, port}
				c.accepted()
				c.answer(ctx)
			})
		default:
			conn.Close()
		}
	}
}

// conversation is a connection from another host to a port of this one.
type conversation struct {
	*agent

	conn net.Conn
	port int
}

// answer replies only to messages with a valid HMAC. Connections with TLS come through the load
// balancer.
func (c conversation) answer(ctx context.Context) {
	conn := c.conn
	_ = conn.SetDeadline(time.Now().Add(answerTimeout))
	r := bufio.NewReader(conn)
	proxy, errProxy := skipProxy(r)
	first, err := r.Peek(1)
	if errors.Join(errProxy, err) != nil {
		c.checked()
		return
	}
	switch first[0] {
	case recordType:
		c.answerTLS(ctx, peeked{conn, r, proxy})
		return
	case 'G':
		c.answerHTTP(conn, r)
		return
	}
	buf := make([]byte, messageSize)
	if _, err := io.ReadFull(r, buf); err != nil {
		return
	}
	m, err := decode(c.plan.Token, buf)
	if err == nil && (responder{c.plan, &c.arrivals, conn, r}).answer(m) {
		return
	}
	if err != nil || m.reply || m.kind != netprobe.TCP || m.to != c.plan.Self || m.from >= len(c.plan.Hosts) {
		return
	}
	c.report.saw(netprobe.Observation{From: m.from, Kind: netprobe.TCP, Port: c.port, Layer: netprobe.AtSocket})
	c.sourcedAt(m)
	_, _ = conn.Write(message{kind: netprobe.TCP, reply: true, from: c.plan.Self, to: m.from, port: c.port, clock: time.Now()}.encode(c.plan.Token))
}

// tryTCP connects to a port. A reply also gives the difference between the clocks.
func (a *agent) tryTCP(ctx context.Context, to, port int) netprobe.Attempt {
	attempt := netprobe.Attempt{To: to, Kind: netprobe.TCP, Port: port}
	dialer := net.Dialer{Timeout: dialTimeout, LocalAddr: net.TCPAddrFromAddrPort(netip.AddrPortFrom(a.plan.Own().Address, 0))}
	conn, err := dialer.DialContext(ctx, "tcp4", net.JoinHostPort(a.plan.Hosts[to].Address.String(), strconv.Itoa(port)))
	if err != nil {
		attempt.Result, attempt.Said = failed(err), reason(err)
		return attempt
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(replyTimeout))
	sent := time.Now()
	reply := make([]byte, messageSize)
	_, err = conn.Write(message{kind: netprobe.TCP, from: a.plan.Self, to: to, port: port, clock: sent}.encode(a.plan.Token))
	if err == nil {
		_, err = io.ReadFull(conn, reply)
	}
	back := time.Now()
	m, errForeign := decode(a.plan.Token, reply)
	switch {
	case err != nil:
		attempt.Result, attempt.Said = broken(err), reason(err)
	case errForeign != nil || !m.reply || m.from != to || m.to != a.plan.Self:
		attempt.Result = netprobe.OtherProgram
	default:
		attempt.Result, attempt.Trip = netprobe.Answered, back.Sub(sent)
		attempt.Ahead = m.clock.Sub(sent.Add(attempt.Trip / 2))
	}
	return attempt
}

// failed returns the result for a connection error.
func failed(err error) netprobe.Result {
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return netprobe.Refused
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH), errors.Is(err, syscall.EACCES):
		return netprobe.Unreachable
	case errors.Is(err, syscall.EPERM), errors.Is(err, syscall.EMSGSIZE), errors.Is(err, syscall.EADDRNOTAVAIL):
		return netprobe.NotSent
	default:
		return netprobe.NoReply
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
