package netprobe

import (
	"cmp"
	"time"
)

// tailWarns is the 99th percentile of round trips between members above which etcd's operators are warned:
// half of the default heartbeat interval. etcd's own alert (etcdMemberCommunicationSlow) has 150 ms.
const tailWarns = 50 * time.Millisecond

// Tail is the smaller 99th percentile of two measurements, because one slow answer is chance; 0 without a
// second one. A network that holds or loses single packets makes it long, and leaves the median short.
func (p Path) Tail() time.Duration {
	if p.Latency == nil || p.Again == nil {
		return 0
	}
	return min(p.Latency.P99, p.Again.P99)
}

// Trip is the round trip that etcd's times must allow for.
func (p Path) Trip() time.Duration {
	if p.Latency == nil {
		return 0
	}
	return max(p.Latency.Typical(), p.Tail())
}

// Unsteady reports whether single round trips are so long that a second measurement must confirm them.
func (l *Latency) Unsteady() bool { return l != nil && l.P99 > tailWarns }

// hasEtcd reports whether both ends are members of etcd.
func (m pathFindings) hasEtcd(p Path) bool {
	return p.Latency != nil && m.Hosts[p.From].ControlPlane && m.Hosts[p.To].ControlPlane
}

// tails returns the findings about single long round trips between members whose median is short.
func (m pathFindings) tails(n Needs) []Finding {
	stops := cmp.Or(n.Election, defaultElection) / tripsOfElection
	by := map[Severity]*worst{Stops: {}, Warns: {}}
	longest := time.Duration(0)
	for _, p := range m.Paths {
		if !m.hasEtcd(p) || p.Tail() <= tailWarns {
			continue
		}
		severity := Warns
		if p.Tail() > stops {
			severity = Stops
			longest = max(longest, p.Tail())
		}
		if p.Latency.Typical() > stops || severity == Warns && p.Latency.Typical() > tripWarns {
			continue // the finding about the median has it
		}
		by[severity].add(p, float64(p.Tail()), m.in.Say("99th percentile %s, in two measurements of %d and %d samples; median %s, jitter %s",
			milliseconds(p.Tail()), p.Latency.Samples, p.Again.Samples, milliseconds(p.Latency.Typical()), milliseconds(p.Again.Jitter)))
	}
	heartbeat := heartbeatFor(longest)
	return append(
		by[Stops].finding(m.Matrix, Stops, AboutLatency, Session, m.in.Say("single round trips between members of etcd are longer than a tenth of its election timeout (%s), although most are short: they elect leaders again and again", milliseconds(stops)),
			m.in.Say("find what holds or loses single packets on this path: full queues, a policer, a bad cable, a busy hypervisor; or set kubernetes.etcd.heartbeatInterval: %dms and electionTimeout: %dms in airgap.yaml", heartbeat, tripsOfElection*heartbeat)),
		by[Warns].finding(m.Matrix, Warns, AboutLatency, Session, m.in.Say("single round trips between members of etcd are longer than %s, although most are short: changes in the cluster wait for them", milliseconds(tailWarns)),
			m.in.Say("find what holds or loses single packets on this path: full queues, a policer, a bad cable, a busy hypervisor"))...)
}

// heartbeatFor is the heartbeat interval in milliseconds for a round trip.
func heartbeatFor(trip time.Duration) int64 {
	return (trip + 10*time.Millisecond).Round(10 * time.Millisecond).Milliseconds()
}
