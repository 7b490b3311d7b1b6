package measure

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"airgap.dev/airgap/cluster/fleet/access"
	"airgap.dev/airgap/cluster/hostcheck"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/cni"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/settings"
	"airgap.dev/airgap/preflight/netprobe"
)

// Names of the groups of hosts on the page.
const (
	allNodes      = "all nodes"
	controlPlanes = "control-plane nodes"
)

// Page returns the page for the airgap.yaml in a file, in a language, without measurements.
func Page(file, language string) (*netprobe.Page, error) {
	if err := CheckLanguage(language); err != nil {
		return nil, err
	}
	c, _, err := config.Load(file)
	if err != nil {
		return nil, config.Advise(err)
	}
	return newPage(c, netprobe.Language(language)), nil
}

// CheckLanguage returns an error for a language that the page does not have.
func CheckLanguage(language string) error {
	if !slices.Contains(netprobe.Languages(), netprobe.Language(language)) {
		return advice.Usagef("write the page about the network: --language %s is not supported, use en or ko", language)
	}
	return nil
}

// File is the file for the page of the network administrators.
type File struct {
	Path     string // "": none
	Language string // of the page; required with Path
}

// Check returns an error if the page cannot be written later.
func (f File) Check() error {
	if f.Path == "" {
		return nil
	}
	return cmp.Or(CheckLanguage(f.Language), site.CheckLater("--network-page", f.Path))
}

// Write writes the page with the results of the measurement, and with the ports of SSH that a file of the site has
// changed. It writes nothing if the path is "".
func (f File) Write(ctx context.Context, s *site.Site, m *netprobe.Matrix) error {
	if f.Path == "" {
		return nil
	}
	reached, _, err := access.Apply(ctx, s.Config, s.Nodes)
	if err != nil {
		return err
	}
	s = s.Reaching(reached)
	can, err := hostcheck.CanChoose(s)
	if err != nil {
		return err
	}
	if s, err = hostcheck.SettleEtcd(s, m); err != nil {
		return err
	}
	_, needs := hostcheck.NeedsOf(s.Config, m, can)
	c := *s.Config
	switch { // the chosen encapsulation can be different from airgap.yaml
	case needs.VXLAN > 0:
		c.Network.Port = needs.VXLAN
	default:
		c.Network.Encapsulation = cni.Native
	}
	page := newPage(&c, netprobe.Language(f.Language))
	page.Measure(m, needs)
	var b bytes.Buffer
	if err := page.HTML(&b); err != nil {
		return err
	}
	if err := host.WriteFile(f.Path, b.Bytes(), 0o644); err != nil {
		return fmt.Errorf("write the page about the network: %w", err)
	}
	return nil
}

// newPage returns the page for an airgap.yaml, without measurements.
func newPage(c *config.Cluster, in netprobe.Language) *netprobe.Page {
	p := &netprobe.Page{Language: in, Cluster: c.Name, Made: time.Now().UTC().Truncate(time.Second), Flows: Flows(c, in), Notes: notesOn(c, in)}
	for _, g := range []struct {
		name string
		of   []config.Node
	}{{controlPlanes, c.ControlPlanes()}, {allNodes, c.Nodes}} {
		group := netprobe.Group{Name: in.Say(g.name)}
		for _, n := range g.of {
			group.Addresses = append(group.Addresses, fmt.Sprintf("%s (%s)", n.Name, n.Address))
		}
		p.Groups = append(p.Groups, group)
	}
	for i := range p.Flows {
		p.Flows[i].State = netprobe.FlowUnmeasured
	}
	return p
}

