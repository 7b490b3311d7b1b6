package hostcheck

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net"
	"net/netip"
	"slices"
	"strings"
	"time"

	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/cni"
	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/settings"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/preflight"
	"airgap.dev/airgap/preflight/netprobe"
)

// ProbePlan returns the plan of the measurement between the hosts of airgap.yaml: their future ports, and the
// possible encapsulations of the pod network. Absent hosts are not in it.
func ProbePlan(c *config.Cluster) (netprobe.Plan, error) {
	plan := netprobe.Plan{
		Token: netprobe.NewToken(), TCP: probePorts(c), UDP: []int{genevePort}, VXLAN: netprobe.Ports(c.Network.Port),
		Pods: pods(c), Limit: probeLimit, Pairs: netprobe.DefaultPairs, Patience: probePatience,
	}
	if Balancer(c) != "" {
		plan.VIP = c.Kubernetes.ControlPlaneEndpoint
		plan.Idle = netprobe.Seconds(preflight.IdleWatch(c.Preflight) / time.Second)
		plan.Limit += plan.Idle
	}
	for _, n := range c.PresentNodes() {
		address, err := netip.ParseAddr(n.Address)
		if err != nil {
			return plan, fmt.Errorf("plan the measurement between hosts: address of %s: %w", n.Name, err)
		}
		plan.Hosts = append(plan.Hosts, netprobe.Host{Name: n.Name, Address: address, ControlPlane: n.Has(config.ControlPlane), Rack: n.Rack})
	}
	return plan, plan.Validate()
}

// pods returns the pod subnet if pods' packets may travel without a tunnel. Otherwise no host sends packets with
// these addresses, because they could cause an alarm in network monitoring.
func pods(c *config.Cluster) netip.Prefix {
	n := c.Network
	if n.Encapsulation == cni.VXLAN || n.Encapsulation == cni.Auto && !n.Routes() {
		return netip.Prefix{}
	}
	subnet, _ := netip.ParsePrefix(c.Kubernetes.PodSubnet) // already validated; a zero prefix is not measured
	return subnet
}

const (
	genevePort = 6081 // Geneve, the other tunnel of Cilium
	probeLimit = netprobe.Seconds(180)
	// probePatience is three intervals of a health check, which are usually ten seconds each.
	probePatience = netprobe.Seconds(30)
)

// Balancer returns the host in controlPlaneEndpoint, or "" if it is the address of a node.
func Balancer(c *config.Cluster) string {
	host, _, err := net.SplitHostPort(c.Kubernetes.ControlPlaneEndpoint)
	if err != nil || slices.ContainsFunc(c.Nodes, func(n config.Node) bool { return n.Address == host }) {
		return ""
	}
	return host
}

// probePorts returns the TCP ports to which other hosts connect, from the table of ports.
func probePorts(c *config.Cluster) []netprobe.Port {
	var ports []netprobe.Port
	worker := (settings.Listens{Network: c.NetworkPorts()}).Ports()
	for _, p := range (settings.Listens{ControlPlane: true, Registry: c.Registry.Port, Network: c.NetworkPorts()}).Ports() {
		if p.Protocol != "tcp" || p.From == settings.OnlySelf || p.First != p.Last {
			continue
		}
		to, from := netprobe.ControlPlanes, netprobe.All
		if slices.Contains(worker, p) {
			to = netprobe.All
		}
		if p.From == settings.OnlyMasters {
			from = netprobe.ControlPlanes
		}
		ports = append(ports, netprobe.Port{Number: p.First, For: p.Program, To: to, From: from})
	}
	return ports
}

// Measured runs the measurement on the hosts of links. It reports hosts without a result to p.
func Measured(ctx context.Context, plan netprobe.Plan, links map[int]netprobe.Link, p ui.Progress) (*netprobe.Matrix, error) {
	p.Now("Measure the network")
	defer p.Now("")
	reports, lost := netprobe.Coordinate(ctx, plan, links, func(string) {})
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	for i, err := range lost {
		p.Say("measure the network from %s: %v", plan.Hosts[i].Name, err)
	}
	return netprobe.Judge(reports)
}

