package hostcheck

import (
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
	"airgap.dev/airgap/internal/settings"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/preflight"
	"airgap.dev/airgap/preflight/netprobe"
)

// ProbePlan is what the hosts of airgap.yaml measure between each other: the ports that
// they will have, and what a pod network could travel by.
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
	for _, n := range c.Nodes {
		address, err := netip.ParseAddr(n.Address)
		if err != nil {
			return plan, fmt.Errorf("measure between hosts: address of %s: %w", n.Name, err)
		}
		plan.Hosts = append(plan.Hosts, netprobe.Host{Name: n.Name, Address: address, ControlPlane: n.Has(config.ControlPlane)})
	}
	return plan, plan.Validate()
}

// pods is the network of the pods' addresses where packets of theirs may travel as they
// are; else nobody sends any, as who watches the network would wonder about them.
func pods(c *config.Cluster) netip.Prefix {
	n := c.Network
	if n.Encapsulation == cni.VXLAN || n.Encapsulation == cni.Auto && !n.Routes() {
		return netip.Prefix{}
	}
	subnet, _ := netip.ParsePrefix(c.Kubernetes.PodSubnet) // it has been checked; the zero one is not tried
	return subnet
}

const (
	genevePort = 6081 // Cilium's other tunnel
	probeLimit = netprobe.Seconds(180)
	// probePatience is three of the ten seconds that health checks are usually apart.
	probePatience = netprobe.Seconds(30)
)

// Balancer is the host of the API servers' address, "" where that is a node's own.
func Balancer(c *config.Cluster) string {
	host, _, err := net.SplitHostPort(c.Kubernetes.ControlPlaneEndpoint)
	if err != nil || slices.ContainsFunc(c.Nodes, func(n config.Node) bool { return n.Address == host }) {
		return ""
	}
	return host
}

// probePorts are the TCP ports of the table that other hosts connect to.
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

// Measured has the hosts of the links measure, and says what of them was lost on the way.
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

// AgentHere is this host's own part.
func AgentHere(ctx context.Context) netprobe.Link {
	return netprobe.Piped(func(in io.Reader, out io.Writer) error { return netprobe.Serve(ctx, in, out) })
}

// JudgeBetween is the report of what was measured between all hosts.
func JudgeBetween(ctx context.Context, s *site.Site, m *netprobe.Matrix, choice preflight.Choice) (preflight.Report, error) {
	can, err := CanChoose(s)
	if err != nil {
		return preflight.Report{}, err
	}
	return preflight.RunCrossHost(ctx, resultsBetween(s.Config, m, can), s.Config.Preflight, time.Now().UTC(), choice)
}

// CanChoose is what the pod network may be. A cluster that is there keeps what it has.
func CanChoose(s *site.Site) (netprobe.Options, error) {
	can := netprobe.Options{Ports: []int{s.Config.Network.Port}, OpensFirewall: s.Config.HostSettings.Firewalld != settings.LeaveFirewalld}
	began, _, err := begunHere()
	if s.Config.Network.Encapsulation == cni.Auto && s.Config.Network.VXLANPort() > 0 && !began && s.Choice == nil {
		can.Ports, can.Native = netprobe.Ports(s.Config.Network.Port), s.Config.Network.Routes()
	}
	return can, err
}

// Settle returns the site with the choice that the measurement leads to, before anything is
// installed by it.
func Settle(s *site.Site, m *netprobe.Matrix, p ui.Progress) (*site.Site, error) {
	can, err := CanChoose(s)
	if err != nil || len(can.Ports) < 2 {
		return s, err
	}
	c, errChoice := m.Choose(can)
	if errChoice != nil {
		p.Say("%v", errChoice) // who goes on has told the check of it to be skipped, or only to warn
		return s, nil
	}
	if c.Encapsulation == netprobe.VXLAN && c.Port == s.Config.Network.Port && (c.MTU == 0 || s.Config.Network.MTU > 0) {
		return s, nil // as airgap.yaml says
	}
	way := "by"
	if c.Encapsulation == netprobe.Native {
		way = "with"
	}
	p.Say("pods' packets travel %s %s", way, strings.ReplaceAll(chosen(c), "\n", "; "))
	return s.Choosing(&site.NetworkChoice{Choice: c}), nil
}