// Flows returns the rules of the firewalls between hosts: the ports that other hosts connect to, and
// the site's own services.
func Flows(c *config.Cluster, in netprobe.Language) []netprobe.Flow {
	var all []netprobe.Flow
	clients := []string{allNodes, "administrators"}
	if address := hostcheck.Balancer(c); address != "" {
		all = append(all, netprobe.Flow{From: list(in, clients...), To: in.Say("load balancer %s", address), What: "TCP " + portIn(c.Kubernetes.ControlPlaneEndpoint), Kind: netprobe.Balanced,
			For: in.Say("the API on each healthy control-plane node: TCP on layer 4, TLS not terminated, also back to the host that connects (hairpin); health check of TCP 6443; idle connections kept for five minutes")})
		clients = append(clients, "load balancer")
	}
	worker := (settings.Listens{Network: c.NetworkPorts()}).Ports()
	for _, port := range (settings.Listens{ControlPlane: true, Registry: c.Registry.Port, Network: c.NetworkPorts()}).Ports() {
		if port.From == settings.OnlySelf {
			continue
		}
		f := flowOf(c, port, in)
		if port.First == 6443 {
			f.From = list(in, clients...)
		}
		f.To = in.Say(controlPlanes)
		if slices.Contains(worker, port) {
			f.To = in.Say(allNodes)
		}
		all = append(all, f)
		if port.Protocol == "tcp" && port.First < port.Last {
			all = append(all, betweenNodes(in, f.What, "NodePorts: airgap's pods test the NodePort of each node, and airgap verify reports the nodes that do not answer"))
		}
	}
	if c.Registry.Existing == nil { // otherwise nodes pull the site's images from the existing registry
		all = append(all, netprobe.Flow{From: in.Say("hosts that push the site's images"), To: in.Say(controlPlanes), What: fmt.Sprintf("TCP %d", c.Registry.Port),
			For: in.Say("registry: only if airgap registry passwd has created a user")})
	}
	if c.Network.Encapsulation == cni.Native {
		f := betweenNodes(in, in.Say("IP of %s", c.Kubernetes.PodSubnet), "packets between pods of different nodes, with the pods' own addresses")
		f.Kind = netprobe.Routed // measured within a network: routers learn the pods' addresses only from a cluster that runs
		all = append(all, f)
	}
	size := betweenNodes(in, "ICMP type 3 code 4", "path MTU: either full-size packets pass, or a router answers with this message")
	size.Kind = netprobe.Size
	return append(append(all, size), siteFlows(c, in)...)
}

func betweenNodes(in netprobe.Language, what, reason string) netprobe.Flow {
	return netprobe.Flow{From: in.Say(allNodes), To: in.Say(allNodes), What: what, For: in.Say(reason)}
}

// list returns texts with commas between them.
func list(in netprobe.Language, texts ...string) string {
	var said []string
	for _, text := range texts {
		said = append(said, in.Say(text))
	}
	return strings.Join(said, ", ")
}

// flowOf returns the flow of a row in the table of ports, without To.
func flowOf(c *config.Cluster, port settings.Port, in netprobe.Language) netprobe.Flow {
	number, protocol, _ := strings.Cut(port.String(), "/")
	f := netprobe.Flow{From: in.Say(allNodes), What: strings.ToUpper(protocol) + " " + number, For: in.Say(port.Why)}
	if port.Program != "" {
		f.For = in.Say(port.Program) + ": " + f.For
	}
	switch {
	case port.From == settings.OnlyMasters:
		f.From = in.Say(controlPlanes)
	case port.First == 10256:
		f.From = in.Say("load balancers of Services")
	case port.From == settings.FromAnywhere:
		f.From = in.Say("users of the applications")
	}
	switch {
	case protocol == "udp" && port.First == c.Network.VXLANPort():
		f.Kind, f.Port = netprobe.VXLANTCP, port.First
	case protocol == "tcp" && port.First == port.Last:
		f.Kind, f.Port = netprobe.TCP, port.First
	}
	return f
}

// siteFlows returns the flows to the site's own services.
func siteFlows(c *config.Cluster, in netprobe.Language) []netprobe.Flow {
	flows := []netprobe.Flow{
		{From: in.Say(allNodes), To: in.Say("the site's time servers"), What: "UDP 123", For: in.Say("certificates and etcd require the same time everywhere")},
		{From: in.Say(allNodes), To: in.Say("the site's name servers"), What: in.Say("UDP and TCP 53"), For: in.Say("names of the site, of hosts and of pods")},
	}
	if c.SSH != nil {
		flows = append(flows, sshFlows(c, in)...)
	}
	if c.Registry.Existing != nil {
		address, _, _ := strings.Cut(c.Registry.Existing.Address, "/")
		flows = append(flows, netprobe.Flow{From: in.Say(allNodes), To: in.Say("registry %s", address), What: "TCP " + cmp.Or(portIn(address), "443"), For: in.Say("images")})
	}
	return flows
}