// LocalAgent returns the link to the agent of this host. It is a separate process, because an agent gives up
// the privileges of root, and this process needs them: it saves the result, and installs.
func LocalAgent(ctx context.Context) netprobe.Link {
	return netprobe.Piped(func(in io.Reader, out io.Writer) error {
		_, err := host.Local{}.Run(ctx, host.Cmd{Name: "/proc/self/exe", Args: []string{"netprobe", "agent"}, Stdin: in, Stdout: out})
		return err
	})
}

// JudgeBetween returns the report of the checks between hosts.
func JudgeBetween(ctx context.Context, s *site.Site, m *netprobe.Matrix, choice preflight.Choice) (preflight.Report, error) {
	can, err := CanChoose(s)
	if err != nil {
		return preflight.Report{}, err
	}
	timed, err := SettleEtcd(s, m)
	if err != nil {
		return preflight.Report{}, err
	}
	results := resultsBetween(timed.Config, m, can)
	results[preflight.EtcdLatency] = withTimes(results[preflight.EtcdLatency], s, timed, m)
	judgePeers(results, s.Config, m, s.Index.Lock.BGPPeers)
	report, err := preflight.RunCrossHost(ctx, results, s.Config.Preflight, time.Now().UTC(), choice)
	_, needs := NeedsOf(s.Config, m, can)
	findings := m.Findings(needs)
	addCaptures(&report, findings)
	addOwners(&report, findings)
	addPaths(&report, m)
	return report, err
}

// CanChoose returns the encapsulations that airgap can choose for the pod network. An existing cluster keeps its own.
func CanChoose(s *site.Site) (netprobe.Options, error) {
	can := netprobe.Options{Ports: []int{s.Config.Network.Port}, OpensFirewall: s.Config.HostSettings.Firewalld != settings.LeaveFirewalld}
	began, _, err := begunHere()
	if s.Config.Network.Encapsulation == cni.Auto && s.Config.Network.VXLANPort() > 0 && !began && !s.Encapsulated() {
		can.Ports, can.Native = netprobe.Ports(s.Config.Network.Port), s.Config.Network.Routes()
	}
	return can, err
}

// Settle returns the site with the encapsulation and the times of etcd that the measurement selects. It changes
// nothing on the host.
func Settle(s *site.Site, m *netprobe.Matrix, p ui.Progress) (*site.Site, error) {
	timed, err := SettleEtcd(s, m)
	if err != nil {
		return nil, err
	}
	if timed != s {
		p.Say("%s", timesText(timed))
	}
	s = timed
	can, err := CanChoose(s)
	if err != nil || len(can.Ports) < 2 {
		return s, err
	}
	c, errChoice := m.Choose(can)
	if errChoice != nil {
		p.Say("%v", errChoice) // the user skips the check encapsulation or sets it to warn
		return s, nil
	}
	if c.Encapsulation == netprobe.VXLAN && c.Port == s.Config.Network.Port && (c.MTU == 0 || s.Config.Network.MTU > 0) {
		return s, nil // the same as in airgap.yaml
	}
	p.Say("pods' packets use %s", strings.ReplaceAll(chosen(c), "\n", "; "))
	return s.Choosing(&site.NetworkChoice{Choice: c}), nil
}

// resultsBetween returns the measurement as results of the checks between hosts.
func resultsBetween(c *config.Cluster, m *netprobe.Matrix, can netprobe.Options) preflight.CrossHost {
	encapsulation, needs := NeedsOf(c, m, can)
	between := preflight.CrossHost{preflight.Encapsulation: encapsulation}
	findings := m.Findings(needs)
	for _, q := range []struct {
		id    string
		about netprobe.About
		fine  string
	}{
		{preflight.Measured, netprobe.AboutReports, measuredPairs(m)},
		{preflight.PortsReach, netprobe.AboutPorts, portList(needs.TCP)},
		{preflight.VXLANPath, netprobe.AboutVXLAN, "ICMP, UDP and 1 MiB by TCP pass inside it"},
		{preflight.PathMTU, netprobe.AboutSize, "packets of the interface's full size pass in one piece"},
		{preflight.PathQuality, netprobe.AboutPaths, pathNumbers(m)},
		{preflight.EtcdLatency, netprobe.AboutLatency, latencyNumbers(m)},
		{preflight.IPIP, netprobe.AboutIPIP, "passes; airgap does not use it"},
		{preflight.LoadBalancer, netprobe.AboutVIP, balanced(c, m)},
		{preflight.LoadBalancerIdle, netprobe.AboutIdle, idle(m)},
		{preflight.ClockSkew, netprobe.AboutClocks, worstSkew(m)},
		{preflight.Duplicates, netprobe.AboutDuplicates, "machine-id, name and network cards differ"},
	} {
		between[q.id] = answer(findings, q.about, q.fine)
	}
	if len(m.Skews) == 0 {
		between[preflight.ClockSkew] = preflight.Result{Status: preflight.Skip, Found: "not measured: no agent was reachable on a port to report its time"}
	}
	return between
}

