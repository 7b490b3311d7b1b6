package agent

import (
	"net"
	"net/netip"
	"slices"

	"airgap.dev/airgap/preflight/netprobe"
)

func (r *record) sourced(s netprobe.Source) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if slices.Contains(r.Sources, s) {
		return
	}
	n := 0
	for _, known := range r.Sources {
		if known.Host == s.Host {
			n++
		}
	}
	if n < netprobe.MaxSources {
		r.Sources = append(r.Sources, s)
	}
}

// sourcedAt records the source address of an authenticated connection, if it is not the sender's.
func (c conversation) sourcedAt(m message) {
	from, err := netip.ParseAddrPort(c.conn.RemoteAddr().String())
	if err == nil && from.Addr().Unmap() != c.plan.Hosts[m.from].Address {
		c.report.sourced(netprobe.Source{Host: m.from, Kind: m.kind, Port: m.port, Address: from.Addr().Unmap(), Layer: netprobe.AtSocket})
		c.failsHere(netprobe.OtherSource, m.from, "")
	}
}

// otherSource returns the source address of a received UDP message, if it is not the sender's.
func (p hostPlan) otherSource(b []byte) (netprobe.Source, bool) {
	h, ok := parseIP(b)
	if !ok || h.protocol != protoUDP || len(h.payload) < udpHeader {
		return netprobe.Source{}, false
	}
	m, err := decode(p.Token, h.payload[udpHeader:])
	if err != nil || m.reply || m.to != p.Self || m.from >= len(p.Hosts) || m.kind != netprobe.UDP && m.kind != netprobe.Size || p.Hosts[m.from].Address == h.from {
		return netprobe.Source{}, false
	}
	return netprobe.Source{Host: m.from, Kind: m.kind, Port: m.port, Address: h.from, Layer: netprobe.AtInterface}, true
}

// sourceLeft returns the source address of a packet that leaves this host, if it is not the host's.
func (p hostPlan) sourceLeft(b []byte) (netprobe.Source, bool) {
	h, ok := parseIP(b)
	if !ok || h.from == p.Own().Address {
		return netprobe.Source{}, false
	}
	host, known := p.ByAddress(h.to)
	if !known {
		return netprobe.Source{}, false
	}
	switch {
	case h.protocol == protoTCP && len(h.payload) > flagsAt && h.payload[flagsAt]&flagsSYNACK == flagSYN && p.hasTCP(h.toPort()):
		return netprobe.Source{Host: host, Kind: netprobe.TCP, Port: h.toPort(), Address: h.from, Layer: netprobe.SourceLeft}, true
	case h.protocol == protoUDP && len(h.payload) > udpHeader:
		m, err := decode(p.Token, h.payload[udpHeader:])
		return netprobe.Source{Host: host, Kind: netprobe.UDP, Port: h.toPort(), Address: h.from, Layer: netprobe.SourceLeft}, err == nil && m.from == p.Self
	}
	return netprobe.Source{}, false
}

// routedSource is the source address that this host's routes choose for a host; the zero value for
// the address in the plan. Connecting a UDP socket sends nothing.
func (a *agent) routedSource(to int) netip.Addr {
	conn, err := net.DialUDP("udp4", nil, net.UDPAddrFromAddrPort(netip.AddrPortFrom(a.plan.Hosts[to].Address, discard)))
	if err != nil {
		return netip.Addr{} // the dial of the test reports it
	}
	defer conn.Close()
	chosen := conn.LocalAddr().(*net.UDPAddr).AddrPort().Addr().Unmap()
	if chosen == a.plan.Own().Address {
		return netip.Addr{}
	}
	return chosen
}
