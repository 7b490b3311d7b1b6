package netprobe

import (
	"fmt"
	"slices"
	"strings"
)

// Choice is a configuration of the pod network that works on this network.
type Choice struct {
	Encapsulation string   `json:"encapsulation"` // "vxlan", or "native" for no tunnel
	Port          int      `json:"port,omitempty"`
	MTU           int      `json:"mtu,omitempty"` // between hosts, in bytes; 0 for the MTU of the interfaces
	Why           []string `json:"why"`
}

// Encapsulations.
const (
	VXLAN  = "vxlan"
	Native = "native"
)

// Options are the configurations to choose from.
type Options struct {
	Ports []int // of VXLAN, in the order of preference
	// Native is true if the plugin works without a tunnel.
	Native bool
	// OpensFirewall is true if the installation opens firewalld on the hosts.
	OpensFirewall bool
}

// Choose selects VXLAN on the port that passes between all tested hosts with the largest packets, the first
// one of several. Otherwise it selects no tunnel, if all hosts are in one network, the network
// carries pod addresses, and the plugin supports it. It never selects IP in IP. If nothing passes,
// the error says which port the administrators of the network or of the hosts must allow.
func (m *Matrix) Choose(options Options) (Choice, error) {
	var c Choice
	if len(m.Missing) > 0 {
		return c, fmt.Errorf("choose the encapsulation of the pod network: no report of %s", strings.Join(m.names(m.Missing), ", "))
	}
	var refused []string
	var passing []int
	advice := fmt.Sprintf("Ask the network administrators to allow UDP to port %d between these hosts, in both directions", options.Ports[0])
	for _, port := range options.Ports {
		failed := m.vxlanFailures(port, options)
		if port == options.Ports[0] && !slices.ContainsFunc(failed, func(v Verdict) bool { return !v.State.byHosts() }) {
			advice = fmt.Sprintf("Allow UDP to port %d, and the answers, in the packet filters of these hosts", port)
		}
		if len(failed) == 0 {
			passing = append(passing, port)
			continue
		}
		refused = append(refused, fmt.Sprintf("VXLAN on UDP %d does not pass %s", port, strings.Join(m.between(failed), "; ")))
	}
	if len(passing) > 0 {
		c.Encapsulation, c.Port = VXLAN, widest(m, passing)
		c.Why = append(c.Why, fmt.Sprintf("VXLAN on UDP %d passes between all hosts", c.Port))
		if c.Port != passing[0] {
			c.Why = append(c.Why, fmt.Sprintf("VXLAN on UDP %d loses large packets on some path", passing[0]))
		}
	}
	if c.Encapsulation == "" && options.Native && m.OneNetwork {
		if failed := m.failures(Routed, 0, func(v Verdict) bool { return v.State == Open }); len(failed) == 0 {
			c.Encapsulation = Native
			c.Why = append(refused, "all hosts are in one network, which carries packets with pod addresses")
		} else {
			refused = append(refused, "Without a tunnel, packets with pod addresses do not pass "+strings.Join(m.between(failed), "; "))
		}
	}
	if c.Encapsulation == "" {
		return c, fmt.Errorf("choose the encapsulation of the pod network: %s. %s", strings.Join(refused, ". "), advice)
	}
	if c.Port != options.Ports[0] && c.Encapsulation == VXLAN {
		c.Why = append(c.Why, refused...)
	}
	if c.MTU = m.pathOn(c.Port); c.MTU > 0 {
		c.Why = append(c.Why, fmt.Sprintf("packets larger than %d bytes are lost on some path, but interfaces send larger ones", c.MTU))
	}
	if m.passes(IPIP) {
		c.Why = append(c.Why, "IP in IP (protocol 4) also passes, but is not used: one firewall rule would block it")
	} else {
		c.Why = append(c.Why, "IP in IP (protocol 4) does not pass between all hosts")
	}
	return c, nil
}

// byHosts reports whether the hosts' own packet filters are the reason.
func (s State) byHosts() bool {
	return slices.Contains([]State{HostCloses, SenderCloses, AnswersBlocked, AnswersKept}, s)
}

// vxlanFailures returns the pairs of hosts between which VXLAN on a port does not pass. A block by
// a host's own firewall counts only if the installation does not open it.
func (m *Matrix) vxlanFailures(port int, options Options) []Verdict {
	return m.failures(VXLANTCP, port, func(v Verdict) bool {
		return v.State == Open || v.State == Damaged || v.State == Narrow || v.State == Partial || v.State == HostCloses && v.Opens && options.OpensFirewall
	})
}

// failures returns the results that are not fine. A port without a test is a failure.
func (m *Matrix) failures(kind Kind, port int, fine func(Verdict) bool) []Verdict {
	var failed []Verdict
	tried := false
	for _, v := range m.Verdicts {
		if v.Kind != kind || v.Port != port {
			continue
		}
		tried = true
		if !fine(v) {
			failed = append(failed, v)
		}
	}
	if !tried {
		return []Verdict{{Kind: kind, Port: port, State: Unknown, To: min(1, len(m.Hosts)-1)}}
	}
	return failed
}

func (m *Matrix) passes(kind Kind) bool {
	return len(m.failures(kind, 0, func(v Verdict) bool { return v.State == Open || v.State == HostCloses })) == 0
}

// Ports are the VXLAN ports to test: the configured one first, then the ports that hypervisors and
// switches usually allow.
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