// NeedsOf returns the cluster's requirements of the network, and the result of the check encapsulation. If
// airgap.yaml does not set the encapsulation, the measurement selects it.
func NeedsOf(c *config.Cluster, m *netprobe.Matrix, can netprobe.Options) (preflight.Result, netprobe.Needs) {
	needs := netprobe.Needs{
		TCP: probePorts(c), VXLAN: c.Network.VXLANPort(), MTU: c.Network.MTU, OpensFirewall: can.OpensFirewall, Election: c.Kubernetes.ElectionTimeout(),
		Tunnel: cni.Tunnel(c.Network), SoftChecksums: c.HostSettings.TunnelChecksum == settings.SoftwareChecksum,
	}
	result, port, mtu := encapsulation(c, m, can, needs)
	needs.VXLAN, needs.MTU = port, mtu
	needs.Routed = port == 0 || c.Network.Encapsulation == cni.CrossSubnet
	return result, needs
}

// encapsulation returns whether pods' packets can pass between the hosts, with the UDP port (0: no tunnel) and the
// packet size.
func encapsulation(c *config.Cluster, m *netprobe.Matrix, can netprobe.Options, needs netprobe.Needs) (r preflight.Result, port, size int) {
	if c.Network.VXLANPort() == 0 {
		return withoutTunnel(c, m), 0, needs.MTU
	}
	choice, err := m.Choose(can)
	if err != nil {
		return preflight.Result{Status: preflight.Fail, Found: err.Error(), Want: "a path for pods' packets", Fix: "give this message to the network administrators, or choose another network.port"}, needs.VXLAN, needs.MTU
	}
	if needs.MTU == 0 && len(can.Ports) > 1 {
		needs.MTU = choice.MTU // the pod network will use it
	}
	return preflight.Result{Status: preflight.Pass, Found: chosen(choice)}, choice.Port, needs.MTU
}

// withoutTunnel returns the result for a network without a tunnel. The routes of flannel and Cilium reach only hosts
// in the same network. With BGP, the site's routers can learn the routes: judgePeers.
func withoutTunnel(c *config.Cluster, m *netprobe.Matrix) preflight.Result {
	switch {
	case m.OneNetwork:
		return preflight.Result{Status: preflight.Pass, Found: "no tunnel; all hosts are in one network"}
	case c.Network.Calico.BGP:
		return preflight.Result{Status: preflight.Pass, Found: "no tunnel; the site's routers learn the pods' addresses through BGP"}
	default:
		return preflight.Result{Status: preflight.Fail, Found: "no tunnel, and the routers between the hosts do not know the pods' addresses", Want: "all hosts in one network",
			Fix: "set network.encapsulation: vxlan in airgap.yaml and create the bundle again"}
	}
}

// wanted is the desired result of a measured number, "" for other results. The measured number can be bad.
func wanted(about netprobe.About) string {
	switch about {
	case netprobe.AboutReports:
		return "reports of all hosts"
	case netprobe.AboutPaths:
		return "all flows pass, less than 0.25 % of the packets are lost, and TCP streams have 10 Mbit/s or more"
	case netprobe.AboutLatency:
		return "round trips of at most 10 ms between control-plane hosts"
	case netprobe.AboutClocks:
		return "clocks that differ by less than 500 ms"
	default:
		return ""
	}
}

