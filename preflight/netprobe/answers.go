package netprobe

import (
	"slices"
)

// Layers of answers. The From of these observations is the other host.
const (
	// AnswerLeft is an answer to the other host that leaves the interface, behind all packet filters
	// of this host: a SYN+ACK, a UDP reply, or a reply inside a VXLAN. RefusalLeft is an RST.
	AnswerLeft  Layer = "answer left"
	RefusalLeft Layer = "refusal left"
	// RequestLeft is a SYN, a UDP test, or a ping inside a VXLAN, that leaves the interface to the other host.
	RequestLeft Layer = "request left"
	// AnswerArrived is an answer of the other host at this host's interface, before its own firewall.
	AnswerArrived Layer = "answer arrived"
	// Accepted is a TCP connection that reached the agent, possibly without data.
	Accepted Layer = "accepted"
	// HalfOpen is a SYN that passed this host's own firewall for incoming packets.
	HalfOpen Layer = "half open"
)

// judgeAnswers judges a port without an answer. If the answer of the other host leaves it, that
// host's firewall is open.
func (p pair) judgeAnswers(a Attempt) (State, string, bool) {
	left := p.saw(a.Kind, a.Port, 0, AnswerLeft) || a.Result == NoReply && p.saw(a.Kind, a.Port, 0, RefusalLeft)
	passed := p.saw(a.Kind, a.Port, 0, HalfOpen) || p.saw(a.Kind, a.Port, 0, AtSocket)
	switch {
	case !p.saw(a.Kind, a.Port, 0, AtInterface):
		return SenderCloses, noneLeaves, a.Kind == TCP && p.keeps(TCP, a.Port)
	case !left:
		return AnswersKept, string(a.Result), passed && p.captures()
	case a.Result == NoReply && p.reverse().saw(a.Kind, a.Port, 0, AnswerArrived):
		if a.Kind == UDP { // a program answers, and not the kernel: a busy host can be too late
			return Open, "the answer arrives late", true
		}
		return AnswersBlocked, string(a.Result), true
	default:
		return AnswersLost, string(a.Result), true
	}
}

// keeps reports whether no request leaves the interface of the sender, which sends other packets to
// the other host: without its hardware address, the sender sends nothing.
func (p pair) keeps(kind Kind, port int) bool {
	back := p.reverse()
	return back.captures() && !back.saw(kind, port, 0, RequestLeft) && slices.ContainsFunc(p.from.Observations, func(o Observation) bool {
		return o.From == p.to && slices.Contains([]Layer{RequestLeft, AnswerLeft, AnswerArrived}, o.Layer)
	})
}

// reverse is the other direction between the hosts.
func (p pair) reverse() pair {
	if p.at == nil {
		return pair{from: &Report{Self: p.to}, at: p.from, to: p.from.Self}
	}
	return pair{p.at, p.from, p.from.Self}
}

// loses reports whether only the replies inside a VXLAN are lost. If the requests of the other host
// do not arrive either, the verdict of that direction has the fault.
func (p pair) loses(port int) bool {
	return p.saw(VXLANUDP, port, 0, AnswerLeft) && p.reverse().saw(VXLANUDP, port, 0, AtSocket)
}
