package measure

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"time"

	"airgap.dev/airgap/cluster/hostcheck"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/cni"
	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/settings"
	"airgap.dev/airgap/preflight/netprobe"
)

// Groups of hosts as the page calls them.
const (
	allNodes      = "all nodes"
	controlPlanes = "control-plane nodes"
)

// Page is what the network has to carry by the airgap.yaml in the file; nothing is measured.
func Page(file string) (*netprobe.Page, error) {
	c, _, err := config.Load(file)
	if err != nil {
		return nil, config.Advise(err)
	}
	return newPage(c), nil
}

// WritePage writes the page with what was measured; to no file when none is named.
func WritePage(s *site.Site, file string, m *netprobe.Matrix) error {
	if file == "" {
		return nil
	}
	can, err := hostcheck.CanChoose(s)
	if err != nil {
		return err
	}
	_, needs := hostcheck.NeedsOf(s.Config, m, can)
	c := *s.Config
	switch { // what was chosen may be another way than airgap.yaml's
	case needs.VXLAN > 0:
		c.Network.Port = needs.VXLAN
	default:
		c.Network.Encapsulation = cni.Native
	}
	page := newPage(&c)
	page.Measure(m, needs)
	var b bytes.Buffer
	if err := page.HTML(&b); err != nil {
		return err
	}
	if err := host.WriteFile(file, b.Bytes(), 0o644); err != nil {
		return fmt.Errorf("write the page about the network: %w", err)
	}
	return nil
}