// resultsBetween is what was measured, as results of the checks between hosts.
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
		{preflight.PathMTU, netprobe.AboutSize, "packets as large as the interfaces send pass in one piece"},
		{preflight.IPIP, netprobe.AboutIPIP, "passes; airgap does not use it"},
		{preflight.LoadBalancer, netprobe.AboutVIP, balanced(c, m)},
		{preflight.LoadBalancerIdle, netprobe.AboutIdle, idle(m)},
		{preflight.ClockSkew, netprobe.AboutClocks, worstSkew(m)},
		{preflight.Duplicates, netprobe.AboutDuplicates, "machine-id, name and network cards differ"},
	} {
		between[q.id] = answer(findings, q.about, q.fine)
	}
	if len(m.Skews) == 0 {
		between[preflight.ClockSkew] = preflight.Result{Status: preflight.Skip, Found: "not measured: no agent was reached on a port, where it would have told its time"}
	}
	return between
}

// NeedsOf is what the cluster uses of the network, by what was measured where airgap.yaml
// leaves it open, with the result of that choice.
func NeedsOf(c *config.Cluster, m *netprobe.Matrix, can netprobe.Options) (preflight.Result, netprobe.Needs) {
	needs := netprobe.Needs{TCP: probePorts(c), VXLAN: c.Network.VXLANPort(), MTU: c.Network.MTU, OpensFirewall: can.OpensFirewall}
	result, port, mtu := encapsulation(c, m, can, needs)
	needs.VXLAN, needs.MTU = port, mtu
	needs.Routed = port == 0 && !c.Network.Calico.BGP || c.Network.Encapsulation == cni.CrossSubnet
	return result, needs
}

// encapsulation is whether pods' packets have a way, with the port and the size that it
// takes.
func encapsulation(c *config.Cluster, m *netprobe.Matrix, can netprobe.Options, needs netprobe.Needs) (r preflight.Result, port, size int) {
	if c.Network.VXLANPort() == 0 {
		return withoutTunnel(c, m), 0, needs.MTU
	}
	choice, err := m.Choose(can)
	if err != nil {
		return preflight.Result{Status: preflight.Fail, Found: err.Error(), Want: "a way for pods' packets", Fix: "hand this sentence to the network's owners; or choose another network.port"}, needs.VXLAN, needs.MTU
	}
	if needs.MTU == 0 && len(can.Ports) > 1 {
		needs.MTU = choice.MTU // which the pod network will be told
	}
	return preflight.Result{Status: preflight.Pass, Found: chosen(choice)}, choice.Port, needs.MTU
}

// withoutTunnel: flannel's and Cilium's routes reach only hosts of the same network; with
// BGP the site's routers know the way.
func withoutTunnel(c *config.Cluster, m *netprobe.Matrix) preflight.Result {
	switch {
	case c.Network.Calico.BGP:
		return preflight.Result{Status: preflight.Pass, Found: "no tunnel; the site's routers are told of the pods' addresses"}
	case m.OneNetwork:
		return preflight.Result{Status: preflight.Pass, Found: "no tunnel; all hosts are in one network"}
	default:
		return preflight.Result{Status: preflight.Fail, Found: "no tunnel, and routers between the hosts, which do not know the pods' addresses", Want: "all hosts in one network",
			Fix: "set network.encapsulation: vxlan in airgap.yaml and make the bundle again"}
	}
}

// answer puts the findings of one question together.
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
		r.Want, r.Fix = fine, strings.Join(fix, "\n")
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

// measuredPairs says how much of the network has been measured.
func measuredPairs(m *netprobe.Matrix) string {
	if m.Tried == m.Of {
		return fmt.Sprintf("%d hosts, each with all others", len(m.Hosts))
	}
	return fmt.Sprintf("%d hosts, %d of the %d directions between them: each host with %d others, spread over the list", len(m.Hosts), m.Tried, m.Of, m.Tried/max(1, len(m.Hosts)))
}

func balanced(c *config.Cluster, m *netprobe.Matrix) string {
	if len(m.VIPs) == 0 {
		return "not measured: no balancer, or an API server is there already"
	}
	if holders := m.Holders(); len(holders) > 0 {
		return fmt.Sprintf("%s leads all hosts to %s, where the address is now; whether it moves when that host is down is not measured", c.Kubernetes.ControlPlaneEndpoint, strings.Join(holders, ", "))
	}
	return c.Kubernetes.ControlPlaneEndpoint + " leads all hosts to every control-plane host"
}

// idle is for how long nothing was said on connections through the balancer that were
// kept; where none was, what is wanted of it.
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
		return fmt.Sprintf("kept for %d s without a word", wanted)
	case kept < wanted:
		return fmt.Sprintf("kept for %d s without a word; five minutes are wanted, which preflight.checks.%s.watch: 5m measures", kept, preflight.LoadBalancerIdle)
	default:
		return fmt.Sprintf("kept for %d s without a word", kept)
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
