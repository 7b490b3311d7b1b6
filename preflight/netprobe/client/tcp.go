package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// dial connects without TCP keep-alives: an idle connection sends no packet.
func (p *probe) dial(ctx context.Context) (net.Conn, error) {
	dialer := net.Dialer{Timeout: patience, KeepAlive: -1}
	return dialer.DialContext(ctx, "tcp4", p.dialed)
}

// connect opens connections from several ports at the same time, and reports the share that opens.
func (p *probe) connect(ctx context.Context) bool {
	var mu sync.Mutex
	var all sync.WaitGroup
	var fastest time.Duration
	opened, from, failures := 0, "", map[string]int{}
	for range connections {
		all.Go(func() {
			began := time.Now()
			conn, err := p.dial(ctx)
			took := time.Since(began)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				failures[reason(err)]++
				return
			}
			opened++
			from, _, _ = net.SplitHostPort(conn.LocalAddr().String())
			if fastest == 0 || took < fastest {
				fastest = took
			}
			conn.Close()
		})
	}
	all.Wait()
	var reasons []string
	for _, text := range slices.Sorted(maps.Keys(failures)) {
		reasons = append(reasons, fmt.Sprintf("%d: %s", failures[text], text))
	}
	text := fmt.Sprintf("%d of %d connections open", opened, connections)
	switch {
	case opened == connections:
		p.add("connection", OK, fmt.Sprintf("%s, in %s, from %s", text, fastest.Round(100*time.Microsecond), from), "")
	case opened > 0:
		p.add("connection", Failed, text+"; "+strings.Join(reasons, "; "), "ask the network team for a faulty member of a link or load balancer on the way from "+from+" to "+p.dialed)
	case failures[syscall.ECONNREFUSED.Error()] == connections:
		p.add("connection", Failed, text+"; "+strings.Join(reasons, "; "), "check that the service listens on "+p.dialed+"; a firewall can also refuse it")
	default:
		p.add("connection", Failed, text+"; "+strings.Join(reasons, "; "), "ask the network team to allow TCP from this machine to "+p.dialed)
	}
	return opened > 0
}

// info returns the kernel's view of a connection.
func info(conn net.Conn) *unix.TCPInfo {
	of, is := conn.(syscall.Conn)
	if !is {
		return &unix.TCPInfo{}
	}
	raw, err := of.SyscallConn()
	if err != nil {
		return &unix.TCPInfo{}
	}
	var found *unix.TCPInfo
	_ = raw.Control(func(fd uintptr) { found, _ = unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO) })
	return cmp.Or(found, &unix.TCPInfo{})
}

// counted counts the bytes to the server until the first bytes from it, and all bytes from it.
type counted struct {
	net.Conn

	first, received int
}

func (c *counted) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	if c.received == 0 {
		c.first += n
	}
	return n, err
}

func (c *counted) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.received += n
	return n, err
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

func list(addresses []netip.Addr) string {
	var texts []string
	for _, a := range addresses {
		texts = append(texts, a.String())
	}
	return strings.Join(texts, ", ")
}
