package agent

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"net/netip"
	"slices"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"airgap.dev/airgap/preflight/netprobe"
)

const (
	// flowTimeout has time for two SYN packets: the kernel sends them after 0, 1 and 3 seconds.
	flowTimeout = 2500 * time.Millisecond
	flowRuns    = 3
)

// flows connects from several source ports to the port of the session. The flows without a reply run again from
// the same ports. It also returns the kernel's median round trip of the handshakes.
func (s *session) flows(ctx context.Context) (*netprobe.Flows, time.Duration) {
	var mu sync.Mutex
	var lost []int
	var trips []time.Duration
	connect := func(from int) {
		conn, source, err := s.a.dialFrom(ctx, s.to, s.port, from, flowTimeout)
		mu.Lock()
		defer mu.Unlock()
		switch {
		case err == nil:
			if info := tcpInfo(conn); info.Rtt > 0 {
				trips = append(trips, time.Duration(info.Rtt)*time.Microsecond)
			}
			resetOnClose(conn) // no connection stays in TIME_WAIT
			conn.Close()
		case timedOut(err) && ctx.Err() == nil:
			lost = append(lost, source)
		}
	}
	from := make([]int, netprobe.FlowCount) // zeros: any port
	for range flowRuns {
		var all sync.WaitGroup
		for _, source := range from {
			all.Go(func() { connect(source) })
		}
		all.Wait()
		from, lost = lost, nil
		if len(from) == 0 {
			break
		}
	}
	return flowsBeside(s.port, from), median(trips)
}

// flowsBeside are the flows beside the session. If all of them are lost, the session is the flow that
// passes: half of the links in each direction lose 16 flows in one of a hundred measurements.
func flowsBeside(port int, lost []int) *netprobe.Flows {
	slices.Sort(lost)
	f := &netprobe.Flows{Port: port, Tried: netprobe.FlowCount, Lost: lost}
	if len(lost) == netprobe.FlowCount {
		f.Tried++
	}
	return f
}

// The source ports of the kernel's own connections.
const (
	firstSource = 33000
	lastSource  = 60999
)

// dialFrom connects from a source port, or for 0 from a random one. The kernel chooses only odd or
// only even ports, which some devices always send to the same link.
func (a *agent) dialFrom(ctx context.Context, to, port, from int, timeout time.Duration) (conn net.Conn, source int, err error) {
	for range 8 { // other connections use some ports
		if source = from; source == 0 {
			source = firstSource + rand.N(lastSource-firstSource+1) //nolint:gosec // no secret
		}
		dialer := net.Dialer{Timeout: timeout, LocalAddr: net.TCPAddrFromAddrPort(netip.AddrPortFrom(a.plan.Own().Address, uint16(source)))}
		conn, err = dialer.DialContext(ctx, "tcp4", netip.AddrPortFrom(a.plan.Hosts[to].Address, uint16(port)).String())
		if from != 0 || !errors.Is(err, syscall.EADDRINUSE) && !errors.Is(err, syscall.EADDRNOTAVAIL) {
			break
		}
	}
	return conn, source, err
}

// timedOut reports whether no packet came back. Other errors are of this host, or are answers.
func timedOut(err error) bool {
	var of net.Error
	return errors.As(err, &of) && of.Timeout()
}

// tcpInfo returns the kernel's numbers of a connection; zeros if there are none.
func tcpInfo(conn net.Conn) (info unix.TCPInfo) {
	socket, is := conn.(*net.TCPConn)
	if !is {
		return info
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return info
	}
	_ = raw.Control(func(fd uintptr) { // a closed connection has no numbers
		if got, err := unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO); err == nil {
			info = *got
		}
	})
	return info
}

func median(all []time.Duration) time.Duration {
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	return all[len(all)/2]
}
