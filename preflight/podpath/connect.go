package podpath

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"sync"
	"syscall"
	"time"

	"airgap.dev/airgap/preflight/packetfilter"
)

const (
	port = 18080
	// patience is the time for a packet over two pairs of interfaces of this host, and a drop takes all of it.
	// A lost packet gets a second chance with twice the time: a host with many runnable processes can need it.
	patience = 1500 * time.Millisecond
	tries    = 5
)

// connect returns the connections from one pod to another that do not pass, with their errors.
func connect(ctx context.Context, from, to *end) ([]*attempt, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var servers sync.WaitGroup
	defer servers.Wait()
	defer cancel()
	if err := to.serve(ctx, &servers); err != nil {
		return nil, fmt.Errorf("listen in a network namespace for a test: %w", err)
	}
	all := []*attempt{
		{name: "TCP from pod to pod", protocol: "tcp4", to: to.pod}, {name: "UDP from pod to pod", protocol: "udp4", to: to.pod},
		{name: "TCP from pod to Service address", protocol: "tcp4", to: to.svc}, {name: "UDP from pod to Service address", protocol: "udp4", to: to.svc},
	}
	askAll(all, func(a *attempt, limit time.Duration) error {
		return from.ask(ctx, a.protocol, netip.AddrPortFrom(a.to, port), limit)
	})
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	var lost []*attempt
	for _, a := range all {
		a.packet = packetfilter.Packet{From: from.pod, To: a.to, Protocol: strings.TrimSuffix(a.protocol, "4"), Port: port, Link: from.name, Out: to.name}
		if a.err != nil {
			lost = append(lost, a)
		}
	}
	return lost, nil
}

// attempt is a connection and its result.
type attempt struct {
	name, protocol string
	to             netip.Addr
	packet         packetfilter.Packet
	err            error
}

// askAll makes all attempts at the same time, and those without an answer once more with twice the time.
func askAll(all []*attempt, ask func(a *attempt, limit time.Duration) error) {
	var wait sync.WaitGroup
	for _, limit := range []time.Duration{patience, 2 * patience} {
		for _, a := range all {
			if limit == patience || timedOut(a.err) {
				wait.Go(func() { a.err = ask(a, limit) })
			}
		}
		wait.Wait()
	}
}

// reason is the cause without addresses.
func reason(err error) string {
	var number syscall.Errno
	switch {
	case errors.As(err, &number):
		return number.Error()
	case timedOut(err):
		return "no answer"
	}
	return err.Error()
}

func timedOut(err error) bool {
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout()
}

// serve answers each byte and each datagram with the same one, until ctx ends.
func (e *end) serve(ctx context.Context, wait *sync.WaitGroup) error {
	var config net.ListenConfig
	var streams []net.Listener
	var packets []net.PacketConn
	err := within(e.ns, func() error {
		for _, at := range e.addresses() { // one socket each: the answer has the address of the question
			stream, err := config.Listen(ctx, "tcp4", netip.AddrPortFrom(at, port).String())
			if err != nil {
				return err
			}
			streams = append(streams, stream)
			packet, err := config.ListenPacket(ctx, "udp4", netip.AddrPortFrom(at, port).String())
			if err != nil {
				return err
			}
			packets = append(packets, packet)
		}
		return nil
	})
	context.AfterFunc(ctx, func() {
		for _, s := range streams {
			s.Close()
		}
		for _, p := range packets {
			p.Close()
		}
	})
	for _, s := range streams {
		wait.Go(func() { echoStream(s) })
	}
	for _, p := range packets {
		wait.Go(func() { echoPackets(p) })
	}
	return err
}

func echoStream(listener net.Listener) {
	for {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		buf := make([]byte, 1)
		_ = conn.SetDeadline(time.Now().Add(2 * patience))
		if n, err := conn.Read(buf); err == nil {
			_, _ = conn.Write(buf[:n])
		}
		conn.Close()
	}
}

func echoPackets(conn net.PacketConn) {
	buf := make([]byte, 16)
	for {
		n, from, err := conn.ReadFrom(buf)
		if err != nil {
			return
		}
		_, _ = conn.WriteTo(buf[:n], from)
	}
}

// ask sends a byte and waits for it. A datagram is sent more than once.
func (e *end) ask(ctx context.Context, protocol string, to netip.AddrPort, limit time.Duration) error {
	var conn net.Conn
	dialer := net.Dialer{Timeout: limit}
	if err := within(e.ns, func() (err error) {
		conn, err = dialer.DialContext(ctx, protocol, to.String())
		return err
	}); err != nil {
		return err
	}
	defer conn.Close()
	var last error
	for range tries {
		_ = conn.SetDeadline(time.Now().Add(limit / tries))
		if protocol == "tcp4" {
			_ = conn.SetDeadline(time.Now().Add(limit))
		}
		if _, last = conn.Write([]byte{1}); last == nil {
			if _, last = conn.Read(make([]byte, 1)); last == nil {
				return nil
			}
		}
		if protocol == "tcp4" {
			break
		}
	}
	return last
}
