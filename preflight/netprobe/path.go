package netprobe

import (
	"context"
	"slices"
	"sync"
	"time"
)

// Path has the numbers of the way from one host to another: shares of flows, losses, rates and
// times. A measurement with a bad result runs again, and each run stays in the list.
type Path struct {
	From int    `json:"from"`
	To   int    `json:"to"`
	TCP  *Flows `json:"tcp,omitempty"`
	UDP  *Flows `json:"udp,omitempty"`
	// Trains are paced small packets of all flows, and Bursts are fast large packets of one flow.
	Trains  []Train  `json:"trains,omitempty"`
	Bursts  []Train  `json:"bursts,omitempty"`
	Latency *Latency `json:"latency,omitempty"`
	Streams []Stream `json:"streams,omitempty"`
}

// Flows has the flows from different source ports to one port. Port channels (LAG) and equal-cost
// routes (ECMP) choose the link of a packet from its addresses and ports.
type Flows struct {
	Port  int `json:"port"`
	Tried int `json:"tried"`
	// Lost are the source ports of the flows that failed in each run.
	Lost []int `json:"lost,omitempty"`
}

// Train has the numbers of a sequence of UDP packets.
type Train struct {
	Size    int `json:"size"` // bytes of an IP packet
	Sent    int `json:"sent"`
	Arrived int `json:"arrived"`
	// Dead is the number of packets on flows of which no packet arrived.
	Dead      int `json:"dead,omitempty"`
	Reordered int `json:"reordered,omitempty"`
	// Overrun is the number of packets that the receiving host dropped itself during the train.
	Overrun int `json:"overrun,omitempty"`
	// Offered and Carried are the rates of the second half, in bits per second: sent, and arrived.
	Offered int `json:"offered,omitempty"`
	Carried int `json:"carried,omitempty"`
}

// Latency has round trips of small messages on one TCP connection, in nanoseconds.
type Latency struct {
	Samples int           `json:"samples"`
	Min     time.Duration `json:"min"`
	Median  time.Duration `json:"median"`
	P99     time.Duration `json:"p99"`
	Jitter  time.Duration `json:"jitter"` // mean difference between successive samples
	// Handshake is the kernel's median of round trips of TCP handshakes. A busy host does not delay
	// them, because no program takes part. It is 0 if the kernel has no value.
	Handshake time.Duration `json:"handshake,omitempty"`
}

// Typical is the round trip of the network: a busy host makes only one of the two values larger.
func (l *Latency) Typical() time.Duration {
	if l.Handshake == 0 {
		return l.Median
	}
	return min(l.Median, l.Handshake)
}

// manyPeers is the number of peers above which a host sends shorter trains and streams, for the time
// of a measurement between a hundred hosts.
const manyPeers = 16

func (p *Plan) many() bool { return len(p.Peers(p.Self)) > manyPeers }

// tryPaths measures the paths to peers after the tests of ports, so that the two do not disturb
// each other.
func (a *agent) tryPaths(ctx context.Context, to int) {
	s := a.openSession(ctx, to)
	if s == nil {
		return // no agent answers: the results of the ports report it
	}
	defer s.conn.Close()
	p := Path{From: a.plan.Self, To: to}
	p.Latency = s.latency()
	var both sync.WaitGroup
	var handshake time.Duration
	both.Go(func() { p.TCP, handshake = a.tryFlows(ctx, to, s.port) })
	both.Go(func() { s.trains(ctx, &p) })
	both.Wait()
	if p.Latency != nil {
		p.Latency.Handshake = handshake
	}
	p.Streams = a.tryStreams(ctx, to, s.port)
	a.report.measured(p)
}

func (r *Report) measured(p Path) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.Paths = append(r.Paths, p)
}

// conversations returns the TCP ports of a host on which its agent answers. Without one it returns
// the ports without a reply: a lost flow is not a closed port.
func (r *Report) conversations(to int) (ports []int, answered bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var silent []int
	for _, a := range r.Attempts {
		switch {
		case a.To != to || a.Kind != TCP:
		case a.Result == Answered:
			ports = append(ports, a.Port)
		case a.Result == NoReply:
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
