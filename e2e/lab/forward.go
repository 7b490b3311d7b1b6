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

// Forward lets programs of the outer machine reach a server's TCP port, which the
// network hides from them, at a port of loopback. It ends with stop.
func (l *Lab) Forward(ctx context.Context, m Machine, port int) (at netip.AddrPort, stop func(), err error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return at, nil, fmt.Errorf("forward port %d of %s: %w", port, m.Name(), err)
	}
	ctx, end := context.WithCancel(ctx)
	to := net.JoinHostPort(m.Addr().String(), strconv.Itoa(port))
	var carrying sync.WaitGroup
	carrying.Go(func() {
		for {
			from, err := listener.Accept()
			if err != nil {
				return
			}
			carrying.Go(func() { carry(ctx, from, to, l.Network.dial) })
		}
	})
	stop = func() {
		end()
		listener.Close()
		carrying.Wait()
	}
	return listener.Addr().(*net.TCPAddr).AddrPort(), stop, nil
}

// carry passes on both ways what one connection has, until each side has said
// all or ctx ends. A server that does not answer ends it, too.
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
	for _, way := range [][2]net.Conn{{from, server}, {server, from}} {
		both.Go(func() {
			_, _ = io.Copy(way[1], way[0])
			_ = way[1].(*net.TCPConn).CloseWrite()
		})
	}
	both.Wait()
}