// leg is a part of the way to sshd of a host. Jump hosts divide the way.
type leg struct {
	from string
	port int
}

// sshFlows returns a flow for each port of sshd, also those of jump hosts and behind them.
func sshFlows(c *config.Cluster, in netprobe.Language) []netprobe.Flow {
	var legs []leg
	to := map[leg][]string{}
	add := func(from, host string, port int) {
		l := leg{from, port}
		if to[l] == nil {
			legs = append(legs, l)
		}
		if !slices.Contains(to[l], host) {
			to[l] = append(to[l], host)
		}
	}
	for _, n := range c.Nodes {
		if n.Name == c.Master().Name {
			continue
		}
		from := c.Master().Name
		for _, hop := range c.Jumps(n) {
			add(from, hop.Host, cmp.Or(hop.Port, 22))
			from = hop.Host
		}
		add(from, n.Name, c.Remote(n).Port)
	}
	slices.SortStableFunc(legs, func(a, b leg) int { return cmp.Compare(a.port, b.port) })
	var flows []netprobe.Flow
	for _, l := range legs {
		flows = append(flows, netprobe.Flow{From: l.from, To: strings.Join(to[l], ", "), What: fmt.Sprintf("TCP %d", l.port), For: in.Say("SSH: the installation and all later changes")})
	}
	return flows
}

// portIn is the port of HOST:PORT, or "".
func portIn(address string) string {
	_, port, _ := net.SplitHostPort(address) // "" if there is none
	return port
}

// notesOn returns the notes below the table of flows.
func notesOn(c *config.Cluster, in netprobe.Language) []string {
	notes := []string{in.Say("Pods use addresses of %s and Services use addresses of %s. Systems that the nodes connect to must not have an address of these networks.", c.Kubernetes.PodSubnet, c.Kubernetes.ServiceSubnet)}
	port := c.Network.VXLANPort()
	switch {
	case port == 0:
		notes = append(notes, in.Say("Packets of pods travel between nodes with the pods' own addresses. The network between the nodes must carry them."))
	case c.Network.Encapsulation == cni.CrossSubnet:
		notes = append(notes, in.Say("If a router is between two nodes, packets between their pods travel inside UDP %d. Within a subnet they travel unchanged, so the subnet must carry addresses that are not addresses of nodes.", port))
	default:
		notes = append(notes, in.Say("Packets between pods travel inside UDP %d, as VXLAN. Their addresses are not visible between the nodes.", port))
	}
	if others := netprobe.Ports(port); port > 0 && c.Network.Encapsulation == cni.Auto && len(others) > 1 {
		notes = append(notes, in.Say("If UDP %d does not pass, UDP %d is sufficient. The installation measures both ports and uses the port that passes.", port, others[1]))
	}
	notes = append(notes, in.Say("Between the nodes there must be no source NAT: their firewalls open the ports only for the addresses of the nodes."),
		in.Say("Between the nodes there must be no limit for the rate of UDP (policer, storm control, protection against UDP floods)."),
		in.Say("Both directions of a connection must pass the same stateful firewall."))
	if hostcheck.Balancer(c) != "" {
		notes = append(notes, in.Say("The load balancer must not send headers of the PROXY protocol, and must not connect a client to the same server each time (persistence by source address)."))
	}
	if len(c.ControlPlanes()) > 1 {
		notes = append(notes, in.Say("A round trip between control-plane nodes should take at most 10 ms, because etcd sends each change to these nodes. If it takes more than 100 ms, tell the installers before the installation: etcd needs longer times."))
	}
	return append(notes, in.Say("IP in IP (protocol 4) and GRE are not used, and no node connects to the internet."))
}
