package netprobe

import (
	"encoding/binary"
	"fmt"
	"slices"
)

// maxTraced is the number of packets of a connection in one direction.
const maxTraced = 4

// evidence finds the packets of findings.
type evidence struct{ *Matrix }

// traced returns the packets of the first failed connection or flow of a kind, as both hosts saw them; nil
// if the host that began it has none. A port of 0 stands for all ports.
func (m evidence) traced(from, to int, kind Kind, port int) []string {
	p, known := m.pairOf(from, to)
	if !known {
		return nil
	}
	sent := packetsOf(p.from, to, kind, port, RequestLeft, AnswerArrived)
	i := slices.IndexFunc(sent, func(q Packet) bool { return q.Layer == RequestLeft && sourceOf(q) > 0 })
	if i < 0 {
		return nil
	}
	source, at := sourceOf(sent[i]), sent[i].Port
	sent = packetsOf(p.from.ofSource(source), to, kind, at, RequestLeft, AnswerArrived)
	lines := ended(shown(m.Hosts[from].Name, sent), m.noAnswer(from, sent))
	if p.at == nil {
		return lines
	}
	name := plain(m.Hosts[to].Name)
	received := packetsOf(p.at.ofSource(source), from, kind, at, AtInterface, AnswerLeft)
	end := ""
	switch {
	case !p.captures():
		end = m.in.Say("%s: it did not capture packets", name)
	case !has(received, AtInterface):
		end = m.in.Say("%s: no such packet arrived at its interface", name)
	case hasData(sent, RequestLeft) && !hasData(received, AtInterface):
		end = m.in.Say("%s: no data arrived at its interface", name)
	case isTCP(received) && !has(received, AnswerLeft):
		end = m.in.Say("%s: no answer left its interface", name)
	}
	return append(lines, ended(shown(m.Hosts[to].Name, received), end)...)
}

// noAnswer says that a host got no answer to the packets of a connection; "" otherwise.
func (m evidence) noAnswer(host int, sent []Packet) string {
	name := plain(m.Hosts[host].Name)
	switch {
	case !isTCP(sent):
		return ""
	case !has(sent, AnswerArrived):
		return m.in.Say("%s: no answer arrived at its interface", name)
	case hasData(sent, RequestLeft) && !hasData(sent, AnswerArrived):
		return m.in.Say("%s: no data arrived at its interface", name)
	}
	return ""
}

// pairOf is one direction between two hosts with a report of the first.
func (m evidence) pairOf(from, to int) (pair, bool) {
	n := len(m.reports)
	if from < 0 || from >= n || to < 0 || to >= n || to >= len(m.Hosts) || m.reports[from] == nil {
		return pair{}, false
	}
	return pair{m.reports[from], m.reports[to], to}, true
}

// atBalancer returns the packets of one connection through the load balancer with one of the results, of the
// first of the hosts that has any.
func (m evidence) atBalancer(hosts []int, kind Kind, results ...Result) []string {
	for _, host := range hosts {
		if host < 0 || host >= len(m.reports) || m.reports[host] == nil {
			continue
		}
		r := m.reports[host]
		for _, p := range r.Packets[:min(len(r.Packets), MaxPackets)] {
			if p.Kind != kind || !slices.Contains(results, p.Result) || sourceOf(p) == 0 {
				continue
			}
			all := packetsOf(r.ofSource(sourceOf(p)), p.Peer, kind, p.Port, RequestLeft, AnswerArrived, AtInterface, AnswerLeft)
			end := ""
			if has(all, RequestLeft) {
				end = m.noAnswer(host, all)
			}
			return ended(shown(m.Hosts[host].Name, all), end)
		}
	}
	return nil
}

// noneLeft reports whether connections failed without a packet of the hosts, which capture packets.
func (m evidence) noneLeft(hosts []int, results []Result) bool {
	answered := slices.ContainsFunc(results, func(r Result) bool { return r != NoReply && r != Unreachable })
	return !answered && !slices.ContainsFunc(m.ListenErrors, func(e HostListenError) bool {
		return e.Kind == "" && e.Layer == AtInterface && slices.Contains(hosts, e.Host)
	})
}

// arrivedAs returns the packets that arrived with another source address than the sender's.
func (m evidence) arrivedAs(from, to int) []string {
	if _, known := m.pairOf(to, from); !known {
		return nil
	}
	return bounded(shown(m.Hosts[to].Name, packetsOf(m.reports[to], from, OtherSource, 0, AtInterface, AnswerLeft)))
}

// ended bounds the lines of a host, and adds a last one if it is not empty.
func ended(lines []string, last string) []string {
	if last == "" {
		return bounded(lines)
	}
	return append(lines[:min(len(lines), capturedLines-1)], last)
}

// sourceOf is the port of the host that began the connection; 0 if the headers are incomplete.
func sourceOf(p Packet) int {
	h, data, ok := header(p.Headers)
	if !ok || h.Protocol != protoTCP && h.Protocol != protoUDP || len(data) < 4 {
		return 0
	}
	if p.Layer == AnswerArrived || p.Layer == AnswerLeft {
		data = data[2:]
	}
	return int(binary.BigEndian.Uint16(data))
}

// ofSource returns a report with only the packets of connections from a source port.
func (r *Report) ofSource(port int) *Report {
	of := *r
	of.Packets = slices.DeleteFunc(slices.Clone(r.Packets[:min(len(r.Packets), MaxPackets)]), func(p Packet) bool { return sourceOf(p) != port })
	return &of
}

func isTCP(all []Packet) bool {
	return slices.ContainsFunc(all, func(p Packet) bool {
		h, _, ok := header(p.Headers)
		return ok && h.Protocol == protoTCP
	})
}

func hasData(all []Packet, layer Layer) bool {
	return slices.ContainsFunc(all, func(p Packet) bool {
		h, data, ok := header(p.Headers)
		return p.Layer == layer && ok && dataLength(h.TotalLen-h.Len, data) > 0
	})
}

// dataLength is the number of bytes behind a TCP header; 0 if the header is incomplete.
func dataLength(length int, tcp []byte) int {
	const lengthAt = 12
	if len(tcp) <= lengthAt {
		return 0
	}
	return max(0, length-int(tcp[lengthAt]>>4)*4)
}

// withoutPackets adds to each finding for the teams of the network without packets why it has none.
func (m evidence) withoutPackets(all []Finding) []Finding {
	for i, f := range all {
		if f.Severity == Notes || !f.Owner.onNetwork() || len(f.Capture) > 0 || f.NoCapture != "" {
			continue
		}
		all[i].NoCapture = m.in.Say("no packets: the report of the host that sent them has none of this fault")
		if slices.ContainsFunc(m.ListenErrors, func(e HostListenError) bool { return e.Kind == "" && e.Layer == AtInterface }) {
			all[i].NoCapture = m.in.Say("no packets: a host did not capture them; measure as root")
		}
	}
	return all
}

// messages is the line about the messages of another device with an address.
func (m evidence) messages(c HostClaim) []string {
	return []string{fmt.Sprintf("%s in ARP: %s is-at %s, %d", plain(m.Hosts[c.Host].Name), c.Address, c.MAC, c.Count)}
}
