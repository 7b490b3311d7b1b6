package netprobe

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Severity is the effect of a finding on an installation.
type Severity string

// Severities.
const (
	Stops Severity = "fail" // the cluster would not start, or would break later
	Warns Severity = "warn"
	Notes Severity = "note" // information only
)

// Finding is a problem between hosts, worded for the administrators of the network or the hosts.
type Finding struct {
	Severity Severity `json:"severity"`
	About    About    `json:"about"`
	Owner    Team     `json:"owner"`
	What     string   `json:"what"` // "TCP 2380 (etcd peers) does not arrive"
	Between  []string `json:"between"`
	Fix      string   `json:"fix"`
	// Capture has the packets of the first pair in Between, at most 12 lines. NoCapture says why a
	// finding for the network or balancer team has none.
	Capture   []string `json:"capture,omitempty"`
	NoCapture string   `json:"noCapture,omitempty"`
}

// About is the topic of a finding.
type About string

// Topics.
const (
	AboutReports    About = "reports" // missing or incomplete measurements
	AboutPorts      About = "ports"
	AboutVXLAN      About = "vxlan"
	AboutIPIP       About = "ipip"
	AboutSize       About = "size"
	AboutClocks     About = "clocks"
	AboutDuplicates About = "duplicates"
	AboutVIP        About = "vip"
	AboutIdle       About = "idle"
	AboutPaths      About = "paths"   // flows, losses and rates
	AboutLatency    About = "latency" // between members of etcd
)

// Needs is the part of the measurement that the cluster will use.
type Needs struct {
	TCP []Port
	// VXLAN is the UDP port of the pod network; 0 without VXLAN.
	VXLAN int
	// Routed is true if pod packets go to hosts in the same network without a tunnel.
	Routed bool
	// MTU is the configured largest packet of the pod network between hosts, in bytes; 0 for the MTU
	// of the interface.
	MTU int
	// Tunnel is the name of the pod network's VXLAN interface.
	Tunnel string
	// SoftChecksums is true if the installation lets the CPU calculate the checksums in the tunnel.
	SoftChecksums bool
	// OpensFirewall is true if the installation opens firewalld on the hosts.
	OpensFirewall bool
	// Election is etcd's election timeout; 0 for etcd's default.
	Election time.Duration
}

// Findings returns all findings, the most severe ones first.
func (m *Matrix) Findings(n Needs) []Finding {
	all := slices.Concat(m.unmeasured(), m.closed(n), m.narrow(n), m.unknownSizes(), m.clocks(), m.sharedIdentities(), m.sources(n), m.claimed(), m.balancer(), m.idle(), m.paths(n))
	all = evidence{m}.withoutPackets(all)
	order := []Severity{Stops, Warns, Notes}
	slices.SortStableFunc(all, func(a, b Finding) int { return slices.Index(order, a.Severity) - slices.Index(order, b.Severity) })
	return all
}

// unmeasured returns the findings about missing or incomplete measurements.
func (m *Matrix) unmeasured() []Finding {
	var found []Finding
	if len(m.Missing) > 0 {
		found = append(found, Finding{Severity: Stops, About: AboutReports, Owner: HostTeam, What: "no report, so the connections of these hosts are unknown", Between: m.names(m.Missing), Fix: "measure on these hosts, too, at the same time as on the others"})
	}
	failed := map[string][]int{}
	for _, e := range m.ListenErrors {
		var what string
		switch {
		case e.Layer == AtInterface:
			what = "packets on the interface cannot be captured, so a host's firewall and the network cannot be distinguished: " + e.Why
		case e.Kind == VXLANPing:
			what = fmt.Sprintf("no VXLAN on UDP %d: %s", e.Port, e.Why)
		default: // another program uses the port; its replies are enough
			continue
		}
		failed[what] = append(failed[what], e.Host)
	}
	for _, what := range slices.Sorted(maps.Keys(failed)) {
		found = append(found, Finding{Severity: Warns, About: AboutReports, Owner: HostTeam, What: what, Between: m.names(failed[what]), Fix: "run as root, and make the kernel module vxlan available"})
	}
	return found
}

// group is the key of results that give the same finding.
type group struct {
	kind  Kind
	port  int
	state State
	opens bool   // for HostCloses: firewalld alone closes it
	stops string // for HostCloses: the rule that the installation does not open
	// reverse is true if the rule is the reverse path filter.
	reverse bool
}

