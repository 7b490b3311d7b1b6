// Package listen keeps one address from taking all the connections of a listener.
package listen

import (
	"errors"
	"net"
	"net/netip"
	"sync"
	"syscall"
)

// PerAddress is the listener with at most limit open connections from one address, as Source
// has it. Further ones are closed at once; refused, where it is not nil, is called with the
// address of the first of them, and again after the address had room.
func PerAddress(l net.Listener, limit int, refused func(from string)) net.Listener {
	return &perAddress{Listener: l, limit: limit, refused: refused, open: map[string]int{}, full: map[string]bool{}}
}

// Source returns the address in HOST:PORT. If one host can use a whole network, it returns the
// network: 64 bits of IPv6, and 127.0.0.0/8, since each local user can connect from any of its addresses.
func Source(addr string) string {
	at, err := netip.ParseAddrPort(addr)
	if err != nil {
		return addr
	}
	ip := at.Addr().Unmap().WithZone("")
	if ip.IsLoopback() {
		return "localhost"
	}
	if ip.Is4() {
		return ip.String()
	}
	return netip.PrefixFrom(ip, 64).Masked().String()
}

type perAddress struct {
	net.Listener

	limit   int
	refused func(from string)

	mu   sync.Mutex
	open map[string]int
	full map[string]bool // addresses that refused was called with
}

func (l *perAddress) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		from := Source(conn.RemoteAddr().String())
		if l.admit(from) {
			return &counted{Conn: conn, leave: sync.OnceFunc(func() { l.leave(from) })}, nil
		}
		conn.Close()
	}
}

func (l *perAddress) admit(from string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open[from] < l.limit {
		l.open[from]++
		return true
	}
	if !l.full[from] && l.refused != nil {
		l.refused(from)
	}
	l.full[from] = true
	return false
}

func (l *perAddress) leave(from string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.full, from)
	if l.open[from]--; l.open[from] == 0 {
		delete(l.open, from)
	}
}

// counted is a connection that gives its place back.
type counted struct {
	net.Conn

	leave func()
}

func (c *counted) Close() error {
	defer c.leave()
	return c.Conn.Close()
}

// SyscallConn gives access to the socket of the connection. Callers read its options and counters through it.
func (c *counted) SyscallConn() (syscall.RawConn, error) {
	socket, is := c.Conn.(syscall.Conn)
	if !is {
		return nil, errors.ErrUnsupported
	}
	return socket.SyscallConn()
}
