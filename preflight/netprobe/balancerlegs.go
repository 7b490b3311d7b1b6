package netprobe

import (
	"maps"
	"slices"
)

// A load balancer that ends TCP connections has one to the client and one to the control-plane host.
// Each end knows which of its data the next end acknowledged, so the reports of both sides show the
// leg that loses packets.

// Legs that lose large packets.
const (
	toBalancer   = "large packets from these hosts to the load balancer are lost"
	fromBalancer = "large packets from the load balancer to these hosts are lost"
	through      = "large packets between these hosts and the load balancer, or behind it, are lost"
	fixLeg       = "allow full-size packets and ICMP type 3 between these hosts and the load balancer, or limit the segment size on it (MSS clamping)"
)

// legs returns the findings about legs that pass a handshake, and no 64 KiB.
func (m balancing) legs() []Finding {
	by := map[string][]int{}
	for _, i := range slices.Sorted(maps.Keys(m.VIPs)) {
		for _, t := range m.VIPs[i].Transfers {
			if t.To < 0 || t.To >= len(m.Hosts) || !m.VIPs[i].stalls(t) {
				continue
			}
			what, host := m.leg(i, t)
			if !slices.Contains(by[what], host) {
				by[what] = append(by[what], host)
			}
		}
	}
	var found []Finding
	for _, what := range slices.Sorted(maps.Keys(by)) {
		slices.Sort(by[what])
		f := m.onBalancer(Stops, m.in.Say(what), by[what], fixLeg)
		f.Capture = evidence{m.Matrix}.atBalancer(append(by[what], slices.Sorted(maps.Keys(m.VIPs))...), Balanced, Silent, NoHandshake)
		found = append(found, f)
	}
	return found
}

// leg returns the text about the leg that loses data, and the host at its end.
func (m balancing) leg(client int, t Transfer) (what string, host int) {
	switch {
	case t.Sending == t.Failed && t.Unacked == t.Failed:
		return toBalancer, client
	case t.Sending == t.Failed && t.Unacked == 0:
		return fromBalancer, t.To
	}
	stalls := 0
	if b := m.Behind[t.To]; b != nil && t.Sending == 0 {
		for _, s := range b.Stalled {
			if s.From == client && s.Received == TransferSize && s.Unacked {
				stalls++
			}
		}
		if stalls >= t.Failed {
			return toBalancer, t.To
		}
		if stalls == 0 {
			return fromBalancer, client
		}
	}
	return through, client
}

// idle returns the findings about idle connections that the load balancer did not keep.
func (m *Matrix) idle() []Finding {
	by := map[string][]int{}
	for i, v := range m.VIPs {
		if v.Idle == nil || v.Idle.Result == Answered {
			continue
		}
		what := m.in.Say("the load balancer silently drops connections of these hosts within %d s without traffic", v.Idle.For)
		if v.Idle.Ended {
			what = m.in.Say("the load balancer closes connections of these hosts after %d s without traffic", v.Idle.For)
		}
		if leg := (balancing{Matrix: m}).idleLeg(i, v.Idle); leg != "" {
			what += ", " + m.in.Say(leg)
		}
		by[what] = append(by[what], i)
	}
	var found []Finding
	for _, what := range slices.Sorted(maps.Keys(by)) {
		slices.Sort(by[what])
		found = append(found, Finding{Severity: Warns, About: AboutIdle, Owner: BalancerTeam, What: what, Between: m.names(by[what]), Fix: m.in.Say("set the idle timeout of the load balancer to at least five minutes, for clients and servers"),
			Capture: evidence{m}.atBalancer(by[what], BalancedIdle, "")})
	}
	return found
}

// Sides of an idle connection that end first.
const (
	clientSide = "first on the side of the clients"
	serverSide = "first on the side of the control-plane hosts"
)

// EndsApart is a difference between the times of two ends that is no rounding.
const EndsApart Seconds = 2

// idleLeg returns the side that ended an idle connection, "" if both ended at the same time.
//
// HAProxy closes one direction when a leg was idle for too long: it tells the end of that leg's data to the
// opposite end, and still passes data to the leg. So the end that sees the close first can send to the other
// one, and the idle leg is the other one's.
func (m balancing) idleLeg(client int, idle *Idle) string {
	b := m.Behind[idle.To]
	if b == nil {
		return ""
	}
	i := slices.IndexFunc(b.Idle, func(s IdleServer) bool { return s.From == client })
	if i < 0 {
		return ""
	}
	server := b.Idle[i]
	switch {
	case idle.Ended && idle.Last:
		return clientSide
	case idle.Ended && server.Asked:
		return serverSide
	case idle.Ended && server.For-idle.For < EndsApart && idle.For-server.For < EndsApart:
		return "" // the end of the measurement can be the end of the server's record
	case idle.Ended && (!server.Ended || server.For > idle.For):
		return clientSide
	case server.Ended:
		return serverSide
	case server.Asked: // only the answer is lost
		return ""
	case idle.Unacked:
		return clientSide
	default:
		return serverSide
	}
}
