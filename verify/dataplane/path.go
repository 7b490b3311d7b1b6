package dataplane

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"
)

// Limits of the findings, in percent of the packets, as in the measurement between hosts
// (preflight/netprobe).
const (
	lossCounts = 0.5
	// With a loss of 5 %, handshakes fail, too: flows without an answer are no bad link.
	lossOfFlows = 5
)

// pathState has the results of the path to a peer.
type pathState struct {
	address     netip.AddrPort // of the peer
	unmeasured  int            // measurements in a row without a result
	tcp, udp    []int          // source ports of the last measurement if it had a failure
	last        []Failure      // of the last measurement
	round       int            // of the last measurement
	failures    []Failure      // that two measurements in a row had
	median, p99 time.Duration
	limit       time.Duration // of round trips between members of etcd; 0 for other nodes
}

// pathResult has the numbers of one measurement.
type pathResult struct {
	tcp, udp         []int // source ports
	tcpLost, udpLost int   // flows
	lost, sent       int   // packets on the flows that pass
	burst            burst
	trips            trips
	limit            time.Duration // of trips
	median, p99      time.Duration
}

// measurePath measures the path to a pod. ok is false if the pod does not take part: it is of an
// older version, does not run, or a policy of the cluster blocks its port.
func measurePath(ctx context.Context, to netip.AddrPort, was pathState) (r pathResult, ok bool) {
	call, err := openMeasurement(ctx, to)
	if err != nil {
		return r, false
	}
	defer call.Close()
	if r.median, r.p99, err = call.latency(); err != nil {
		return r, false
	}
	var both sync.WaitGroup
	var lost []int
	both.Go(func() { r.tcp, lost = tryFlows(ctx, to, was.tcp) })
	both.Go(func() { err = r.measureUDP(ctx, call, to, was) })
	both.Wait()
	r.tcpLost = len(lost)
	if r.limit = was.limit; r.limit > 0 {
		r.trips = measureTrips(ctx, to)
	}
	return r, err == nil && ctx.Err() == nil
}

// measureUDP sends a short train, and after a loss a long one from the same source ports. After a
// failure it sends only the long one. Without any packet it has no result: a policy of the cluster may block UDP.
func (r *pathResult) measureUDP(ctx context.Context, call *pathCall, to netip.AddrPort, was pathState) error {
	l, err := openLanes(ctx, call, to, was.udp)
	if err != nil {
		return err
	}
	defer l.close()
	r.udp = l.ports()
	rounds := shortTrain
	if len(was.last) > 0 {
		rounds = longTrain
	}
	first, err := l.send(ctx, rounds)
	if err != nil || first.empty() {
		return err
	}
	last := first
	if lost, _ := first.lost(); rounds == shortTrain && (lost > 0 || first.someDead()) {
		if last, err = l.send(ctx, longTrain); err != nil || last.empty() {
			return err
		}
	}
	for flow := range flows {
		if first.dead(flow) && last.dead(flow) {
			r.udpLost++
		}
	}
	r.lost, r.sent = last.lost()
	for flow := range flows {
		if !last.dead(flow) {
			if b, err := l.burst(ctx, flow); err == nil {
				r.burst = b
			}
			break
		}
	}
	return nil
}

func (r pathResult) percent() float64 {
	if r.sent == 0 {
		return 0
	}
	return 100 * float64(r.lost) / float64(r.sent)
}

// Targets of the failures of paths.
const (
	flowsTo   = "flows to "
	packetsTo = "packets to "
	burstsTo  = "bursts to "
	orderTo   = "order of packets to "
	tripsTo   = "round trips to "
	longTo    = "long connection to "
)

// failures returns the failures of one measurement.
func (r pathResult) failures(node string) (found []Failure) {
	var parts []string
	if n := r.tcpLost; n > 0 && (r.udpLost > 0 || r.percent() < lossOfFlows) {
		parts = append(parts, fmt.Sprintf("%d of %d TCP flows", n, tried(n)))
	}
	if n := r.udpLost; n > 0 {
		parts = append(parts, fmt.Sprintf("%d of %d UDP flows", n, tried(n)))
	}
	if len(parts) > 0 {
		found = append(found, Failure{flowsTo + node, strings.Join(parts, " and ") + " are lost, on the same source ports each time"})
	}
	if r.percent() >= lossCounts {
		found = append(found, Failure{packetsTo + node, fmt.Sprintf("%d of %d UDP packets are lost (%.1f %%)", r.lost, r.sent, r.percent())})
	}
	found = append(found, r.burst.failures(node, r.percent())...)
	return append(found, r.trips.failures(node, r.limit)...)
}

// tried counts the connection of the measurement as a flow that passes, if no other one does.
func tried(lost int) int { return max(flows, lost+1) }

// recentRounds is the maximum number of rounds between two measurements that count as in a row.
const recentRounds = 5

// take keeps the failures that two measurements in a row have. Their first text stays, so that the
// pod's condition does not change in each round.
func (s *pathState) take(node string, r pathResult, round int) {
	found, before := r.failures(node), s.failures
	if round-s.round <= recentRounds {
		before = s.last
	}
	s.failures = nil
	for i, f := range found {
		if n := slices.IndexFunc(before, func(o Failure) bool { return o.Target == f.Target }); n >= 0 {
			found[i] = before[n]
			s.failures = append(s.failures, before[n])
		}
	}
	s.round, s.last, s.median, s.p99 = round, found, r.median, r.p99
	if s.tcp, s.udp = r.tcp, r.udp; len(found) == 0 {
		s.tcp, s.udp = nil, nil
	}
}
