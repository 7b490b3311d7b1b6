package agent

import (
	"bytes"
	"cmp"
	"slices"
	"sync"
	"time"

	"golang.org/x/net/bpf"

	"airgap.dev/airgap/preflight/netprobe"
)

// ICMP errors: RFC 792.
const (
	icmpHeader    = 8
	unreachable   = 3
	fragmentation = 4 // code of unreachable: the packet is too large
	timeExceeded  = 11
	ethernet      = 14
)

// capture keeps the headers of the first packets of each kind for the report. A host of the plan can send any
// number of different packets, so the numbers for each host and for all hosts are bounded.
type capture struct {
	mu   sync.Mutex
	kept map[netprobe.Observation][]netprobe.Packet
	of   map[int]int // number of kept packets by host
	all  int
}

// maxOfHost and maxOfHosts are more than the tests of one host, and of its peers, give.
const (
	maxOfHost  = 256
	maxOfHosts = 16384
)

// keep keeps the headers of a packet and its time. A host with a bond sees the same packet twice.
func (c *capture) keep(o netprobe.Observation, b []byte, at time.Time) {
	most := netprobe.MaxAlike
	switch o.Kind {
	case netprobe.Size: // one ICMP error shows all sizes
		most = 1
		if o.Layer != netprobe.RequestRefused {
			return
		}
	case netprobe.IPIP, netprobe.Routed, netprobe.VXLANUDP: // their observations are sufficient
		return
	case netprobe.VXLANPing:
		if o.Layer == netprobe.AtInterface && isEchoReply(b) {
			o.Layer = netprobe.AnswerArrived
		}
		most = 1
	case netprobe.UDP:
		most = 1
	}
	o.Size, o.Count = 0, 0
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.kept[o]) >= most || c.of[o.From] >= maxOfHost || c.all >= maxOfHosts {
		return
	}
	p := netprobe.Packet{Peer: o.From, Kind: o.Kind, Port: o.Port, Layer: o.Layer, Time: at, Headers: headers(b)}
	if len(p.Headers) == 0 || slices.ContainsFunc(c.kept[o], func(q netprobe.Packet) bool { return bytes.Equal(q.Headers, p.Headers) }) {
		return
	}
	if c.kept == nil {
		c.kept, c.of = map[netprobe.Observation][]netprobe.Packet{}, map[int]int{}
	}
	c.kept[o] = append(c.kept[o], p)
	c.of[o.From]++
	c.all++
}

// packets returns the kept packets without those of the exchanges that this host knows to be complete.
func (c *capture) packets(r *record, most int) []netprobe.Packet {
	c.mu.Lock()
	defer c.mu.Unlock()
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []netprobe.Packet
	for o, kept := range c.kept {
		if !r.complete(o) {
			all = append(all, kept...)
		}
	}
	slices.SortFunc(all, func(a, b netprobe.Packet) int {
		return cmp.Or(compare(a.Peer, a.Kind, a.Port, 0, b.Peer, b.Kind, b.Port, 0), a.Time.Compare(b.Time))
	})
	return all[:min(len(all), most)]
}

// complete reports whether the exchange of a packet has worked. A host that answers by UDP does not know
// whether its answer arrives.
func (r *record) complete(o netprobe.Observation) bool {
	switch o.Layer {
	case netprobe.RequestLeft, netprobe.AnswerArrived:
		return slices.ContainsFunc(r.Attempts, func(a netprobe.Attempt) bool {
			return a.To == o.From && a.Kind == o.Kind && a.Port == o.Port && a.Result == netprobe.Answered
		})
	case netprobe.AtInterface, netprobe.AnswerLeft, netprobe.RefusalLeft:
		_, received := r.seen[netprobe.Observation{From: o.From, Kind: o.Kind, Port: o.Port, Layer: netprobe.AtSocket}]
		return received && o.Kind == netprobe.TCP
	}
	return false
}

