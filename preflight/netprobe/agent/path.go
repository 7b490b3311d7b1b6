package agent

import (
	"context"
	"slices"
	"sync"
	"time"

	"airgap.dev/airgap/preflight/netprobe"
)

// manyPeers is the number of peers above which a host sends shorter trains and streams, for the time
// of a measurement between a hundred hosts.
const manyPeers = 16

func (p hostPlan) many() bool { return len(p.PathPeers(p.Self)) > manyPeers }

// tryPaths measures the paths to peers after the tests of ports, so that the two do not disturb
// each other.
func (a *agent) tryPaths(ctx context.Context, to int) {
	s := a.openSession(ctx, to)
	if s == nil {
		return // no agent answers: the results of the ports report it
	}
	defer s.conn.Close()
	p := netprobe.Path{From: a.plan.Self, To: to}
	p.Latency = s.latency(samples, samples*replyTimeout)
	var both sync.WaitGroup
	var handshake time.Duration
	both.Go(func() { p.TCP, handshake = s.flows(ctx) })
	both.Go(func() { s.trains(ctx, &p) })
	both.Wait()
	if p.Latency != nil {
		p.Latency.Handshake = handshake
	}
	if p.Latency.Long() {
		a.traces.failsTo(a.plan.Self, netprobe.Session, to, s.port, s.conn.LocalAddr())
	}
	a.traces.failsLost(p)
	p.Streams = s.streams(ctx)
	s.confirmStream(ctx, &p)
	s.confirmLatency(ctx, &p) // later: a host that is busy for a moment is no finding
	a.report.measured(p)
}

// failsLost marks a lost flow of each protocol.
func (t *traces) failsLost(p netprobe.Path) {
	for udp, flows := range map[bool]*netprobe.Flows{false: p.TCP, true: p.UDP} {
		if flows != nil && len(flows.Lost) > 0 {
			t.fails(mark{Failed: netprobe.Failed{From: p.From, To: p.To, Kind: netprobe.LostFlow, Port: flows.Port, Source: flows.Lost[0], UDP: udp}})
		}
	}
}

func (r *record) measured(p netprobe.Path) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.Paths = append(r.Paths, p)
}

// conversations returns the TCP ports of a host on which its agent answers. Without one it returns
// the ports without a reply: a lost flow is not a closed port.
func (r *record) conversations(to int) (ports []int, answered bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var silent []int
	for _, a := range r.Attempts {
		switch {
		case a.To != to || a.Kind != netprobe.TCP:
		case a.Result == netprobe.Answered:
			ports = append(ports, a.Port)
		case a.Result == netprobe.NoReply:
			silent = append(silent, a.Port)
		}
	}
	slices.Sort(ports)
	slices.Sort(silent)
	if len(ports) == 0 {
		return silent, false
	}
	return ports, true
}
