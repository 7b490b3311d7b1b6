package netprobe

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// State is what the network does with one kind of packet from one host to another.
type State string

// States, from best to worst.
const (
	Open State = "open"
	// HostCloses: the packet arrives at the other host's interface, and that
	// host's own firewall takes it. Installing opens it, or its owner does.
	HostCloses State = "closed by the host"
	// SenderCloses: the packet does not leave the host that sends it, whose own packet
	// filter takes it. Nobody but the filter's owner opens that.
	SenderCloses State = "closed by the sender"
	// Damaged: the stream breaks because a network card makes wrong checksums for
	// what is inside the tunnel, and holds when the processor makes them.
	Damaged State = "damaged checksums"
	// Narrow: small packets arrive, large ones do not.
	Narrow State = "large packets are lost"
	// NetworkCloses: nothing arrives at the other host's interface.
	NetworkCloses State = "closed by the network"
	Unknown       State = "not known"
)

// Verdict is the state of one kind of packet from one host to another.
type Verdict struct {
	From  int    `json:"from"`
	To    int    `json:"to"`
	Kind  Kind   `json:"kind"` // TCP, UDP, IPIP, Routed, VXLANTCP for a whole VXLAN, Size
	Port  int    `json:"port,omitempty"`
	State State  `json:"state"`
	Size  int    `json:"size,omitempty"` // of Size: the largest that arrives, in bytes
	MTU   int    `json:"mtu,omitempty"`  // of Size: that of the sender's interface
	Why   string `json:"why,omitempty"`
}

// Matrix is what all reports say together.
type Matrix struct {
	Hosts []Host `json:"hosts"`
	// Missing are the hosts without a report.
	Missing  []int     `json:"missing,omitempty"`
	Verdicts []Verdict `json:"verdicts"`
	// Tried is how many of all ordered pairs were tried.
	Tried int    `json:"tried"`
	Of    int    `json:"of"`
	Skews []Skew `json:"skews"`
	Twins []Twin `json:"twins,omitempty"`
	// Deaf is where hosts could not listen.
	Deaf []DeafHost `json:"deaf,omitempty"`
	// VIPs are what hosts found behind the load balancer, by host; none where there is
	// no balancer, or its hosts have an API server already.
	VIPs map[int]*VIP `json:"vips,omitempty"`
	// OneNetwork says that every host has all others in its interface's own network:
	// no router is between them.
	OneNetwork bool `json:"oneNetwork"`
}

// DeafHost is where a host could not listen.
type DeafHost struct {
	Host int `json:"host"`
	Deaf
}

// Skew is how far a host's clock is ahead of another's.
type Skew struct {
	From  int           `json:"from"`
	To    int           `json:"to"`
	Ahead time.Duration `json:"ahead"` // of To before From, in nanoseconds
}

// Twin is something that no two hosts may share and that these do.
type Twin struct {
	What  string `json:"what"` // "machine-id"
	Value string `json:"value"`
	Hosts []int  `json:"hosts"`
}

// Judge puts the reports of one measurement together. Reports of different
// measurements are an error, as are two of the same host.
func Judge(reports []*Report) (*Matrix, error) {
	if len(reports) == 0 {
		return nil, errors.New("judge the network: no report")
	}
	first := reports[0]
	by := make([]*Report, len(first.Hosts))
	for _, r := range reports {
		switch {
		case r.Schema != Schema:
			return nil, fmt.Errorf("judge the network: a report of schema %d, this program knows %d", r.Schema, Schema)
		case r.Measured != first.Measured || !slices.Equal(r.Hosts, first.Hosts):
			return nil, errors.New("judge the network: the reports are of different measurements; measure again on all hosts with one token")
		case r.Self < 0 || r.Self >= len(by) || by[r.Self] != nil:
			return nil, fmt.Errorf("judge the network: two reports of host %d, or none of this measurement's", r.Self)
		}
		by[r.Self] = r
	}
	m := &Matrix{Hosts: first.Hosts, Of: len(by) * (len(by) - 1), OneNetwork: true}
	for i, r := range by {
		if r == nil {
			m.Missing = append(m.Missing, i)
			continue
		}
		for _, d := range r.Deaf {
			m.Deaf = append(m.Deaf, DeafHost{i, d})
		}
		m.OneNetwork = m.OneNetwork && r.hasAll()
		m.judgeFrom(r, by)
	}
	m.Twins = twins(by)
	m.VIPs = vips(by)
	return m, nil
}

