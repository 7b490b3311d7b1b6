package netprobe

import (
	"maps"
	"slices"
)

// balancer returns the findings about the load balancer of the control plane.
func (m *Matrix) balancer() []Finding {
	const fix = "use a TCP (layer 4) load balancer that passes TLS through, with every control-plane host in its pool and a TCP health check of port 6443"
	by := map[string][]int{}
	hits := map[int]int{}
	for _, i := range slices.Sorted(maps.Keys(m.VIPs)) {
		v := m.VIPs[i]
		for host, n := range v.Hits {
			hits[host] += n
		}
		for _, result := range slices.Sorted(maps.Keys(v.Failures)) {
			what := m.fault(i, v, result)
			by[what] = append(by[what], i)
		}
	}
	var found []Finding
	for _, what := range slices.Sorted(maps.Keys(by)) {
		found = append(found, Finding{Stops, AboutVIP, "network", what, m.names(by[what]), m.in.Say(fix)})
	}
	var never []int
	for i, h := range m.Hosts {
		if h.ControlPlane && hits[i] == 0 && len(hits) > 0 && !m.moves() {
			never = append(never, i)
		}
	}
	if len(never) > 0 {
		found = append(found, Finding{Stops, AboutVIP, "network", m.in.Say("the load balancer sends no requests to these hosts"), m.names(never), m.in.Say(fix)})
	}
	return found
}

// Holders are the control-plane hosts that have the load balancer's address and answer there.
func (m *Matrix) Holders() []string {
	var names []string
	for _, i := range slices.Sorted(maps.Keys(m.VIPs)) {
		if m.VIPs[i].Own {
			names = append(names, m.Hosts[i].Name)
		}
	}
	return names
}

// moves reports whether the endpoint is a virtual IP address on one control-plane host at a time,
// instead of a load balancer for all of them.
func (m *Matrix) moves() bool { return len(m.Holders()) > 0 }

// idle returns the findings about idle connections that the load balancer did not keep.
func (m *Matrix) idle() []Finding {
	by := map[string][]int{}
	for i, v := range m.VIPs {
		switch {
		case v.Idle == nil || v.Idle.Result == Answered:
		case v.Idle.Ended:
			what := m.in.Say("the load balancer closes connections of these hosts after %d s without traffic", v.Idle.For)
			by[what] = append(by[what], i)
		default:
			what := m.in.Say("the load balancer silently drops connections of these hosts within %d s without traffic", v.Idle.For)
			by[what] = append(by[what], i)
		}
	}
	var found []Finding
	for _, what := range slices.Sorted(maps.Keys(by)) {
		slices.Sort(by[what])
		found = append(found, Finding{Warns, AboutIdle, "network", what, m.names(by[what]), m.in.Say("set the idle timeout of the load balancer to at least five minutes, for clients and servers")})
	}
	return found
}

// fault describes why a host does not reach the control plane through the load balancer. If a
// control-plane host gets replies from all hosts but itself, hairpin connections do not work.
func (m *Matrix) fault(i int, v *VIP, result Result) string {
	switch {
	case result == OtherCertificate:
		return m.in.Say("the load balancer terminates TLS, or another service answers (%s), for these hosts", v.Said)
	case m.Hosts[i].ControlPlane && v.Hits[i] == 0 && len(v.Hits) > 0 && !m.moves():
		return m.in.Say("the load balancer does not connect these hosts to themselves (hairpin)")
	case len(v.Hits) > 0:
		return m.in.Say("the load balancer does not always answer these hosts (%s)", m.in.Say(string(result)))
	default:
		return m.in.Say("the load balancer does not answer these hosts (%s)", m.in.Say(string(result)))
	}
}