// headers returns a copy of the headers of a packet, without its data and without the Ethernet header inside a
// VXLAN.
func headers(b []byte) []byte {
	h, ok := parseIP(b)
	if !ok {
		return nil
	}
	start := len(b) - len(h.payload)
	end := start
	switch h.protocol {
	case protoTCP:
		if len(h.payload) > flagsAt {
			end += max(int(h.payload[flagsAt-1]>>4)*4, ipHeader) // both headers have at least 20 bytes
		}
	case protoUDP:
		end += udpHeader
		if inner := start + udpHeader + vxlanHeader; len(h.payload) > innerDataAt && h.payload[udpHeader] == 0x08 { // the flag of VXLAN
			b = slices.Concat(b[:inner], b[inner+ethernet:])
			end = inner + ipHeader + icmpHeader
		}
	case protoICMP:
		end += icmpHeader + ipHeader + udpHeader
	}
	return slices.Clone(b[:min(end, len(b), netprobe.MaxHeaders)])
}

// isEchoReply reports whether a VXLAN packet has an ICMP echo reply inside.
func isEchoReply(b []byte) bool {
	h, ok := parseIP(b)
	return ok && len(h.payload) > innerDataAt && h.payload[innerDataAt] == echoReply
}

// icmpErrors is the part of the filter for ICMP errors.
func icmpErrors() []bpf.Instruction {
	return []bpf.Instruction{
		bpf.LoadAbsolute{Off: 9, Size: 1},
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: protoICMP, SkipTrue: 4},
		bpf.LoadIndirect{Off: 0, Size: 1},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: unreachable, SkipTrue: 1},
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: timeExceeded, SkipTrue: 1},
		bpf.RetConstant{Val: snapLength},
	}
}

// icmpError returns the test or the answer that an ICMP error is about. A router, a firewall or the other host
// sends it, and quotes the headers of the packet.
func (p hostPlan) icmpError(b []byte) (netprobe.Observation, bool) {
	h, ok := parseIP(b)
	if !ok || h.protocol != protoICMP || len(h.payload) < icmpHeader || h.payload[0] != unreachable && h.payload[0] != timeExceeded {
		return netprobe.Observation{}, false
	}
	quoted, ok := parseIP(h.payload[icmpHeader:])
	to, known := p.ByAddress(quoted.to)
	if !ok || !known || to == p.Self {
		return netprobe.Observation{}, false
	}
	tooLarge := h.payload[0] == unreachable && h.payload[1] == fragmentation
	found := netprobe.Observation{From: to, Port: quoted.toPort(), Layer: netprobe.RequestRefused}
	switch {
	case quoted.protocol == protoTCP && p.hasTCP(found.Port):
		found.Kind = netprobe.TCP
	case quoted.protocol == protoTCP && p.hasTCP(quoted.fromPort()):
		found.Kind, found.Port, found.Layer = netprobe.TCP, quoted.fromPort(), netprobe.AnswerRefused
	case quoted.protocol == protoUDP && slices.Contains(slices.Concat(p.UDP, p.VXLAN), found.Port) && tooLarge:
		found.Kind = netprobe.Size
	case quoted.protocol == protoUDP && slices.Contains(p.VXLAN, found.Port):
		found.Kind = netprobe.VXLANPing
	case quoted.protocol == protoUDP && slices.Contains(p.UDP, found.Port):
		found.Kind = netprobe.UDP
	case quoted.protocol == protoUDP && slices.Contains(p.UDP, quoted.fromPort()):
		found.Kind, found.Port, found.Layer = netprobe.UDP, quoted.fromPort(), netprobe.AnswerRefused
	default:
		return netprobe.Observation{}, false
	}
	return found, true
}

// takeRequests accepts the UDP tests of ports. The other messages are many.
func takeRequests() []bpf.Instruction {
	kind := uint32(slices.Index(netprobe.Kinds(), netprobe.UDP))
	const lastOfMagic = uint32('G')<<24 | uint32('P')<<16 | uint32('R')<<8
	return takeIf(udpHeader+1, 4, 0xffffffff, lastOfMagic|kind)
}
