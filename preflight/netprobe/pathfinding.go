package netprobe

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// worst collects the paths with a bad number, for one finding.
type worst struct {
	paths []Path
	by    []float64 // the number, larger is worse
	lines []string
}

func (w *worst) add(p Path, number float64, line string) {
	w.paths, w.by, w.lines = append(w.paths, p), append(w.by, number), append(w.lines, line)
}

// between returns the lines, the worst ones first.
func (w *worst) between(m *Matrix) []string {
	var lines []string
	for _, i := range w.order() {
		p := w.paths[i]
		lines = append(lines, m.in.Say("from %s to %s", m.name(p.From), m.name(p.To))+": "+w.lines[i])
	}
	return m.few(lines)
}

// order are the indexes of the paths, the worst one first.
func (w *worst) order() []int {
	order := make([]int, len(w.paths))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(w.by[b], w.by[a]) })
	return order
}

// finding returns no finding without a path. The kind is that of its packets.
func (w *worst) finding(m *Matrix, severity Severity, about About, kind Kind, what, fix string) []Finding {
	if len(w.paths) == 0 {
		return nil
	}
	f := Finding{Severity: severity, About: about, Owner: NetworkTeam, What: what, Between: w.between(m), Fix: fix}
	for _, i := range w.order() {
		if f.Capture = (evidence{m}).traced(w.paths[i].From, w.paths[i].To, kind, 0); len(f.Capture) > 0 {
			break
		}
	}
	return []Finding{f}
}

// paths returns the findings about flows, losses, rates and latency.
func (m *Matrix) paths(n Needs) []Finding {
	p := pathFindings{m}
	return slices.Concat(p.lostFlows(), p.hostsNarrow(), p.stalledStreams(), p.losses(), p.policed(n), p.reordered(), p.slowStreams(), p.latency(n))
}

// pathFindings finds bad numbers of paths.
type pathFindings struct{ *Matrix }

// lostFlows is the finding about a bad member of a port channel or of equal-cost routes.
func (m pathFindings) lostFlows() []Finding {
	var w worst
	for _, p := range m.Paths {
		var parts []string
		lost := 0
		loss, _ := p.lossy()
		for _, of := range []struct {
			protocol string
			flows    *Flows
		}{{"TCP", p.TCP}, {"UDP", p.UDP}} {
			if !of.flows.some() || of.protocol == "TCP" && !p.UDP.some() && loss >= lossStops { // handshakes fail, too
				continue
			}
			lost += len(of.flows.Lost)
			parts = append(parts, m.in.Say("%d of %d %s flows to port %d are lost (source ports %s)", len(of.flows.Lost), of.flows.Tried, of.protocol, of.flows.Port, ports(of.flows.Lost)))
		}
		if lost > 0 {
			w.add(p, float64(lost), strings.Join(parts, ", "))
		}
	}
	return w.finding(m.Matrix, Stops, AboutPaths, LostFlow, m.in.Say("some flows are always lost, the others pass: one link of a port channel (LAG) or one of several routes (ECMP) drops packets"),
		m.in.Say("compare the counters of all links of the port channels and routes on this path, and take the bad one out; on the sending host, read /proc/net/bonding"))
}

func ports(numbers []int) string {
	const most = 3
	var text []string
	for _, n := range numbers[:min(most, len(numbers))] {
		text = append(text, fmt.Sprint(n))
	}
	if len(numbers) > most {
		text = append(text, "...")
	}
	return strings.Join(text, ", ")
}

// hostsNarrow is the finding about packets between the hosts themselves: network.mtu changes only the
// packets of pods.
func (m pathFindings) hostsNarrow() []Finding {
	type sizes struct{ passes, mtu int }
	by := map[sizes][]Verdict{}
	var order []sizes
	for _, v := range m.Verdicts {
		if v.Kind != Size || v.State != Narrow || !m.stalls(v) {
			continue
		}
		s := sizes{v.Size, v.MTU}
		if by[s] == nil {
			order = append(order, s)
		}
		by[s] = append(by[s], v)
	}
	var found []Finding
	for _, s := range order {
		found = append(found, Finding{
			Severity: Stops, About: AboutSize, Owner: NetworkTeam,
			What:    m.in.Say("host traffic (TCP) of full size does not pass, and no ICMP comes back: packets larger than %d bytes are lost, but the interfaces send up to %d", s.passes, s.mtu),
			Between: m.between(by[s]),
			Fix:     m.in.Say("allow packets of %d bytes between these hosts, or let the routers answer with ICMP type 3 code 4; network.mtu does not help, because it changes only packets of pods", s.mtu),
			Capture: m.capture(by[s]),
		})
	}
	return found
}

// stalledStreams is the finding about streams that stall although packets of full size pass.
func (m pathFindings) stalledStreams() []Finding {
	var w worst
	for _, p := range m.Paths {
		narrow := slices.ContainsFunc(m.Verdicts, func(v Verdict) bool { return v.Kind == Size && v.State == Narrow && v.From == p.From && v.To == p.To })
		if p.stalled() && !narrow {
			s := p.Streams[len(p.Streams)-1]
			w.add(p, 0, m.in.Say("%d of %d bytes arrive at TCP port %d", s.Acked, s.Sent, s.Port))
		}
	}
	return w.finding(m.Matrix, Stops, AboutPaths, Bulk, m.in.Say("TCP connections open, but a stream of data stalls"),
		m.in.Say("look for a firewall or an intrusion prevention system on this path that drops packets of open connections, and allow these connections"))
}

