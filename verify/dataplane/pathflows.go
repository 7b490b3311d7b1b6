package dataplane

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"net/netip"
	"sync"
	"syscall"
)

const (
	// flows is the number of source ports. With one bad link of two, at least one of 16 flows uses
	// it in all but one of 65,536 measurements; with one bad link of eight, in 88 %.
	flows    = 16
	flowRuns = 3
	// The source ports of the kernel's own connections.
	firstSource = 33000
	lastSource  = 60999
)

// tryFlows connects from several source ports to one port, from those of an earlier measurement if
// there was one. The flows without a reply run again from the same ports.
func tryFlows(ctx context.Context, to netip.AddrPort, ports []int) (sources, lost []int) {
	var mu sync.Mutex
	if ports == nil {
		ports = make([]int, flows)
	}
	for run := range flowRuns {
		var all sync.WaitGroup
		lost = nil
		for _, from := range ports {
			all.Go(func() {
				source, gone := tryFlow(ctx, to, from)
				mu.Lock()
				defer mu.Unlock()
				if run == 0 {
					sources = append(sources, source)
				}
				if gone {
					lost = append(lost, source)
				}
			})
		}
		all.Wait()
		if ports = lost; len(lost) == 0 {
			break
		}
	}
	return sources, lost
}

// tryFlow connects from a source port, or for 0 from a random one. The kernel chooses only odd or
// only even ports, which some devices always send to the same link. It reports whether no packet
// came back.
func tryFlow(ctx context.Context, to netip.AddrPort, from int) (source int, lost bool) {
	for range 8 { // other connections use some ports
		if source = from; source == 0 {
			source = firstSource + rand.N(lastSource-firstSource+1) //nolint:gosec // no secret
		}
		dialer := net.Dialer{Timeout: dialLimit, LocalAddr: &net.TCPAddr{Port: source}}
		conn, err := dialer.DialContext(ctx, "tcp4", to.String())
		if err == nil {
			if stream, is := conn.(*net.TCPConn); is {
				_ = stream.SetLinger(0) // no connection stays in TIME_WAIT
			}
			conn.Close()
			return source, false
		}
		if from != 0 || !errors.Is(err, syscall.EADDRINUSE) && !errors.Is(err, syscall.EADDRNOTAVAIL) {
			return source, timedOut(err) && ctx.Err() == nil
		}
	}
	return source, false
}