// newPage is what airgap.yaml says.
func newPage(c *config.Cluster) *netprobe.Page {
	p := &netprobe.Page{Cluster: c.Name, Made: time.Now().UTC().Truncate(time.Second), Flows: Flows(c), Notes: notesOn(c)}
	for _, g := range []struct {
		name string
		of   []config.Node
	}{{controlPlanes, c.ControlPlanes()}, {allNodes, c.Nodes}} {
		group := netprobe.Group{Name: g.name}
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

// Flows are the rules of the firewalls between hosts: those of the table of ports that
// other hosts connect to, and what the site's own services are asked.
func Flows(c *config.Cluster) []netprobe.Flow {
	var all []netprobe.Flow
	behind := "administrators"
	if address := hostcheck.Balancer(c); address != "" {
		behind = "administrators, load balancer"
		all = append(all, netprobe.Flow{From: allNodes + ", administrators", To: "load balancer " + address, What: "TCP " + portIn(c.Kubernetes.ControlPlaneEndpoint), Kind: netprobe.Balanced,
			For: "the API, on whichever control-plane node answers: TCP passed through as it is, TLS not ended, back to the host it came from too; health check of TCP 6443; connections kept for five minutes without a word"})
	}
	worker := (settings.Listens{Network: c.NetworkPorts()}).Ports()
	for _, port := range (settings.Listens{ControlPlane: true, Registry: c.Registry.Port, Network: c.NetworkPorts()}).Ports() {
		if port.From == settings.OnlySelf {
			continue
		}
		f := flowOf(c, port, behind)
		if f.To = controlPlanes; slices.Contains(worker, port) {
			f.To = allNodes
		}
		all = append(all, f)
		if port.Protocol == "tcp" && port.First < port.Last {
			all = append(all, netprobe.Flow{From: allNodes, To: allNodes, What: f.What, For: "NodePorts: airgap's own pods try that of each node, and airgap verify says where it does not answer"})
		}
	}
	if c.Registry.Existing == nil { // else nodes have the site's images from there
		all = append(all, netprobe.Flow{From: "who pushes the site's images", To: controlPlanes, What: fmt.Sprintf("TCP %d", c.Registry.Port), For: "registry: only where somebody is let push, by airgap registry passwd"})
	}
	if c.Network.Encapsulation == cni.Native {
		f := netprobe.Flow{From: allNodes, To: allNodes, What: "IP of " + c.Kubernetes.PodSubnet, For: "packets between pods of different nodes, with the pods' own addresses"}
		if !c.Network.Calico.BGP {
			f.Kind = netprobe.Routed // from host to host; routers that learn by BGP are the site's
		}
		all = append(all, f)
	}
	all = append(all, netprobe.Flow{From: allNodes, To: allNodes, What: "ICMP type 3 code 4", Kind: netprobe.Size, For: "packets as large as the interfaces send pass; where one cannot, a router has to say so"})
	return append(all, siteFlows(c)...)
}

// flowOf is a row of the table of ports.
func flowOf(c *config.Cluster, port settings.Port, apiCallers string) netprobe.Flow {
	number, protocol, _ := strings.Cut(port.String(), "/")
	f := netprobe.Flow{From: allNodes, What: strings.ToUpper(protocol) + " " + number, For: port.Why}
	if port.Program != "" {
		f.For = port.Program + ": " + port.Why
	}
	switch {
	case port.From == settings.OnlyMasters:
		f.From = controlPlanes
	case port.First == 6443:
		f.From = allNodes + ", " + apiCallers
	case port.First == 10256:
		f.From = "load balancers of Services"
	case port.From == settings.FromAnywhere:
		f.From = "users of the applications"
	}
	switch {
	case protocol == "udp" && port.First == c.Network.VXLANPort():
		f.Kind, f.Port = netprobe.VXLANTCP, port.First
	case protocol == "tcp" && port.First == port.Last:
		f.Kind, f.Port = netprobe.TCP, port.First
	}
	return f
}

// siteFlows are what the site's own services are asked.
func siteFlows(c *config.Cluster) []netprobe.Flow {
	flows := []netprobe.Flow{
		{From: allNodes, To: "the site's time servers", What: "UDP 123", For: "certificates and etcd want one time everywhere"},
		{From: allNodes, To: "the site's name servers", What: "UDP and TCP 53", For: "names of the site, of hosts and of pods"},
	}
	if c.SSH != nil {
		flows = append(flows, sshFlows(c)...)
	}
	if c.Registry.Existing != nil {
		address, _, _ := strings.Cut(c.Registry.Existing.Address, "/")
		flows = append(flows, netprobe.Flow{From: allNodes, To: "registry " + address, What: "TCP " + cmp.Or(portIn(address), "443"), For: "images"})
	}
	return flows
}

// sshFlows are a row for each port that sshd has somewhere.
func sshFlows(c *config.Cluster) []netprobe.Flow {
	on := map[int][]string{}
	for _, n := range c.Nodes {
		if n.Name != c.Master().Name {
			port := c.Remote(n).Port
			on[port] = append(on[port], n.Name)
		}
	}
	var flows []netprobe.Flow
	for _, port := range slices.Sorted(maps.Keys(on)) {
		flows = append(flows, netprobe.Flow{From: c.Master().Name, To: strings.Join(on[port], ", "), What: fmt.Sprintf("TCP %d", port), For: "SSH: the installation, and every later change"})
	}
	return flows
}

// portIn is the port of HOST:PORT, or "".
func portIn(address string) string {
	_, port, _ := net.SplitHostPort(address) // "" where there is none
	return port
}

// notesOn are what no row of the table says.
func notesOn(c *config.Cluster) []string {
	notes := []string{fmt.Sprintf("Pods have addresses of %s and Services of %s: nothing that the nodes talk to may have an address of these.", c.Kubernetes.PodSubnet, c.Kubernetes.ServiceSubnet)}
	port := c.Network.VXLANPort()
	switch {
	case port == 0:
		notes = append(notes, "Packets of pods travel between nodes with the pods' own addresses: the network between the nodes has to carry them.")
	case c.Network.Encapsulation == cni.CrossSubnet:
		notes = append(notes, fmt.Sprintf("Packets between pods travel inside UDP %d where a router is between the nodes, and within a subnet as they are: it has to carry addresses that are none of the nodes'.", port))
	default:
		notes = append(notes, fmt.Sprintf("Packets between pods travel inside UDP %d, as VXLAN: their addresses do not show between the nodes.", port))
	}
	if others := netprobe.Ports(port); port > 0 && c.Network.Encapsulation == cni.Auto && len(others) > 1 {
		notes = append(notes, fmt.Sprintf("Where UDP %d cannot pass, UDP %d will do: what passes is measured before the installation, and taken.", port, others[1]))
	}
	return append(notes, "IP in IP (protocol 4) and GRE are not used, and nothing on the internet is ever asked.")
}
