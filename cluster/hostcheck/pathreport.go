package hostcheck

import (
	"airgap.dev/airgap/preflight"
	"airgap.dev/airgap/preflight/netprobe"
)

// addPaths adds the numbers of the measured paths to the result of the check path-quality, the worst path first.
func addPaths(r *preflight.Report, m *netprobe.Matrix) {
	for i := range r.Results {
		if e := &r.Results[i]; e.ID == preflight.PathQuality {
			e.Paths = pathsOf(m)
		}
	}
}

func pathsOf(m *netprobe.Matrix) []preflight.Path {
	sizes := map[[2]int]netprobe.Verdict{}
	for _, v := range m.Verdicts {
		if v.Kind == netprobe.Size {
			sizes[[2]int{v.From, v.To}] = v
		}
	}
	var all []preflight.Path
	for _, p := range m.Paths {
		n := numbersOf(p)
		size := sizes[[2]int{p.From, p.To}]
		n.From, n.To, n.Size, n.MTU = m.Hosts[p.From].Name, m.Hosts[p.To].Name, size.Size, size.MTU
		all = append(all, n)
	}
	preflight.SortPaths(all)
	return all
}

// numbersOf returns the numbers of a path, without its hosts and its size.
func numbersOf(p netprobe.Path) preflight.Path {
	n := preflight.Path{TCP: flowsOf(p.TCP), UDP: flowsOf(p.UDP)}
	for _, t := range p.Trains {
		n.Sent, n.Lost = n.Sent+t.Sent-t.Dead, n.Lost+t.Lost()
	}
	for _, b := range p.Bursts {
		n.BurstRate = b.Carried
		if b.Arrived > 0 {
			n.ReorderedPercent = 100 * float64(b.Reordered) / float64(b.Arrived)
		}
	}
	for _, s := range p.Streams {
		n.StreamRate = max(n.StreamRate, s.Rate())
	}
	if l := p.Latency; l != nil {
		n.Trip = &preflight.Trip{Median: milliseconds(l.Typical()), P99: milliseconds(l.P99), Jitter: milliseconds(l.Jitter)}
	}
	return n
}

func flowsOf(f *netprobe.Flows) preflight.Flows {
	if f == nil {
		return preflight.Flows{}
	}
	return preflight.Flows{Tried: f.Tried, Lost: len(f.Lost)}
}
