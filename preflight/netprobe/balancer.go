package netprobe

import (
	"fmt"
	"maps"
	"slices"
)

// balancer are the faults of the load balancer before the control plane.
func (m *Matrix) balancer() []Finding {
	const fix = "a balancer of TCP (layer 4) that passes TLS through, with every control-plane host in its pool and a TCP health check of port 6443"
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
		found = append(found, Finding{Stops, AboutVIP, "network", what, m.names(by[what]), fix})
	}
	var never []int
	for i, h := range m.Hosts {
		if h.ControlPlane && hits[i] == 0 && len(hits) > 0 && !m.moves() {
			never = append(never, i)
		}
	}
	if len(never) > 0 {
		found = append(found, Finding{Stops, AboutVIP, "network", "the balancer sends nobody to", m.names(never), fix})
	}
	return found
}

// Holders are the control-plane hosts that have the balancer's address themselves, and
// answer there.
func (m *Matrix) Holders() []string {
	var names []string
	for _, i := range slices.Sorted(maps.Keys(m.VIPs)) {
		if m.VIPs[i].Own {
			names = append(names, m.Hosts[i].Name)
		}
	}
	return names
}

// moves tells an address that goes from one control-plane host to the next from a balancer
// before all of them: it leads to who has it.
func (m *Matrix) moves() bool { return len(m.Holders()) > 0 }

// idle are connections through the balancer that were not kept while nothing was said.
func (m *Matrix) idle() []Finding {
	by := map[string][]int{}
	for i, v := range m.VIPs {
		switch {
		case v.Idle == nil || v.Idle.Result == Answered:
		case v.Idle.Ended:
			what := fmt.Sprintf("the balancer ends a connection after %d s in which nothing is said, of", v.Idle.For)
			by[what] = append(by[what], i)
		default:
			what := fmt.Sprintf("the balancer forgets a connection within %d s in which nothing is said, of", v.Idle.For)
			by[what] = append(by[what], i)
		}
	}
	var found []Finding
	for _, what := range slices.Sorted(maps.Keys(by)) {
		slices.Sort(by[what])
		found = append(found, Finding{Warns, AboutIdle, "network", what, m.names(by[what]), "have the balancer keep connections for five minutes without a word, on both of its sides"})
	}
	return found
}

// fault is how a host does not reach the control plane through the balancer. A
// control-plane host that hears from all others, but never from itself, is not sent back.
func (m *Matrix) fault(i int, v *VIP, result Result) string {
	switch {
	case result == Foreign:
		return "the balancer ends TLS itself, or another service answers (" + v.Said + "), to"
	case m.Hosts[i].ControlPlane && v.Hits[i] == 0 && len(v.Hits) > 0 && !m.moves():
		return "no way through the balancer back to the same host (hairpin), from"
	case len(v.Hits) > 0:
		return "the balancer answers now and then only (" + string(result) + "), to"
	default:
		return "the balancer does not answer (" + string(result) + "), to"
	}
}
