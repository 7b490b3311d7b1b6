package netprobe

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/ipv4"
)

// Packet has the headers of a captured packet, without its data. A network team reads them like the output of
// tcpdump.
type Packet struct {
	Peer  int   `json:"peer"` // the other host
	Kind  Kind  `json:"kind"`
	Port  int   `json:"port,omitempty"`
	Layer Layer `json:"layer"`
	// Time is from the clock of this host, and the clocks of hosts differ.
	Time time.Time `json:"time"`
	// Result is that of the connection through the load balancer.
	Result Result `json:"result,omitempty"`
	// Headers begin with the IP header. The Ethernet header inside a VXLAN is left out.
	Headers []byte `json:"headers"`
}

// Layers of ICMP errors at this host's interface about its own packets.
const (
	RequestRefused Layer = "request refused"
	AnswerRefused  Layer = "answer refused"
)

// Bounds of a report.
const (
	MaxPackets = 2048
	MaxHeaders = 64
	MaxAlike   = 2 // packets of one kind, port, direction and host
)

// capturedLines is the number of lines of one host in a finding.
const capturedLines = 6

// capture describes the failing exchange of the first pair of a finding, as both hosts saw it. It returns nil if
// the captured packets do not show the fault.
func (m *Matrix) capture(all []Verdict) []string {
	if len(all) == 0 || len(m.reports) == 0 || all[0].Kind == IPIP {
		return nil
	}
	first := slices.MinFunc(all, func(a, b Verdict) int { return a.From - b.From })
	x := exchange{m: m, way: pair{m.reports[first.From], m.reports[first.To], first.To}, kind: first.Kind, port: first.Port}
	if x.kind == TCP {
		if lines := (evidence{m}).traced(first.From, first.To, TLS, first.Port); len(lines) > 0 {
			return lines
		}
	}
	switch first.State {
	case NetworkCloses, HostCloses, SenderCloses, AnswersLost, AnswersBlocked, AnswersKept, OneSided, Replaced, DataLost:
	case Narrow:
		return x.tooLarge()
	default:
		return nil
	}
	if x.kind == VXLANTCP {
		x.kind = VXLANPing
	}
	return slices.Concat(x.sender(), x.receiver())
}

// exchange is one kind of packet from one host to another, and its answers.
type exchange struct {
	m    *Matrix
	way  pair
	kind Kind
	port int
}

// sender returns the lines of the host that sends the requests.
func (x exchange) sender() []string {
	packets := packetsOf(x.way.from, x.way.to, x.kind, x.port, RequestLeft, AnswerArrived, RequestRefused)
	name := x.m.Hosts[x.way.from.Self].Name
	lines := shown(name, packets)
	if back := x.way.reverse(); x.kind != Routed && back.captures() {
		switch {
		case !x.seen(back, packets, RequestLeft):
			lines = append(lines, x.m.in.Say("%s: no such packet left its interface", plain(name)))
		case x.answered() && !x.seen(back, packets, AnswerArrived) && !has(packets, RequestRefused):
			lines = append(lines, x.m.in.Say("%s: no answer arrived at its interface", plain(name)))
		}
	}
	return bounded(lines)
}

// receiver returns the lines of the host that answers.
func (x exchange) receiver() []string {
	if x.way.at == nil {
		return nil
	}
	packets := packetsOf(x.way.at, x.way.from.Self, x.kind, x.port, AtInterface, AnswerLeft, RefusalLeft, AnswerRefused)
	name := x.m.Hosts[x.way.to].Name
	lines := shown(name, packets)
	switch {
	case !x.way.captures():
		lines = append(lines, x.m.in.Say("%s: it did not capture packets", plain(name)))
	case !x.seen(x.way, packets, AtInterface):
		lines = append(lines, x.m.in.Say("%s: no such packet arrived at its interface", plain(name)))
	case x.kind != Routed && !x.answered():
		lines = append(lines, x.m.in.Say("%s: no answer left its interface", plain(name)))
	}
	return bounded(lines)
}

// tooLarge returns the ICMP errors about packets that are too large.
func (x exchange) tooLarge() []string {
	name := x.m.Hosts[x.way.from.Self].Name
	lines := shown(name, packetsOf(x.way.from, x.way.to, Size, 0, RequestRefused))
	if len(lines) == 0 && x.way.reverse().captures() {
		lines = append(lines, x.m.in.Say("%s: no ICMP type 3 code 4 arrived at its interface", plain(name)))
	}
	return bounded(lines)
}

// answered reports whether an answer left the receiver.
func (x exchange) answered() bool {
	if x.way.at == nil {
		return false
	}
	packets := packetsOf(x.way.at, x.way.from.Self, x.kind, x.port, AnswerLeft, RefusalLeft)
	return x.seen(x.way, packets, AnswerLeft) || x.seen(x.way, packets, RefusalLeft)
}

// seen reports whether the other host of a pair has seen such a packet. Its observations of pings inside a VXLAN
// do not tell requests from answers.
func (x exchange) seen(p pair, packets []Packet, layer Layer) bool {
	return has(packets, layer) || x.kind != VXLANPing && p.saw(x.kind, x.port, 0, layer)
}

func has(packets []Packet, layer Layer) bool {
	return slices.ContainsFunc(packets, func(p Packet) bool { return p.Layer == layer })
}

