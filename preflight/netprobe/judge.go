package netprobe

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// State is the result for one kind of packet from one host to another.
type State string

// States, from best to worst.
const (
	Open State = "open"
	// HostCloses: the packet arrives at the other host's interface, but that host's own firewall
	// blocks it. Verdict.Opens says whether the installation opens it.
	HostCloses State = "closed by the host"
	// SenderCloses: the sending host's own packet filter, which the installation does not change, blocks it.
	SenderCloses State = "closed by the sender"
	// Damaged: a stream inside the tunnel fails with checksums by the network card, and works with
	// checksums by the CPU.
	Damaged State = "damaged checksums"
	// Narrow: small packets arrive, large ones do not.
	Narrow State = "large packets are lost"
	// NetworkCloses: nothing arrives at the other host's interface.
	NetworkCloses State = "closed by the network"
	Unknown       State = "unknown"
)

// Verdict is the result for one kind of packet from one host to another.
type Verdict struct {
	From  int    `json:"from"`
	To    int    `json:"to"`
	Kind  Kind   `json:"kind"` // TCP, UDP, IPIP, Routed, VXLANTCP for a whole VXLAN, Size
	Port  int    `json:"port,omitempty"`
	State State  `json:"state"`
	Size  int    `json:"size,omitempty"` // for Size: the largest packet that arrives, in bytes
	MTU   int    `json:"mtu,omitempty"`  // for Size: of the sender's interface
	Why   string `json:"why,omitempty"`
	// Rule and Opens are those of Closed, for HostCloses.
	Rule  string `json:"rule,omitempty"`
	Opens bool   `json:"opens,omitempty"`
	// Reverse is true if the rule is a host's reverse path filter.
	Reverse bool `json:"reverse,omitempty"`
}

// Matrix is the combined result of all reports.
type Matrix struct {
	Hosts []Host `json:"hosts"`
	// Missing are the hosts without a report.
	Missing  []int     `json:"missing,omitempty"`
	Verdicts []Verdict `json:"verdicts"`
	// Tried is the number of tested ordered pairs, out of Of.
	Tried      int         `json:"tried"`
	Of         int         `json:"of"`
	Skews      []Skew      `json:"skews"`
	Duplicates []Duplicate `json:"duplicates,omitempty"`
	// Rewritten are the pairs between which connections have other source addresses than in the plan.
	Rewritten []Rewritten `json:"rewritten,omitempty"`
	// ListenErrors are the failures to listen on hosts.
	ListenErrors []HostListenError `json:"listenErrors,omitempty"`
	// VIPs are the tests of the load balancer, by host; nil without a load balancer, or if a
	// control-plane host already has an API server.
	VIPs map[int]*VIP `json:"vips,omitempty"`
	// Paths are the numbers of the paths between hosts.
	Paths []Path `json:"paths,omitempty"`
	// Claims are the addresses that other devices use, too.
	Claims []HostClaim `json:"claims,omitempty"`
	cards  []card
	// Behind has the views of the control-plane hosts behind the load balancer, by host.
	Behind map[int]*Behind `json:"behind,omitempty"`
	// OneNetwork is true if all hosts are in the network of every host's interface, without a router
	// between them.
	OneNetwork bool      `json:"oneNetwork"`
	reports    []*Report // by host; nil without a report
	sizes      []portSize
	in         Language // of the findings about the network; "": English
}

// HostListenError is a failure of a host to listen.
type HostListenError struct {
	Host int `json:"host"`
	ListenError
}

// Skew is the difference between the clocks of two hosts.
type Skew struct {
	From  int           `json:"from"`
	To    int           `json:"to"`
	Ahead time.Duration `json:"ahead"` // clock of To minus clock of From, in nanoseconds
}

// Duplicate is an identifier that hosts share, although it must be unique.
type Duplicate struct {
	What  string `json:"what"` // "machine-id"
	Value string `json:"value"`
	Hosts []int  `json:"hosts"`
}

// Judge combines the reports of one measurement. Reports of different measurements and two reports
// of the same host are an error.
func Judge(reports []*Report) (*Matrix, error) {
	if len(reports) == 0 {
		return nil, errors.New("evaluate the measurement: no report")
	}
	first := reports[0]
	by := make([]*Report, len(first.Hosts))
	for _, r := range reports {
		switch {
		case r.Schema != Schema:
			return nil, fmt.Errorf("evaluate the measurement: a report has the schema %d, this program reads %d: use the same airgap version on all hosts", r.Schema, Schema)
		case r.Measured != first.Measured || !slices.Equal(r.Hosts, first.Hosts):
			return nil, errors.New("evaluate the measurement: the reports are from different measurements; measure again on all hosts at the same time")
		case r.Self < 0 || r.Self >= len(by) || by[r.Self] != nil:
			return nil, fmt.Errorf("evaluate the measurement: two reports of host %d, or an unknown host", r.Self)
		}
		if err := r.bounded(); err != nil {
			return nil, err
		}
		by[r.Self] = r
	}
	m := &Matrix{Hosts: first.Hosts, Of: len(by) * (len(by) - 1), OneNetwork: true, reports: by}
	for i, r := range by {
		if r == nil {
			m.Missing = append(m.Missing, i)
			continue
		}
		for _, e := range r.ListenErrors {
			m.ListenErrors = append(m.ListenErrors, HostListenError{i, e})
		}
		m.OneNetwork = m.OneNetwork && r.hasAll()
		m.judgeFrom(r, by)
		m.addPaths(r)
	}
	m.markPartial()
	m.markOneSided()
	m.Duplicates = duplicates(by)
	m.VIPs, m.Behind = vips(by), behinds(by)
	m.Claims, m.cards = claims(by), cards(by)
	return m, nil
}

