package netprobe

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Severity is what a finding means for an installation.
type Severity string

// Severities.
const (
	Stops Severity = "fail" // the cluster would not come up, or break later
	Warns Severity = "warn"
	Notes Severity = "note" // worth knowing, and in nobody's way
)

// Finding is what stands between hosts, in words that who owns the network or a host
// can act on.
type Finding struct {
	Severity Severity `json:"severity"`
	About    About    `json:"about"`
	Owner    string   `json:"owner"` // "network", "hosts"
	What     string   `json:"what"`  // "TCP 2380 (etcd peers) does not arrive"
	Between  []string `json:"between"`
	Fix      string   `json:"fix"`
}

// About is which question a finding answers.
type About string

// Questions.
const (
	AboutReports About = "reports" // whether hosts were measured
	AboutPorts   About = "ports"
	AboutVXLAN   About = "vxlan"
	AboutIPIP    About = "ipip"
	AboutSize    About = "size"
	AboutClocks  About = "clocks"
	AboutTwins   About = "twins"
	AboutVIP     About = "vip"
	AboutIdle    About = "idle"
)

// Needs is what the cluster will use, of what was tried.
type Needs struct {
	TCP []Port
	// VXLAN is the pod network's UDP port; 0 when it has no such tunnel.
	VXLAN int
	// Routed says that packets of pods go to hosts of the same network as they are.
	Routed bool
	// MTU is the largest packet between hosts that the pod network is told of, in
	// bytes; 0 when it takes the interface's.
	MTU int
	// OpensFirewall says that the installation opens the hosts' own firewalls.
	OpensFirewall bool
}

// Limits of clocks, as etcd and TLS bear them.
const (
	skewStops = 2 * time.Second
	skewWarns = 500 * time.Millisecond
)

// Findings are all of them, those that stop an installation first.
func (m *Matrix) Findings(n Needs) []Finding {
	all := slices.Concat(m.lacking(), m.closed(n), m.narrow(n), m.unsized(), m.clocks(), m.sharedNames(), m.balancer(), m.idle())
	order := []Severity{Stops, Warns, Notes}
	slices.SortStableFunc(all, func(a, b Finding) int { return slices.Index(order, a.Severity) - slices.Index(order, b.Severity) })
	return all
}

// lacking are hosts of which nothing is known.
func (m *Matrix) lacking() []Finding {
	var found []Finding
	if len(m.Missing) > 0 {
		found = append(found, Finding{Stops, AboutReports, "hosts", "no report, so nothing is known of what reaches them", m.names(m.Missing), "measure there too, at the same time as on the others"})
	}
	deaf := map[string][]int{}
	for _, d := range m.Deaf {
		var what string
		switch {
		case d.Layer == AtInterface:
			what = "the interface could not be watched, so a host's firewall and the network are not told apart: " + d.Why
		case d.Kind == VXLANPing:
			what = fmt.Sprintf("no VXLAN on UDP %d: %s", d.Port, d.Why)
		default: // a port that another program has: what answers there says enough
			continue
		}
		deaf[what] = append(deaf[what], d.Host)
	}
	for _, what := range slices.Sorted(maps.Keys(deaf)) {
		found = append(found, Finding{Warns, AboutReports, "hosts", what, m.names(deaf[what]), "run as root, with the kernel module vxlan at hand"})
	}
	return found
}

// group are pairs of which the same is to be said.
type group struct {
	kind  Kind
	port  int
	state State
}

// closed are the ports and protocols that do not pass.
func (m *Matrix) closed(n Needs) []Finding {
	groups := map[group][]Verdict{}
	var order []group
	for _, v := range m.Verdicts {
		if v.State == Open || v.Kind == Size || v.Kind == Routed && !n.Routed || m.spared(v, n) {
			continue
		}
		g := group{v.Kind, v.Port, v.State}
		if groups[g] == nil {
			order = append(order, g)
		}
		groups[g] = append(groups[g], v)
	}
	var found []Finding
	for _, g := range order {
		f := g.finding(n)
		f.Between = m.between(groups[g])
		found = append(found, f)
	}
	return found
}

