package dataplane

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Etcd has the members of etcd, by node, and its election timeout. It is empty if they are unknown.
type Etcd struct {
	Members  []string
	Election time.Duration
}

// tripsOfElection is etcd's tuning guide: an election timeout has at least ten round trips.
const tripsOfElection = 10

// limit is the longest round trip between two nodes; 0 if one of them is not a member.
func (e Etcd) limit(a, b string) time.Duration {
	if !slices.Contains(e.Members, a) || !slices.Contains(e.Members, b) {
		return 0
	}
	return e.Election / tripsOfElection
}

const (
	// handshakes has a 99th percentile that is not the longest one.
	handshakes = 100
	// handshakesFor is the time limit of all handshakes, for members that are far apart.
	handshakesFor = 5 * time.Second
)

// trips are round trips between members of etcd.
type trips struct {
	samples     int
	median, p99 time.Duration
}

// measureTrips measures round trips of TCP handshakes by the clock of the kernel: no program takes part, so that a
// busy node does not delay them.
func measureTrips(ctx context.Context, to netip.AddrPort) (t trips) {
	var all []time.Duration
	for began := time.Now(); len(all) < handshakes && time.Since(began) < handshakesFor && ctx.Err() == nil; {
		dialer := net.Dialer{Timeout: dialLimit}
		conn, err := dialer.DialContext(ctx, "tcp4", to.String())
		if err != nil {
			break // the flows report it
		}
		trip := handshakeOf(conn)
		if stream, is := conn.(*net.TCPConn); is {
			_ = stream.SetLinger(0) // no connection stays in TIME_WAIT
		}
		conn.Close()
		if trip > 0 {
			all = append(all, trip)
		}
	}
	if len(all) < samples {
		return trips{}
	}
	slices.Sort(all)
	return trips{len(all), all[len(all)/2], all[(len(all)*99+99)/100-1]}
}

// handshakeOf is the kernel's round trip of a new connection; 0 without one, as after a lost packet.
func handshakeOf(conn net.Conn) (trip time.Duration) {
	raw, is := conn.(syscall.Conn)
	if !is {
		return 0
	}
	control, err := raw.SyscallConn()
	if err != nil {
		return 0
	}
	_ = control.Control(func(fd uintptr) {
		if info, err := unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO); err == nil {
			trip = time.Duration(info.Rtt) * time.Microsecond
		}
	})
	return trip
}

// failures returns the failure of round trips above the limit; 0 for none.
func (t trips) failures(node string, limit time.Duration) []Failure {
	if limit == 0 || t.p99 <= limit {
		return nil
	}
	ms := func(d time.Duration) string { return fmt.Sprintf("%.1f ms", float64(d)/float64(time.Millisecond)) }
	return []Failure{{tripsTo + node, fmt.Sprintf("99th percentile %s, median %s of %d TCP handshakes; a tenth of etcd's election timeout is %s", ms(t.p99), ms(t.median), t.samples, ms(limit))}}
}