// answer combines the findings of one check into its result.
func answer(findings []netprobe.Finding, about netprobe.About, fine string) preflight.Result {
	r := preflight.Result{Status: preflight.Pass}
	var found, fix []string
	for _, f := range findings {
		if f.About != about {
			continue
		}
		found = append(found, f.What+": "+strings.Join(f.Between, "; "))
		if f.Severity == netprobe.Notes {
			found[len(found)-1] += " (" + f.Fix + ")"
			continue
		}
		found[len(found)-1] += " (" + f.Owner.Label() + ")"
		if status := (map[netprobe.Severity]preflight.Status{netprobe.Stops: preflight.Fail, netprobe.Warns: preflight.Warn})[f.Severity]; r.Status != preflight.Fail {
			r.Status = status
		}
		if !slices.Contains(fix, f.Fix) {
			fix = append(fix, f.Fix)
		}
	}
	if len(found) == 0 {
		r.Found = fine
		return r
	}
	r.Found = strings.Join(found, "\n")
	if r.Status != preflight.Pass {
		r.Want, r.Fix = cmp.Or(wanted(about), fine), strings.Join(fix, "\n")
	}
	return r
}

func chosen(c netprobe.Choice) string {
	text := "no tunnel"
	if c.Encapsulation == netprobe.VXLAN {
		text = fmt.Sprintf("VXLAN on UDP %d", c.Port)
	}
	if c.MTU > 0 {
		text += fmt.Sprintf(", packets of %d bytes between hosts", c.MTU)
	}
	return text + "\n" + strings.Join(c.Why, "\n")
}

// measuredPairs returns the measured part of the network as text.
func measuredPairs(m *netprobe.Matrix) string {
	if m.Tried == m.Of {
		return fmt.Sprintf("%d hosts, each with all others", len(m.Hosts))
	}
	pairs, tested := m.Racks()
	return fmt.Sprintf("%d hosts, %d of the %d directions between them: each host with %d others, spread over the racks or subnets (%d of %d pairs of them)",
		len(m.Hosts), m.Tried, m.Of, m.Tried/max(1, len(m.Hosts)), tested, pairs)
}

func balanced(c *config.Cluster, m *netprobe.Matrix) string {
	if len(m.VIPs) == 0 {
		return "not measured: no load balancer, or an API server is already running"
	}
	if holders := m.Holders(); len(holders) > 0 {
		return fmt.Sprintf("%s connects all hosts to %s, which has the address now; it is not measured whether the address moves when that host is down", c.Kubernetes.ControlPlaneEndpoint, strings.Join(holders, ", "))
	}
	if m.Direct() {
		return c.Kubernetes.ControlPlaneEndpoint + " connects all hosts to the control-plane hosts, which have the address themselves and reply directly (direct server return); a control-plane host that joins gets the address after its join"
	}
	return c.Kubernetes.ControlPlaneEndpoint + " connects all hosts to every control-plane host"
}

// idle returns for how long the load balancer kept idle connections open. If it kept none, it returns the required
// time.
func idle(m *netprobe.Matrix) string {
	tried, kept := false, netprobe.Seconds(0)
	for _, v := range m.VIPs {
		if v.Idle != nil {
			tried = true
			if v.Idle.Result == netprobe.Answered {
				kept = max(kept, v.Idle.For)
			}
		}
	}
	switch wanted := netprobe.Seconds(300); {
	case !tried:
		return "not measured"
	case kept == 0:
		return fmt.Sprintf("kept open for %d s without traffic", wanted)
	case kept < wanted:
		return fmt.Sprintf("kept open for %d s without traffic; five minutes are required, set preflight.checks.%s.watch: 5m to measure them", kept, preflight.LoadBalancerIdle)
	default:
		return fmt.Sprintf("kept open for %d s without traffic", kept)
	}
}

func portList(ports []netprobe.Port) string {
	var numbers []string
	for _, p := range ports {
		numbers = append(numbers, fmt.Sprintf("%d", p.Number))
	}
	return "TCP " + strings.Join(numbers, ", ")
}

func worstSkew(m *netprobe.Matrix) string {
	var worst time.Duration
	for _, s := range m.Skews {
		worst = max(worst, s.Ahead.Abs())
	}
	text := fmt.Sprintf("within %s", worst.Round(time.Millisecond))
	if len(m.Skews) < m.Tried {
		text += fmt.Sprintf("; compared in %d of %d directions", len(m.Skews), m.Tried)
	}
	return text
}