// judgeFrom judges what one host tried.
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
		if ahead, known := p.skew(); known {
			m.Skews = append(m.Skews, Skew{r.Self, to, ahead})
		}
	}
}

// pair is one direction between two hosts: what the one tried, and what the other saw.
type pair struct {
	from *Report
	at   *Report // nil when the other host gave no report
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

// saw tells whether the other host saw such a packet, and whether it could have.
func (p pair) saw(kind Kind, port, size int, layer Layer) bool {
	return p.at != nil && slices.ContainsFunc(p.at.Sights, func(s Sight) bool {
		return s.From == p.from.Self && s.Kind == kind && s.Port == port && s.Layer == layer && (size == 0 || s.Size == size)
	})
}

// watches tells whether the other host's interface was watched.
func (p pair) watches() bool {
	return p.at != nil && !slices.ContainsFunc(p.at.Deaf, func(d Deaf) bool { return d.Kind == "" && d.Layer == AtInterface })
}

// reached tells whether anything of this host was seen by the other one.
func (p pair) reached() bool {
	return p.at != nil && slices.ContainsFunc(p.at.Sights, func(s Sight) bool { return s.From == p.from.Self })
}

// mute tells whether this host's kernel lets no packet of UDP to the other one go, on a port
// or, with 0, on any: only there it says so. TCP and what is in a tunnel is lost in silence.
func (p pair) mute(port int) bool {
	sent := p.attempts(UDP, Size)
	if port != 0 {
		sent = slices.DeleteFunc(sent, func(a Attempt) bool { return a.Port != port })
	}
	return len(sent) > 0 && !slices.ContainsFunc(sent, func(a Attempt) bool { return a.Result != Unsendable })
}

// passes tells whether anything of a kind came through.
func (p pair) passes(kind Kind) bool {
	return slices.ContainsFunc(p.attempts(kind), func(a Attempt) bool {
		return a.Result == Answered || a.Result == Stranger || p.saw(kind, a.Port, 0, AtInterface)
	})
}

const muted = "its kernel lets no UDP to there go either"

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
	return all
}