// spared tells large packets inside a tunnel that are lost on a path which carries what the
// pod network is told to send: there will be none of them.
func (m *Matrix) spared(v Verdict, n Needs) bool {
	return v.Kind == VXLANTCP && v.State == Narrow && n.MTU > 0 && slices.ContainsFunc(m.Verdicts, func(path Verdict) bool {
		return path.Kind == Size && path.From == v.From && path.To == v.To && path.State == Narrow && path.Size >= n.MTU
	})
}

func (g group) finding(n Needs) Finding {
	name, needed := g.name(n)
	f := Finding{Severity: Notes, About: g.about(), Owner: "network", What: name + " does not arrive", Fix: "allow " + g.rule() + " between these hosts, in both directions"}
	if needed {
		f.Severity = Stops
	} else {
		f.Fix = "nothing has to be done: the cluster does not use it"
	}
	switch g.state {
	case HostCloses:
		f.Owner, f.What = "hosts", name+" arrives, and the host's own firewall takes it"
		f.Fix = "open " + g.rule() + " on the hosts that it is sent to"
		if n.OpensFirewall {
			f.Severity, f.Fix = Notes, "nothing has to be done: the installation opens it"
		}
	case SenderCloses:
		f.Owner, f.What = "hosts", name+" does not leave the host that sends it: its own packet filter takes it"
		if needed {
			f.Fix = "let " + g.rule() + " out on the hosts that send it, where an output chain of theirs drops it (nft list ruleset); the installation does not"
		}
	case Damaged:
		f.Owner = "hosts"
		f.What = name + ": the network card makes wrong checksums for packets inside the tunnel"
		f.Fix = "update the hypervisor's network driver; or on each host, at every boot: ethtool --offload flannel.1 tx-checksum-ip-generic off"
	case Narrow:
		f.What = name + ": small packets pass, large ones do not"
		f.Fix = "let packets of the interface's full size pass, and ICMP type 3; or set network.mtu to what passes"
	case Unknown:
		f.What, f.Fix = name+": cannot be told", "measure again as root, on all hosts at the same time"
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

// name is what is sent, and whether the cluster needs it.
func (g group) name(n Needs) (string, bool) {
	switch g.kind {
	case IPIP:
		return "IP in IP (protocol 4)", false
	case Routed:
		return "a packet with pods' addresses", true
	case VXLANTCP:
		return fmt.Sprintf("VXLAN on UDP %d", g.port), g.port == n.VXLAN
	case UDP:
		return fmt.Sprintf("UDP %d", g.port), g.port == n.VXLAN
	}
	for _, p := range n.TCP {
		if p.Number == g.port {
			return fmt.Sprintf("TCP %d (%s)", g.port, p.For), true
		}
	}
	return fmt.Sprintf("TCP %d", g.port), false
}

// rule is the row of a firewall.
func (g group) rule() string {
	switch g.kind {
	case IPIP:
		return "protocol 4"
	case Routed:
		return "packets whose addresses are the pods' (kubernetes.podSubnet)"
	case VXLANTCP, UDP:
		return fmt.Sprintf("UDP to port %d", g.port)
	default:
		return fmt.Sprintf("TCP to port %d", g.port)
	}
}

// narrow are paths that carry less than the interfaces do.
func (m *Matrix) narrow(n Needs) []Finding {
	by := map[int][]Verdict{}
	for _, v := range m.Verdicts {
		if v.Kind == Size && v.State == Narrow && (n.MTU == 0 || v.Size < n.MTU) {
			by[v.Size] = append(by[v.Size], v)
		}
	}
	var found []Finding
	for _, size := range slices.Sorted(maps.Keys(by)) {
		found = append(found, Finding{
			Stops, AboutSize, "network", fmt.Sprintf("packets larger than %d bytes are lost, and the interfaces send %d", size, by[size][0].MTU), m.between(by[size]),
			fmt.Sprintf("carry packets of %d bytes between these hosts; or set network.mtu: %d in airgap.yaml and make the bundle again", by[size][0].MTU, size),
		})
	}
	return found
}

// unsized are paths of which nobody knows how large a packet they carry. They are no work
// for the network's owners: where the cluster needs what was sent, that is a finding
// of its own.
func (m *Matrix) unsized() []Finding {
	var unknown []Verdict
	for _, v := range m.Verdicts {
		if v.Kind == Size && v.Size == 0 {
			unknown = append(unknown, v)
		}
	}
	if len(unknown) == 0 {
		return nil
	}
	return []Finding{{
		Warns, AboutSize, "hosts", "how large a packet passes is not known, for none of any size was seen to arrive", m.between(unknown),
		"measure again once UDP passes between these hosts, as root and on all at the same time; or try by hand: ping -M do -s SIZE ADDRESS",
	}}
}

func (m *Matrix) clocks() []Finding {
	worst := map[Severity][]string{}
	for _, s := range m.apart() {
		severity := Warns
		if s.Ahead >= skewStops {
			severity = Stops
		}
		worst[severity] = append(worst[severity], fmt.Sprintf("%s is %s ahead of %s", m.Hosts[s.To].Name, s.Ahead.Round(100*time.Millisecond), m.Hosts[s.From].Name))
	}
	var found []Finding
	for _, severity := range []Severity{Stops, Warns} {
		if len(worst[severity]) > 0 {
			found = append(found, Finding{severity, AboutClocks, "hosts", "clocks differ", few(worst[severity]), "the same time servers on all hosts: chronyc sources, then chronyc makestep"})
		}
	}
	return found
}

// apart are the pairs of hosts whose clocks differ, each once and with the one that is ahead
// as the other: one direction may have been answered alone.
func (m *Matrix) apart() []Skew {
	var found []Skew
	at := map[[2]int]int{}
	for _, s := range m.Skews {
		if s.Ahead < 0 {
			s.From, s.To, s.Ahead = s.To, s.From, -s.Ahead
		}
		if s.Ahead < skewWarns {
			continue
		}
		pair := [2]int{min(s.From, s.To), max(s.From, s.To)}
		if i, told := at[pair]; told {
			found[i].Ahead = max(found[i].Ahead, s.Ahead)
			continue
		}
		at[pair] = len(found)
		found = append(found, s)
	}
	return found
}

func (m *Matrix) sharedNames() []Finding {
	var found []Finding
	for _, t := range m.Twins {
		fix := "give each machine its own: "
		switch t.What {
		case "machine-id":
			fix += "rm /etc/machine-id; systemd-machine-id-setup; reboot"
		case "host name":
			fix += "hostnamectl set-hostname NAME"
		default:
			fix += "in the hypervisor, a new network card"
		}
		found = append(found, Finding{Stops, AboutTwins, "hosts", "the same " + t.What + " " + t.Value, m.names(t.Hosts), fix})
	}
	return found
}

func (m *Matrix) names(hosts []int) []string {
	var names []string
	for _, i := range hosts {
		names = append(names, m.name(i))
	}
	return few(names)
}

// name is a host as a firewall's owner knows it, too.
func (m *Matrix) name(i int) string {
	return fmt.Sprintf("%s (%s)", m.Hosts[i].Name, m.Hosts[i].Address)
}

// between says between which hosts, with as few lines as tell it: senders that reach the
// same hosts not are one line.
func (m *Matrix) between(verdicts []Verdict) []string {
	if len(verdicts) == m.Tried {
		return []string{"between all hosts"}
	}
	to := map[int][]int{}
	for _, v := range verdicts {
		to[v.From] = append(to[v.From], v.To)
	}
	lines := map[string][]string{} // by the receivers, the senders
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
		text = append(text, fmt.Sprintf("from %s to %s", strings.Join(few(lines[receivers]), ", "), receivers))
	}
	return few(text)
}

// few keeps what a person reads; the report in JSON has all.
func few(lines []string) []string {
	const most = 12
	if len(lines) <= most {
		return lines
	}
	return append(slices.Clone(lines[:most]), fmt.Sprintf("and %d more", len(lines)-most))
}