// judgeFrom adds the results of the tests of one host.
func (m *Matrix) judgeFrom(r *Report, by []*Report) {
	var peers []int
	for _, a := range r.Attempts {
		if a.To < 0 || a.To >= len(by) || a.To == r.Self {
			continue
		}
		if !slices.Contains(peers, a.To) {
			peers = append(peers, a.To)
		}
	}
	m.Tried += len(peers)
	for _, to := range peers {
		p := pair{r, by[to], to}
		m.Verdicts = append(m.Verdicts, p.verdicts()...)
		m.Rewritten = append(m.Rewritten, p.rewritten()...)
		m.sizes = append(m.sizes, p.portSizes()...)
		if ahead, known := p.skew(); known {
			m.Skews = append(m.Skews, Skew{r.Self, to, ahead})
		}
	}
}

// pair is one direction between two hosts: the tests of one host, and the observations of the other.
type pair struct {
	from *Report
	at   *Report // nil if the other host has no report
	to   int
}

func (p pair) attempts(kinds ...Kind) []Attempt {
	var found []Attempt
	for _, a := range p.from.Attempts {
		if a.To == p.to && slices.Contains(kinds, a.Kind) {
			found = append(found, a)
		}
	}
	return found
}

// saw reports whether the other host received such a packet.
func (p pair) saw(kind Kind, port, size int, layer Layer) bool {
	return p.at != nil && slices.ContainsFunc(p.at.Observations, func(s Observation) bool {
		return s.From == p.from.Self && s.Kind == kind && s.Port == port && s.Layer == layer && (size == 0 || s.Size == size)
	})
}

// captures reports whether the other host captured packets at its interface.
func (p pair) captures() bool {
	return p.at != nil && !slices.ContainsFunc(p.at.ListenErrors, func(e ListenError) bool { return e.Kind == "" && e.Layer == AtInterface })
}

// reached reports whether the other host received any packet from this host.
func (p pair) reached() bool {
	return p.at != nil && slices.ContainsFunc(p.at.Observations, func(s Observation) bool { return s.From == p.from.Self })
}

// senderBlocks reports whether this host's kernel refuses to send any UDP packet to the other host,
// on a port, or on all ports for 0. The kernel reports an error for UDP only: it drops TCP and
// packets in a tunnel silently.
func (p pair) senderBlocks(port int) bool {
	sent := p.attempts(UDP, Size)
	if port != 0 {
		sent = slices.DeleteFunc(sent, func(a Attempt) bool { return a.Port != port })
	}
	return len(sent) > 0 && !slices.ContainsFunc(sent, func(a Attempt) bool { return a.Result != NotSent })
}

// passes reports whether any packet of a kind arrived.
func (p pair) passes(kind Kind) bool {
	return slices.ContainsFunc(p.attempts(kind), func(a Attempt) bool {
		return a.Result == Answered || a.Connected() || p.saw(kind, a.Port, 0, AtInterface)
	})
}

// Explanations of results.
const (
	noUDPEither = "its kernel also sends no UDP there"
	noneLeaves  = "no packet leaves its interface"
	NotCaptured = "the other host did not capture packets"
)

func (p pair) verdicts() []Verdict {
	var all []Verdict
	add := func(kind Kind, port int, state State, why string) {
		all = append(all, Verdict{From: p.from.Self, To: p.to, Kind: kind, Port: port, State: state, Why: why})
	}
	for _, a := range p.attempts(TCP, UDP) {
		state, why := p.judgePort(a)
		add(a.Kind, a.Port, state, why)
	}
	if sent := p.attempts(IPIP); len(sent) > 0 {
		state, why := p.judgeIPIP(sent)
		add(IPIP, 0, state, why)
	}
	for _, a := range p.attempts(Routed) {
		state, why := p.judgeRouted(a)
		add(Routed, 0, state, why)
	}
	for _, a := range p.attempts(VXLANPing) {
		state, why := p.judgeVXLAN(a)
		add(VXLANTCP, a.Port, state, why)
	}
	if v, ok := p.judgeSize(); ok {
		all = append(all, v)
	}
	return p.reversed(p.explained(all))
}

