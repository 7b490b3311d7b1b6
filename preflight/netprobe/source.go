package netprobe

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// Source is another source address of a packet or connection than its sender's address in the plan.
type Source struct {
	Host    int        `json:"host"` // the sender; for SourceLeft the receiver
	Kind    Kind       `json:"kind"`
	Port    int        `json:"port,omitempty"`
	Address netip.Addr `json:"address"`
	Layer   Layer      `json:"layer"`
}

// SourceLeft is the layer of packets that leave this host with another source address.
const SourceLeft Layer = "source left"

// MaxSources is the largest number of addresses that a report has for one host.
const MaxSources = 64

// Rewritten is a pair of hosts between which connections have another source address.
type Rewritten struct {
	From     int        `json:"from"`
	To       int        `json:"to"`
	Protocol string     `json:"protocol"` // "TCP", "UDP"
	Left     netip.Addr `json:"left"`     // the address that the sender uses
	// Arrived is the address that the other host received; the zero value if nothing arrived.
	Arrived netip.Addr `json:"arrived,omitzero"`
	// ByHost is true if a host, and not the network, rewrites the address.
	ByHost bool `json:"byHost,omitempty"`
}

// rewritten compares the addresses that leave one host with those that arrive at the other.
func (p pair) rewritten() []Rewritten {
	var found []Rewritten
	for _, a := range p.attempts(TCP, TLS, UDP, Size) {
		r := Rewritten{From: p.from.Self, To: p.to, Protocol: "TCP", Left: p.address()}
		if a.Kind == UDP || a.Kind == Size {
			r.Protocol = "UDP"
		}
		if a.Source.IsValid() {
			r.Left = a.Source
		}
		r.Arrived = p.arrived(a)
		if !r.Arrived.IsValid() && a.Result == Answered {
			r.Arrived = p.address()
		}
		if r.Arrived == p.address() || r.Left == p.address() && !r.Arrived.IsValid() {
			continue
		}
		r.ByHost = r.Arrived.IsValid() && r.Arrived != r.Left && p.leaves(r.Protocol, r.Arrived)
		if len(found) < MaxSources && !slices.Contains(found, r) {
			found = append(found, r)
		}
	}
	return found
}

// address is the sender's address in the plan.
func (p pair) address() netip.Addr {
	if p.from.Self < 0 || p.from.Self >= len(p.from.Hosts) {
		return netip.Addr{}
	}
	return p.from.Hosts[p.from.Self].Address
}

// arrived is the source address with which a test arrived; the zero value for the address in the plan.
func (p pair) arrived(a Attempt) netip.Addr {
	if p.at == nil {
		return netip.Addr{}
	}
	i := slices.IndexFunc(p.at.Sources, func(s Source) bool {
		return s.Host == p.from.Self && s.Kind == a.Kind && s.Port == a.Port && (s.Layer == AtSocket || s.Layer == AtInterface)
	})
	if i < 0 {
		return netip.Addr{}
	}
	return p.at.Sources[i].Address
}

// leaves reports whether packets already leave the sender with an address.
func (p pair) leaves(protocol string, address netip.Addr) bool {
	return slices.ContainsFunc(p.from.Sources, func(s Source) bool {
		return s.Host == p.to && s.Layer == SourceLeft && s.Address == address && strings.EqualFold(string(s.Kind), protocol)
	})
}

// cause is the reason for another source address.
type cause struct {
	protocol string
	routes   bool // the sender's routes choose it
	byHost   bool
}

// sources returns the findings about connections with other source addresses. Hosts' firewalls admit
// the addresses of nodes only, and etcd compares a peer's address with its certificate.
func (m *Matrix) sources(n Needs) []Finding {
	type line struct {
		from          int
		left, arrived netip.Addr
	}
	between := map[cause]map[line][]int{} // with the receivers
	lines := map[cause][]line{}
	var order []cause
	etcd := map[cause]bool{}
	for _, r := range m.Rewritten {
		c := cause{r.Protocol, r.Left == r.Arrived || !r.Arrived.IsValid(), r.ByHost}
		l := line{r.From, r.Left, r.Arrived}
		if between[c] == nil {
			order = append(order, c)
			between[c] = map[line][]int{}
		}
		if between[c][l] == nil {
			lines[c] = append(lines[c], l)
		}
		between[c][l] = append(between[c][l], r.To)
		etcd[c] = etcd[c] || m.Hosts[r.From].ControlPlane && m.Hosts[r.To].ControlPlane
	}
	var found []Finding
	for _, c := range order {
		var text []string
		for _, l := range lines[c] {
			way := m.in.Say("from %s to %s", m.name(l.from), strings.Join(m.names(between[c][l]), ", "))
			if !c.routes {
				way = m.in.Say("%s: leaves as %s, arrives as %s", way, l.left, l.arrived)
			} else {
				way += fmt.Sprintf(": comes from %s instead of %s", l.left, m.Hosts[l.from].Address)
			}
			text = append(text, way)
		}
		f := c.finding(m.in)
		f.Between = m.few(text)
		first := lines[c][0]
		f.Capture = evidence{m}.arrivedAs(first.from, between[c][first][0])
		if f.Severity = Warns; n.OpensFirewall || etcd[c] {
			f.Severity = Stops
		}
		found = append(found, f)
	}
	return found
}

func (c cause) finding(in Language) Finding {
	switch {
	case c.routes:
		return Finding{
			About: AboutPorts, Owner: HostTeam, What: c.protocol + " connections have another source address than in airgap.yaml, because the sender's routes choose it",
			Fix: "set the source address of the route on the sending host (ip route get ADDRESS shows the route and its src), or use the other address in airgap.yaml",
		}
	case c.byHost:
		return Finding{
			About: AboutPorts, Owner: HostTeam, What: "source NAT on the sending host changes the source address of " + c.protocol,
			Fix: "exclude the addresses of the cluster's hosts from masquerade and snat rules on the sending host: nft list ruleset; firewall-cmd --list-all-zones",
		}
	default:
		return Finding{
			About: AboutPorts, Owner: NetworkTeam, What: in.Say("source NAT between the hosts changes the source address of %s", c.protocol),
			Fix: in.Say("exclude connections between these hosts from source NAT"),
		}
	}
}
