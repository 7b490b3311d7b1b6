package netprobe

import "slices"

// portSize is the largest packet that arrived on a UDP port, from one host to another: a device can limit the
// packets of one tunnel, and pass larger ones on another port.
type portSize struct {
	from, to, port int
	size           int // bytes of an IP packet; 0 if none arrived
}

// portSizes returns the sizes on each tested port.
func (p pair) portSizes() []portSize {
	var all []portSize
	for _, a := range p.attempts(Size) {
		i := slices.IndexFunc(all, func(s portSize) bool { return s.port == a.Port })
		if i < 0 {
			i = len(all)
			all = append(all, portSize{from: p.from.Self, to: p.to, port: a.Port})
		}
		if a.Size > all[i].size && (p.saw(Size, a.Port, a.Size, AtInterface) || p.saw(Size, a.Port, a.Size, AtSocket)) {
			all[i].size = a.Size
		}
	}
	return all
}

// pathOn is the largest packet in bytes that passes on a port, or without a tunnel for port 0, on every path; 0 if
// no path limits the interfaces. A size on a path with lost flows or a limited rate is chance.
func (m *Matrix) pathOn(port int) int {
	least, largest := 0, 0
	for _, v := range m.Verdicts {
		if v.Kind != Size || v.Size == 0 {
			continue
		}
		size := v.Size
		for _, s := range m.sizes {
			if s.from == v.From && s.to == v.To && s.port == port && s.size > 0 {
				size = s.size
			}
		}
		if least == 0 || size < least {
			least = size
		}
		largest = max(largest, v.MTU)
	}
	if least == largest {
		return 0
	}
	return least
}

// widest returns the port that passes the largest packets; the first one of several.
func widest(m *Matrix, ports []int) int {
	best, size := 0, -1
	for _, port := range ports {
		is := m.pathOn(port)
		if is == 0 {
			is = maxPacket
			if slices.ContainsFunc(m.Verdicts, func(v Verdict) bool { return v.Kind == VXLANTCP && v.Port == port && v.State == Narrow }) {
				is = 0 // only the stream shows it, so the size is unknown
			}
		}
		if is > size {
			best, size = port, is
		}
	}
	return best
}

// maxPacket is larger than an IP packet.
const maxPacket = 1 << 16