// judgePort takes an answer by anybody for an open network: a port may be another
// program's on hosts that are in use.
func (p pair) judgePort(a Attempt) (State, string) {
	switch {
	case a.Result == Answered:
		return Open, ""
	case a.Result == Stranger:
		return Open, "another program answers"
	case a.Result == Unsendable:
		return SenderCloses, a.Said
	case p.saw(a.Kind, a.Port, 0, AtInterface):
		return HostCloses, string(a.Result)
	case p.mute(0) && !p.passes(a.Kind):
		return SenderCloses, muted
	case p.watches():
		return NetworkCloses, string(a.Result)
	default:
		return Unknown, string(a.Result) + ", and nobody watched the other host's interface"
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
	unsendable := slices.ContainsFunc(sent, func(a Attempt) bool { return a.Result == Unsendable })
	switch {
	case arrived(AtSocket) == len(sent):
		return Open, ""
	case arrived(AtInterface) == len(sent):
		return HostCloses, ""
	case arrived(AtInterface) > 0:
		return Narrow, ""
	case unsendable:
		return Unknown, sent[0].Said
	case !p.watches():
		return Unknown, "nobody watched the other host's interface"
	case !p.reached():
		return NetworkCloses, "nothing at all arrives"
	default:
		return NetworkCloses, ""
	}
}

// judgeRouted judges the network alone: packets with pods' addresses are for no socket of
// the host.
func (p pair) judgeRouted(a Attempt) (State, string) {
	switch {
	case p.saw(Routed, 0, 0, AtInterface):
		return Open, ""
	case a.Result == Unsendable:
		return Unknown, a.Said
	case p.watches():
		return NetworkCloses, ""
	default:
		return Unknown, "nobody watched the other host's interface"
	}
}

// judgeVXLAN judges one port. The stream was tried on one of them, for all.
func (p pair) judgeVXLAN(ping Attempt) (State, string) {
	answered := func(kind Kind, port int) bool {
		return slices.ContainsFunc(p.attempts(kind), func(a Attempt) bool { return (port == 0 || a.Port == port) && a.Result == Answered })
	}
	none := p.at != nil && slices.ContainsFunc(p.at.Deaf, func(d Deaf) bool { return d.Kind == VXLANPing && d.Port == ping.Port })
	switch {
	case none:
		return Unknown, "the other host has no VXLAN on this port"
	case ping.Result == Answered && answered(VXLANUDP, ping.Port) && answered(VXLANTCP, 0):
		return Open, ""
	case ping.Result == Answered && answered(Soft, 0):
		return Damaged, ""
	case ping.Result == Answered:
		return Narrow, "small packets arrive inside the tunnel, 1 MiB by TCP does not"
	case p.saw(VXLANUDP, ping.Port, 0, AtSocket):
		return Open, "what is sent arrives, and the answer does not"
	case p.saw(VXLANPing, ping.Port, 0, AtInterface):
		return HostCloses, string(ping.Result)
	case p.mute(ping.Port), p.mute(0):
		return SenderCloses, muted
	case p.watches():
		return NetworkCloses, string(ping.Result)
	default:
		return Unknown, "nobody watched the other host's interface"
	}
}

// judgeSize finds the largest packet that came through in one piece.
func (p pair) judgeSize() (Verdict, bool) {
	v := Verdict{From: p.from.Self, To: p.to, Kind: Size, MTU: p.from.MTU, State: Unknown}
	sent := p.attempts(Size)
	if len(sent) == 0 {
		return v, false
	}
	for _, a := range sent {
		if a.Size > v.Size && (p.saw(Size, a.Port, a.Size, AtInterface) || p.saw(Size, a.Port, a.Size, AtSocket)) {
			v.Size = a.Size
		}
	}
	switch {
	case v.Size >= p.from.MTU:
		v.State = Open
	case v.Size > 0:
		v.State = Narrow
	case !slices.ContainsFunc(sent, func(a Attempt) bool { return a.Result != Unsendable }):
		v.State, v.Why = SenderCloses, sent[0].Said
	case p.watches():
		v.State, v.Why = NetworkCloses, "no packet of any size arrives"
	}
	return v, true
}

// skew takes the answer that came back soonest.
func (p pair) skew() (ahead time.Duration, known bool) {
	var best Attempt
	for _, a := range p.attempts(TCP) {
		if a.Result == Answered && (!known || a.Trip < best.Trip) {
			best, known = a, true
		}
	}
	return best.Ahead, known
}

// twins finds what hosts share.
func twins(by []*Report) []Twin {
	var found []Twin
	add := func(what, value string, i int) {
		if value == "" {
			return
		}
		for j := range found {
			if found[j].What == what && found[j].Value == value {
				found[j].Hosts = append(found[j].Hosts, i)
				return
			}
		}
		found = append(found, Twin{what, value, []int{i}})
	}
	for i, r := range by {
		if r == nil {
			continue
		}
		add("machine-id", r.Identity.MachineID, i)
		add("host name", r.Identity.Hostname, i)
		for _, mac := range r.Identity.MACs {
			add("MAC address", mac, i)
		}
	}
	return slices.DeleteFunc(found, func(t Twin) bool { return len(t.Hosts) < 2 })
}

// apiServer is the port behind the balancer.
const apiServer = 6443

// vips leaves out all where a control-plane host could not answer: an API server is there
// already, and its certificate is another one.
func vips(by []*Report) map[int]*VIP {
	found := map[int]*VIP{}
	for i, r := range by {
		if r == nil {
			continue
		}
		if slices.ContainsFunc(r.Deaf, func(d Deaf) bool { return d.Kind == TCP && d.Port == apiServer }) {
			return nil
		}
		if r.VIP != nil {
			found[i] = r.VIP
		}
	}
	return found
}
