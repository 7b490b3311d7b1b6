package netprobe

import (
	"fmt"
	"slices"
	"strings"
)

// Choice is what the pod network can be on this network.
type Choice struct {
	Encapsulation string   `json:"encapsulation"` // "vxlan", or "native" without a tunnel
	Port          int      `json:"port,omitempty"`
	MTU           int      `json:"mtu,omitempty"` // between hosts, in bytes; 0 for the interfaces' own
	Why           []string `json:"why"`
}

// Encapsulations.
const (
	VXLAN  = "vxlan"
	Native = "native"
)

// Can is what may be chosen.
type Can struct {
	Ports []int // of VXLAN, the one to be preferred first
	// Native says that the plugin can do without a tunnel.
	Native bool
	// OpensFirewall says that the installation opens the hosts' own firewalls.
	OpensFirewall bool
}

// Choose takes VXLAN on the first port that passes between all hosts that were tried, with
// the largest packet that passes; else, where all hosts are in one network that carries
// pods' addresses, and the plugin can, no tunnel. Where nothing passes it is an error that says to the network's owners
// what to open. IP in IP is never chosen.
func (m *Matrix) Choose(can Can) (Choice, error) {
	var c Choice
	if len(m.Missing) > 0 {
		return c, fmt.Errorf("choose how pods' packets travel: no report of %s", strings.Join(m.names(m.Missing), ", "))
	}
	var refused []string
	for _, port := range can.Ports {
		against := m.against(port, can)
		if len(against) == 0 {
			c.Encapsulation, c.Port = VXLAN, port
			c.Why = append(c.Why, fmt.Sprintf("VXLAN on UDP %d passes between all hosts", port))
			break
		}
		refused = append(refused, fmt.Sprintf("VXLAN on UDP %d does not pass %s", port, strings.Join(m.between(against), "; ")))
	}
	if c.Encapsulation == "" && can.Native && m.OneNetwork {
		if against := m.without(Routed, 0, func(s State) bool { return s == Open }); len(against) == 0 {
			c.Encapsulation = Native
			c.Why = append(refused, "all hosts are in one network, which carries packets with pods' addresses as they are")
		} else {
			refused = append(refused, "Without a tunnel packets with pods' addresses do not pass "+strings.Join(m.between(against), "; "))
		}
	}
	if c.Encapsulation == "" {
		return c, fmt.Errorf("choose how pods' packets travel: %s. Ask the network's owners to let UDP to port %d pass between these hosts in both directions", strings.Join(refused, ". "), can.Ports[0])
	}
	if c.Port != can.Ports[0] && c.Encapsulation == VXLAN {
		c.Why = append(c.Why, refused...)
	}
	if c.MTU = m.path(); c.MTU > 0 {
		c.Why = append(c.Why, fmt.Sprintf("packets larger than %d bytes are lost on some path, though interfaces send more", c.MTU))
	}
	if m.passes(IPIP) {
		c.Why = append(c.Why, "IP in IP (protocol 4) passes as well, and is not used: one rule in one firewall would end it")
	} else {
		c.Why = append(c.Why, "IP in IP (protocol 4) does not pass between all hosts")
	}
	return c, nil
}

// against are the pairs between which VXLAN on a port does not pass. What the hosts' own
// firewalls take counts only where nobody opens them.
func (m *Matrix) against(port int, can Can) []Verdict {
	return m.without(VXLANTCP, port, func(s State) bool {
		return s == Open || s == Damaged || s == Narrow || s == HostCloses && can.OpensFirewall
	})
}

// without are the verdicts that are not fine. A port that was not tried passes nowhere.
func (m *Matrix) without(kind Kind, port int, fine func(State) bool) []Verdict {
	var against []Verdict
	tried := false
	for _, v := range m.Verdicts {
		if v.Kind != kind || v.Port != port {
			continue
		}
		tried = true
		if !fine(v.State) {
			against = append(against, v)
		}
	}
	if !tried {
		return []Verdict{{Kind: kind, Port: port, State: Unknown, To: min(1, len(m.Hosts)-1)}}
	}
	return against
}

func (m *Matrix) passes(kind Kind) bool {
	return len(m.without(kind, 0, func(s State) bool { return s == Open || s == HostCloses })) == 0
}

// path is the largest packet that passes on every path, where that is less than some
// interface sends; else 0.
func (m *Matrix) path() int {
	least, largest := 0, 0
	for _, v := range m.Verdicts {
		if v.Kind != Size || v.Size == 0 {
			continue
		}
		if least == 0 || v.Size < least {
			least = v.Size
		}
		largest = max(largest, v.MTU)
	}
	if least == largest {
		return 0
	}
	return least
}

// Ports are those to try: the configured one first, then what hypervisors and switches
// usually let pass.
func Ports(configured int) []int {
	const linux, iana = 8472, 4789
	ports := []int{configured}
	for _, p := range []int{linux, iana} {
		if !slices.Contains(ports, p) {
			ports = append(ports, p)
		}
	}
	return ports
}