// packetsOf returns the packets of a report in the order of time. A port of 0 stands for all ports.
func packetsOf(r *Report, peer int, kind Kind, port int, layers ...Layer) []Packet {
	var found []Packet
	alike := map[Layer]int{}
	for _, p := range r.Packets[:min(len(r.Packets), MaxPackets)] {
		most := MaxAlike
		if p.Kind.traced() {
			most = maxTraced
		}
		if p.Peer == peer && p.Kind == kind && (port == 0 || p.Port == port) && slices.Contains(layers, p.Layer) && len(p.Headers) <= MaxHeaders && alike[p.Layer] < most {
			alike[p.Layer]++
			found = append(found, p)
		}
	}
	slices.SortStableFunc(found, func(a, b Packet) int { return a.Time.Compare(b.Time) })
	return found
}

// shown returns a line for each packet of a host.
func shown(name string, packets []Packet) []string {
	var lines []string
	for _, p := range packets {
		text, ok := described(p.Headers, p.Kind)
		if !ok {
			continue // not from an agent
		}
		direction := "in"
		if p.Layer == RequestLeft || p.Layer == AnswerLeft || p.Layer == RefusalLeft {
			direction = "out"
		}
		lines = append(lines, fmt.Sprintf("%s %s %s %s", plain(name), p.Time.UTC().Format("15:04:05.000000"), direction, text))
	}
	return lines
}

func bounded(lines []string) []string { return lines[:min(len(lines), capturedLines)] }

// IP protocols.
const (
	protoICMP = 1
	protoTCP  = 6
	protoUDP  = 17
)

// described returns the headers of a packet as text. The headers come from another host.
func described(b []byte, kind Kind) (string, bool) {
	h, data, ok := header(b)
	if !ok {
		return "", false
	}
	ways := fmt.Sprintf("%s > %s", h.Src, h.Dst)
	if (h.Protocol == protoTCP || h.Protocol == protoUDP) && len(data) >= 4 {
		ways = fmt.Sprintf("%s.%d > %s.%d", h.Src, binary.BigEndian.Uint16(data), h.Dst, binary.BigEndian.Uint16(data[2:]))
	}
	text := fmt.Sprintf("%s: protocol %d", ways, h.Protocol)
	switch h.Protocol {
	case protoTCP:
		text = ways + ": TCP" + flags(data)
		if n := dataLength(h.TotalLen-h.Len, data); n > 0 {
			text += fmt.Sprintf(", length %d", n)
		}
	case protoUDP:
		const outer = 16 // UDP and VXLAN
		text = fmt.Sprintf("%s: UDP, length %d", ways, h.TotalLen)
		if kind == VXLANPing && len(data) > outer {
			if inner, innerData, ok := header(data[outer:]); ok {
				text = fmt.Sprintf("%s: VXLAN, %s > %s: %s", ways, inner.Src, inner.Dst, message(inner.Protocol, innerData))
			}
		}
	case protoICMP:
		text = fmt.Sprintf("%s: %s", ways, message(protoICMP, data)) + about(data)
	}
	return fmt.Sprintf("%s, ttl %d", text, h.TTL), true
}

// header parses an IPv4 header, and returns the data behind it.
func header(b []byte) (*ipv4.Header, []byte, bool) {
	h, err := ipv4.ParseHeader(b)
	if err != nil || h.Version != 4 || h.Len < ipv4.HeaderLen || h.Len > len(b) {
		return nil, nil, false
	}
	return h, b[h.Len:], true
}

// flags are the flags of a TCP header that an exchange begins with.
func flags(tcp []byte) string {
	const at, fin, syn, reset, ack = 13, 0x01, 0x02, 0x04, 0x10
	if len(tcp) <= at {
		return ""
	}
	var names []string
	for _, f := range []struct {
		bit  byte
		name string
	}{{fin, "FIN"}, {syn, "SYN"}, {reset, "RST"}, {ack, "ACK"}} {
		if tcp[at]&f.bit != 0 {
			names = append(names, f.name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return " " + strings.Join(names, "+")
}

// message is the type of an ICMP message: RFC 792, RFC 1191, RFC 1812.
func message(protocol int, icmp []byte) string {
	if protocol != protoICMP || len(icmp) < 2 {
		return fmt.Sprintf("protocol %d", protocol)
	}
	name := map[[2]byte]string{
		{0, 0}: "echo reply", {8, 0}: "echo request", {3, 0}: "network unreachable", {3, 1}: "host unreachable", {3, 2}: "protocol unreachable", {3, 3}: "port unreachable",
		{3, 4}: "fragmentation needed", {3, 9}: "administratively prohibited", {3, 10}: "administratively prohibited", {3, 13}: "administratively prohibited", {11, 0}: "TTL exceeded",
	}[[2]byte{icmp[0], icmp[1]}]
	if icmp[0] == 0 || icmp[0] == 8 {
		return "ICMP " + name
	}
	text := fmt.Sprintf("ICMP type %d code %d", icmp[0], icmp[1])
	if name != "" {
		text += " (" + name + ")"
	}
	if icmp[0] == 3 && icmp[1] == 4 && len(icmp) >= 8 {
		text += fmt.Sprintf(", mtu %d", binary.BigEndian.Uint16(icmp[6:]))
	}
	return text
}

// about names the packet that an ICMP error quotes.
func about(icmp []byte) string {
	const quoted = 8
	if len(icmp) < quoted {
		return ""
	}
	h, data, ok := header(icmp[quoted:])
	protocol := map[int]string{protoTCP: "TCP ", protoUDP: "UDP "}
	switch {
	case !ok:
		return ""
	case protocol[h.Protocol] == "" || len(data) < 4:
		return fmt.Sprintf(", about %s > %s", h.Src, h.Dst)
	}
	return fmt.Sprintf(", about %s%s.%d > %s.%d", protocol[h.Protocol], h.Src, binary.BigEndian.Uint16(data), h.Dst, binary.BigEndian.Uint16(data[2:]))
}