func (m pathFindings) losses() []Finding {
	by := map[Severity]*worst{Stops: {}, Warns: {}}
	for _, p := range m.Paths {
		percent, t := p.lossy()
		severity := Warns
		if percent >= lossStops {
			severity = Stops
		}
		if percent >= lossWarns {
			by[severity].add(p, percent, m.in.Say("%d of %d packets (%.1f %%)", t.Lost(), t.Sent-t.Dead, percent))
		}
	}
	var found []Finding
	for _, severity := range []Severity{Stops, Warns} {
		found = append(found, by[severity].finding(m.Matrix, severity, AboutPaths, Paced, m.in.Say("packets are lost on the way"),
			m.in.Say("read the error and drop counters of each interface on this path: cables, transceivers, duplex, and full queues"))...)
	}
	return found
}

// policed is the finding about a limit for UDP, which all packets of pods use inside a tunnel.
func (m pathFindings) policed(n Needs) []Finding {
	severity := Stops
	if n.VXLAN == 0 {
		severity = Warns
	}
	var w worst
	for _, p := range m.Paths {
		if rate, ok := p.policed(); ok {
			b := p.Bursts[len(p.Bursts)-1]
			w.add(p, -float64(rate), m.in.Say("%s of %s Mbit/s arrive, %d of %d packets", megabits(rate), megabits(b.Offered), b.Arrived, b.Sent))
		}
	}
	return w.finding(m.Matrix, severity, AboutPaths, Burst, m.in.Say("the network limits the rate of UDP"),
		m.in.Say("remove the limit for UDP between these hosts: a policer, storm control, or protection against UDP floods"))
}

func (m pathFindings) reordered() []Finding {
	var w worst
	for _, p := range m.Paths {
		if percent := p.reorders(); percent >= reorderWarns {
			w.add(p, percent, m.in.Say("%.0f %% of the packets of one flow", percent))
		}
	}
	return w.finding(m.Matrix, Warns, AboutPaths, Burst, m.in.Say("packets of one flow overtake each other"),
		m.in.Say("let port channels, bonds and routes choose the link by flow, not by packet"))
}

// slowStreams is the finding about slow paths without another reason.
func (m pathFindings) slowStreams() []Finding {
	var w worst
	for _, p := range m.Paths {
		if _, policed := p.policed(); policed || p.reorders() >= reorderWarns {
			continue
		}
		if rate, ok := p.slowest(); ok {
			w.add(p, -float64(rate), m.in.Say("%s Mbit/s", megabits(rate)))
		}
	}
	return w.finding(m.Matrix, Warns, AboutPaths, Bulk, m.in.Say("a TCP stream is slower than 10 Mbit/s"),
		m.in.Say("compare speed and duplex of both ends of each link on this path, and look for a limit of the rate"))
}

func megabits(rate int) string { return fmt.Sprintf("%.1f", float64(rate)/1e6) }

// etcd's tuning guide: the heartbeat interval is about the round trip, and the election timeout at
// least ten round trips. The defaults are 100 ms and 1 s, and the largest election timeout is 50 s.
const (
	etcdPeers       = 2380
	defaultElection = time.Second
	tripsOfElection = 10
	tripWarns       = 10 * time.Millisecond
)

// latency returns the findings about round trips between control-plane hosts with etcd.
func (m pathFindings) latency(n Needs) []Finding {
	if !slices.ContainsFunc(n.TCP, func(p Port) bool { return p.Number == etcdPeers }) {
		return nil
	}
	stops := cmp.Or(n.Election, defaultElection) / tripsOfElection
	by := map[Severity]*worst{Stops: {}, Warns: {}}
	longest := time.Duration(0)
	for _, p := range m.Paths {
		if !m.hasEtcd(p) || p.Latency.Typical() <= tripWarns {
			continue
		}
		severity := Warns
		if p.Latency.Typical() > stops {
			severity = Stops
			longest = max(longest, p.Trip())
		}
		l := p.Latency
		by[severity].add(p, float64(l.Typical()), m.in.Say("median %s, 99th percentile %s", milliseconds(l.Typical()), milliseconds(l.P99)))
	}
	heartbeat := heartbeatFor(longest)
	return slices.Concat(
		by[Stops].finding(m.Matrix, Stops, AboutLatency, Session, m.in.Say("the round trip between members of etcd is longer than a tenth of its election timeout (%s): they elect leaders again and again", milliseconds(stops)),
			m.in.Say("put the control-plane hosts into one site; or set kubernetes.etcd.heartbeatInterval: %dms and electionTimeout: %dms in airgap.yaml", heartbeat, tripsOfElection*heartbeat)),
		by[Warns].finding(m.Matrix, Warns, AboutLatency, Session, m.in.Say("the round trip between members of etcd is longer than %s: each change in the cluster waits for it", milliseconds(tripWarns)),
			m.in.Say("put the control-plane hosts into one site, or find the slow part of this path")),
		m.tails(n))
}

func milliseconds(d time.Duration) string {
	return fmt.Sprintf("%.1f ms", float64(d)/float64(time.Millisecond))
}