// judgePort treats a reply of a program on the other host as an open network: on a host in use
// another program may have the port.
func (p pair) judgePort(a Attempt) (State, string) {
	if a.Kind == TCP && (a.Result == Answered || a.Connected()) {
		return p.judgeStream(a)
	}
	if a.Result != Answered && a.Result != NotSent {
		if state, why, known := p.judgeAnswers(a); known {
			return state, why
		}
	}
	switch {
	case a.Result == Answered:
		return Open, ""
	case a.Result == NotSent:
		return SenderCloses, a.Said
	case p.saw(a.Kind, a.Port, 0, AtInterface):
		return HostCloses, string(a.Result)
	case p.senderBlocks(0) && !p.passes(a.Kind):
		return SenderCloses, noUDPEither
	case p.captures():
		return NetworkCloses, string(a.Result)
	default:
		return Unknown, string(a.Result) + ", and " + NotCaptured
	}
}

func (p pair) judgeIPIP(sent []Attempt) (State, string) {
	arrived := func(layer Layer) int {
		n := 0
		for _, a := range sent {
			if p.saw(IPIP, 0, a.Size, layer) {
				n++
			}
		}
		return n
	}
	notSent := slices.ContainsFunc(sent, func(a Attempt) bool { return a.Result == NotSent })
	switch {
	case arrived(AtSocket) == len(sent):
		return Open, ""
	case arrived(AtInterface) == len(sent):
		return HostCloses, ""
	case arrived(AtInterface) > 0:
		return Narrow, ""
	case notSent:
		return Unknown, sent[0].Said
	case !p.captures():
		return Unknown, NotCaptured
	case !p.reached():
		return NetworkCloses, "no packet of any kind arrives"
	default:
		return NetworkCloses, ""
	}
}

// judgeRouted checks only the network: no socket of the host receives packets with pod addresses.
func (p pair) judgeRouted(a Attempt) (State, string) {
	switch {
	case p.saw(Routed, 0, 0, AtInterface):
		return Open, ""
	case a.Result == NotSent:
		return Unknown, a.Said
	case p.captures():
		return NetworkCloses, ""
	default:
		return Unknown, NotCaptured
	}
}

// judgeVXLAN evaluates one port. A stream that passes on one port counts for the ports without one.
func (p pair) judgeVXLAN(ping Attempt) (State, string) {
	answered := func(kind Kind, port int) bool {
		return slices.ContainsFunc(p.attempts(kind), func(a Attempt) bool { return (port == 0 || a.Port == port) && a.Result == Answered })
	}
	streamed := func(kind Kind) bool {
		own := slices.ContainsFunc(p.attempts(VXLANTCP), func(a Attempt) bool { return a.Port == ping.Port })
		return own && answered(kind, ping.Port) || !own && answered(kind, 0)
	}
	none := p.at != nil && slices.ContainsFunc(p.at.ListenErrors, func(e ListenError) bool { return e.Kind == VXLANPing && e.Port == ping.Port })
	switch {
	case none:
		return Unknown, "the other host has no VXLAN on this port"
	case ping.Result == Answered && answered(VXLANUDP, ping.Port) && streamed(VXLANTCP):
		return Open, ""
	case ping.Result == Answered && streamed(Soft):
		return Damaged, ""
	case ping.Result == Answered:
		return Narrow, "small packets arrive inside the tunnel, but 1 MiB over TCP does not"
	case p.loses(ping.Port) && !answered(VXLANUDP, ping.Port):
		return AnswersLost, string(ping.Result)
	case p.saw(VXLANUDP, ping.Port, 0, AtSocket):
		return Open, "packets arrive, but replies do not"
	case p.saw(VXLANPing, ping.Port, 0, AtInterface):
		return HostCloses, string(ping.Result)
	case p.senderBlocks(ping.Port), p.senderBlocks(0):
		return SenderCloses, noUDPEither
	case p.keeps(VXLANPing, ping.Port):
		return SenderCloses, noneLeaves
	case p.captures():
		return NetworkCloses, string(ping.Result)
	default:
		return Unknown, NotCaptured
	}
}

// judgeSize finds the largest packet that arrived without fragmentation, on any port.
func (p pair) judgeSize() (Verdict, bool) {
	v := Verdict{From: p.from.Self, To: p.to, Kind: Size, MTU: p.from.MTU, State: Unknown}
	sent := p.attempts(Size)
	if len(sent) == 0 {
		return v, false
	}
	for _, s := range p.portSizes() {
		v.Size = max(v.Size, s.size)
	}
	switch {
	case v.Size >= p.from.MTU:
		v.State = Open
	case v.Size > 0:
		v.State = Narrow
	case !slices.ContainsFunc(sent, func(a Attempt) bool { return a.Result != NotSent }):
		v.State, v.Why = SenderCloses, sent[0].Said
	case p.captures():
		v.State, v.Why = NetworkCloses, "no packet of any size arrives"
	}
	return v, true
}

// skew uses the reply with the shortest round trip. The other clock was read at any moment of that
// trip, which is long on a busy host. So the result is only the difference that the trip does not
// explain.
func (p pair) skew() (ahead time.Duration, known bool) {
	var best Attempt
	for _, a := range p.attempts(TCP) {
		if a.Result == Answered && (!known || a.Trip < best.Trip) {
			best, known = a, true
		}
	}
	certain := max(0, best.Ahead.Abs()-best.Trip.Abs()/2)
	if best.Ahead < 0 {
		certain = -certain
	}
	return certain, known
}