// closed returns the findings about ports and protocols that do not pass.
func (m *Matrix) closed(n Needs) []Finding {
	groups := map[group][]Verdict{}
	var order []group
	for _, v := range m.Verdicts {
		if v.State == Open || v.State == Partial || v.Kind == Size || v.Kind == Routed && !n.Routed || m.covered(v, n) {
			continue
		}
		g := group{kind: v.Kind, port: v.Port, state: v.State, opens: v.Opens, reverse: v.Reverse}
		if !v.Opens {
			g.stops = v.Rule
		}
		if groups[g] == nil {
			order = append(order, g)
		}
		groups[g] = append(groups[g], v)
	}
	var found []Finding
	for _, g := range order {
		f := g.finding(n, m.in)
		f.Between = m.between(groups[g])
		if f.Severity != Notes {
			f.Capture = m.capture(groups[g])
		}
		found = append(found, f)
	}
	return found
}

// covered reports whether the configured MTU of the pod network avoids the loss of large packets
// inside a tunnel, or the finding about the sizes on a path has the reason for the loss of TLS.
func (m *Matrix) covered(v Verdict, n Needs) bool {
	if v.Kind == TCP && v.State == Narrow {
		return slices.ContainsFunc(m.Verdicts, func(path Verdict) bool {
			between := path.From == v.From && path.To == v.To || path.From == v.To && path.To == v.From
			return between && path.Kind == Size && path.State == Narrow && (m.stalls(path) || path.named(n))
		})
	}
	return v.Kind == VXLANTCP && v.State == Narrow && n.MTU > 0 && slices.ContainsFunc(m.Verdicts, func(path Verdict) bool {
		return path.Kind == Size && path.From == v.From && path.To == v.To && path.State == Narrow && path.Size >= n.MTU
	})
}

func (g group) finding(n Needs, in Language) Finding {
	name, needed := g.name(n, in)
	f := Finding{Severity: Notes, About: g.about(), Owner: NetworkTeam, What: in.Say("%s does not arrive", name), Fix: in.Say("allow %s between these hosts, in both directions", g.rule(in))}
	if needed {
		f.Severity = Stops
	} else {
		f.Fix = "no action is needed: the cluster does not use it"
	}
	switch g.state {
	case HostCloses:
		f = g.closedByHost(f, name, needed, n, in)
	case SenderCloses:
		f.Owner, f.What = HostTeam, name+" does not leave the sending host: its own packet filter blocks it"
		if needed {
			f.Fix = "allow outgoing " + g.rule(in) + " on the sending hosts, where an output chain drops it (nft list ruleset); the installation does not change that chain"
		}
	case Damaged:
		f.Owner = HypervisorTeam
		f.What = name + ": the network card creates wrong checksums for packets inside the tunnel"
		f.Fix = "update the hypervisor's network driver; or set hostSettings.tunnelChecksum: software in airgap.yaml and create the bundle again: airgap then turns tx-checksum-ip-generic off on " + n.Tunnel
		if n.SoftChecksums {
			f.Severity, f.Fix = Notes, "no action is needed: the installation lets the CPU calculate the checksums on "+n.Tunnel
		}
	case Narrow:
		f.What = in.Say("%s: small packets pass, large ones do not", name)
		f.Fix = in.Say("allow packets of the interface's full size, and ICMP type 3; or set network.mtu to the largest size that passes")
		if g.kind == TCP { // network.mtu is for pods only
			f.Fix = in.Say("allow packets of the interface's full size, and ICMP type 3; or lower the MTU of the hosts' interfaces")
		}
	case AnswersLost, AnswersBlocked, AnswersKept, OneSided, Replaced, DataLost, TLSCloses, Inspected:
		g.connection(&f, name, needed, in)
	case Unknown:
		f.Owner, f.What, f.Fix = HostTeam, name+": unknown", "measure again as root, on all hosts at the same time"
		if needed {
			f.Severity = Warns
		}
	}
	return f
}

func (g group) about() About {
	switch g.kind {
	case IPIP:
		return AboutIPIP
	case VXLANTCP:
		return AboutVXLAN
	default:
		return AboutPorts
	}
}

// name is the name of the packets, and whether the cluster needs them.
func (g group) name(n Needs, in Language) (string, bool) {
	switch g.kind {
	case IPIP:
		return "IP in IP (protocol 4)", false
	case Routed:
		return in.Say("a packet with pod addresses"), true
	case VXLANTCP:
		return in.Say("VXLAN on UDP %d", g.port), g.port == n.VXLAN
	case UDP:
		return fmt.Sprintf("UDP %d", g.port), g.port == n.VXLAN
	}
	for _, p := range n.TCP {
		if p.Number == g.port {
			return fmt.Sprintf("TCP %d (%s)", g.port, in.Say(p.For)), true
		}
	}
	return fmt.Sprintf("TCP %d", g.port), false
}

