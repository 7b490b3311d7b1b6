package lab

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strconv"
	"sync"
)

// Forward makes a server's TCP port available to programs of the outer machine at a
// loopback port. They cannot reach the lab's network directly. It ends with stop.
func (l *Lab) Forward(ctx context.Context, m Machine, port int) (at netip.AddrPort, stop func(), err error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return at, nil, fmt.Errorf("forward port %d of %s: %w", port, m.Name(), err)
	}
	ctx, end := context.WithCancel(ctx)
	to := net.JoinHostPort(m.Addr().String(), strconv.Itoa(port))
	var connections sync.WaitGroup
	connections.Go(func() {
		for {
			from, err := listener.Accept()
			if err != nil {
				return
			}
			connections.Go(func() { carry(ctx, from, to, l.Network.dial) })
		}
	})
	stop = func() {
		end()
		listener.Close()
		connections.Wait()
	}
	return listener.Addr().(*net.TCPAddr).AddrPort(), stop, nil
}

// carry copies the data of one connection in both directions, until both sides are
// closed or ctx ends. It also ends if it cannot connect to the server.
func carry(ctx context.Context, from net.Conn, to string, dial func(ctx context.Context, network, addr string) (net.Conn, error)) {
	defer from.Close()
	server, err := dial(ctx, "tcp", to)
	if err != nil {
		return
	}
	defer server.Close()
	unhook := context.AfterFunc(ctx, func() { from.Close(); server.Close() })
	defer unhook()
	var both sync.WaitGroup
	for _, direction := range [][2]net.Conn{{from, server}, {server, from}} {
		both.Go(func() {
			_, _ = io.Copy(direction[1], direction[0])
			_ = direction[1].(*net.TCPConn).CloseWrite()
		})
	}
	both.Wait()
}