// rule is the firewall rule that allows the packets.
func (g group) rule(in Language) string {
	switch g.kind {
	case IPIP:
		return in.Say("protocol 4")
	case Routed:
		return in.Say("packets with pod addresses (kubernetes.podSubnet)")
	case VXLANTCP, UDP:
		return in.Say("UDP to port %d", g.port)
	default:
		return in.Say("TCP to port %d", g.port)
	}
}

// named reports whether a size is too small for the pod network.
func (v Verdict) named(n Needs) bool { return n.MTU == 0 || v.Size < n.MTU }

// narrow returns the findings about paths that lose full-size packets.
func (m *Matrix) narrow(n Needs) []Finding {
	by := map[int][]Verdict{}
	for _, v := range m.Verdicts {
		if v.Kind == Size && v.State == Narrow && v.named(n) && !m.stalls(v) {
			by[v.Size] = append(by[v.Size], v)
		}
	}
	var found []Finding
	for _, size := range slices.Sorted(maps.Keys(by)) {
		found = append(found, Finding{
			Severity: Stops, About: AboutSize, Owner: NetworkTeam, What: m.in.Say("packets larger than %d bytes are lost, but the interfaces send up to %d", size, by[size][0].MTU), Between: m.between(by[size]),
			Fix:     m.in.Say("allow packets of %d bytes between these hosts; or set network.mtu: %d in airgap.yaml and create the bundle again", by[size][0].MTU, size),
			Capture: m.capture(by[size]),
		})
	}
	return found
}

// unknownSizes returns the finding about paths with an unknown largest packet. It is not for the
// network administrators: if the cluster needs the lost packets, there is another finding.
func (m *Matrix) unknownSizes() []Finding {
	var unknown []Verdict
	for _, v := range m.Verdicts {
		if v.Kind == Size && v.Size == 0 && v.State != Partial {
			unknown = append(unknown, v)
		}
	}
	if len(unknown) == 0 {
		return nil
	}
	return []Finding{{
		Severity: Warns, About: AboutSize, Owner: HostTeam, What: "the largest packet size is unknown, because no packet of any size arrived", Between: m.between(unknown),
		Fix: "measure again after UDP passes between these hosts, as root and on all hosts at the same time; or test by hand: ping -M do -s SIZE ADDRESS",
	}}
}

func (m *Matrix) sharedIdentities() []Finding {
	var found []Finding
	for _, d := range m.Duplicates {
		fix, severity, owner := "make it unique on each machine: ", Stops, HostTeam
		switch d.What {
		case "product_uuid": // vendors leave the same one in many machines, and Kubernetes does not compare it
			fix, severity, owner = fix+"set it in the firmware, or in the hypervisor's settings of the machine", Warns, HypervisorTeam
		case "machine-id":
			fix += "rm /etc/machine-id; systemd-machine-id-setup; reboot"
		case "host name":
			fix += "hostnamectl set-hostname NAME"
		default:
			fix, owner = fix+"replace the network card in the hypervisor", HypervisorTeam
		}
		found = append(found, Finding{Severity: severity, About: AboutDuplicates, Owner: owner, What: "the same " + d.What + " " + d.Value, Between: m.names(d.Hosts), Fix: fix})
	}
	return found
}

func (m *Matrix) names(hosts []int) []string {
	var names []string
	for _, i := range hosts {
		names = append(names, m.name(i))
	}
	return m.few(names)
}

// name is the name of a host with its address, which firewall administrators know.
func (m *Matrix) name(i int) string {
	return fmt.Sprintf("%s (%s)", m.Hosts[i].Name, m.Hosts[i].Address)
}

// between describes the pairs of hosts in few lines: senders with the same receivers share a line.
func (m *Matrix) between(verdicts []Verdict) []string {
	if len(verdicts) == m.Tried {
		return []string{m.in.Say("between all hosts")}
	}
	to := map[int][]int{}
	for _, v := range verdicts {
		to[v.From] = append(to[v.From], v.To)
	}
	lines := map[string][]string{} // senders by receivers
	var order []string
	for _, from := range slices.Sorted(maps.Keys(to)) {
		receivers := strings.Join(m.names(to[from]), ", ")
		if lines[receivers] == nil {
			order = append(order, receivers)
		}
		lines[receivers] = append(lines[receivers], m.name(from))
	}
	var text []string
	for _, receivers := range order {
		text = append(text, m.in.Say("from %s to %s", strings.Join(m.few(lines[receivers]), ", "), receivers))
	}
	return m.few(text)
}

// few shortens a list for display; the JSON report is complete.
func (m *Matrix) few(lines []string) []string {
	const most = 12
	if len(lines) <= most {
		return lines
	}
	return append(slices.Clone(lines[:most]), m.in.Say("and %d more", len(lines)-most))
}
