package settings

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/step"
)

// Firewall has the traffic that firewalld must accept on a host.
type Firewall struct {
	Address   string   // of this node
	Ports     []Port   // Listens.Ports
	Nodes     []string // addresses of all nodes
	Masters   []string // addresses of the control-plane nodes
	PodSubnet string
	PodLinks  []string // the pod network's interfaces, as Traces.Links
	// Routed says that packets of other nodes' pods come as they are, by the interface
	// that everything comes by: only their addresses tell them.
	Routed bool
}

// trustedZone is firewalld's zone for interfaces with all packets accepted, forwarded
// ones too. Another zone for that would need a reload.
const trustedZone = "trusted"

// FirewalldStep opens the cluster's ports and lets the pods' packets through,
// now and at every boot. Without a running firewalld there is nothing to do.
//
// A reload would drop run-time changes of others, and, with the iptables
// backend, kube-proxy's rules. So every change is a rule or an interface of an
// existing zone: both can be added to a running firewall, can be distinguished
// from the entries of others, and can be removed one by one.
func FirewalldStep(m host.Machine, f Firewall) step.Step {
	w := firewalld{m, f}
	return step.Step{
		Name: "firewalld", Title: "Open the cluster's ports in firewalld",
		Done: func(ctx context.Context) (bool, error) {
			changes, err := w.pending(ctx)
			return len(changes) == 0, err
		},
		Plan: func(ctx context.Context) ([]string, error) {
			changes, err := w.pending(ctx)
			return commandLines(changes), err
		},
		Run:  w.open,
		Undo: w.close,
	}
}

type firewalld struct {
	m    host.Machine
	want Firewall
}

// openings has the accepted traffic of zones, each in the form of firewall-cmd's
// option: "rich-rule=rule …", "interface=cni0".
type openings map[string][]string

func (o openings) has(zone, opening string) bool { return slices.Contains(o[zone], opening) }

// wanted returns the openings in the given zones. It uses a rule for each port, since
// firewalld merges entries of a zone's list of ports with existing ones.
func (f Firewall) wanted(zones []string) openings {
	all := openings{}
	for _, link := range f.PodLinks {
		// Of a name's beginning firewalld makes a wildcard with a plus sign.
		if beginning, wild := strings.CutSuffix(link, "*"); wild {
			link = beginning + "+"
		}
		all[trustedZone] = append(all[trustedZone], "interface="+link)
	}
	if f.Routed {
		all[trustedZone] = append(all[trustedZone], "source="+f.PodSubnet)
	}
	all[trustedZone] = append(all[trustedZone], f.refusals()...)
	for _, p := range f.Ports {
		for _, zone := range zones {
			all[zone] = append(all[zone], f.rules(p)...)
		}
	}
	return all
}

// refusals deny pods access to the registry and etcd. firewalld applies the reject rules of a
// zone before its accept rules. The rules match the pods' addresses, since other interfaces in the
// zone belong to the site. A pod needs the kubelet of its node (metrics), the API server and
// the site's services on its nodes.
func (f Firewall) refusals() []string {
	if f.PodSubnet == "" {
		return nil
	}
	var rules []string
	for _, p := range f.Ports {
		if p.From == OnlyMasters || p.Program == registryProgram {
			rules = append(rules, fmt.Sprintf(`rich-rule=rule family="ipv4" source address=%q port port=%q protocol=%q reject`, f.PodSubnet, p.numbers(), p.Protocol))
		}
	}
	return rules
}

func (f Firewall) rules(p Port) []string {
	port := fmt.Sprintf("port port=%q protocol=%q accept", p.numbers(), p.Protocol)
	from := map[Peers][]string{OnlyNodes: f.Nodes, OnlyMasters: f.Masters}[p.From]
	if p.From == FromAnywhere {
		return []string{`rich-rule=rule family="ipv4" ` + port}
	}
	var rules []string
	for _, address := range from {
		if address != f.Address {
			rules = append(rules, fmt.Sprintf(`rich-rule=rule family="ipv4" source address=%q %s`, address, port))
		}
	}
	return rules
}

// zones are those that packets of other nodes come through: that of the
// node's interface, and those that claim the address of a node as a source.
func (w firewalld) zones(ctx context.Context, now zoneStates) ([]string, error) {
	own, err := w.ownZone(ctx, now)
	if err != nil {
		return nil, err
	}
	zones := []string{own}
	for zone, state := range now {
		for _, network := range state.sources {
			if err := w.refuseClaim(zone, network); err != nil {
				return nil, err
			}
			if slices.ContainsFunc(w.want.Nodes, claims(network)) && !slices.Contains(zones, zone) {
				zones = append(zones, zone)
			}
		}
	}
	slices.Sort(zones)
	return zones, nil
}

func claims(network netip.Prefix) func(address string) bool {
	return func(address string) bool {
		a, err := netip.ParseAddr(address)
		return err == nil && network.Contains(a)
	}
}

// refuseClaim stops where a zone would catch the pods' packets by their source
// before they are judged by their interface.
func (w firewalld) refuseClaim(zone string, network netip.Prefix) error {
	pods, err := netip.ParsePrefix(w.want.PodSubnet)
	if err != nil {
		return fmt.Errorf("read the pods' network: %w", err)
	}
	if zone == trustedZone || !pods.Overlaps(network) {
		return nil
	}
	return &host.Failure{
		What: "let the pods' packets through firewalld",
		Err:  fmt.Errorf("zone %s claims %s as a source, and the pods' network %s overlaps it", zone, network, pods),
		Next: "set kubernetes.podSubnet to another network, or give zone " + zone + " sources without it",
	}
}

// ownZone is the zone of the interface with the node's address: the default
// one unless another has it.
func (w firewalld) ownZone(ctx context.Context, now zoneStates) (string, error) {
	link, err := LinkOf(ctx, w.m, w.want.Address)
	if err != nil {
		return "", err
	}
	for zone, state := range now {
		if slices.ContainsFunc(state.links(), func(pattern string) bool { return matchLink(pattern, link) }) {
			return zone, nil
		}
	}
	out, err := w.m.Host.Run(ctx, host.Cmd{Name: "firewall-cmd", Args: []string{"--get-default-zone"}})
	if err != nil {
		return "", fmt.Errorf("ask firewalld for its default zone: %w", err)
	}
	return strings.TrimSpace(string(out)), nil
}

// matchLink knows firewalld's one wildcard, a plus sign at the end.
func matchLink(pattern, link string) bool {
	start, wild := strings.CutSuffix(pattern, "+")
	return pattern == link || wild && strings.HasPrefix(link, start)
}

// LinkOf is the interface with an address.
func LinkOf(ctx context.Context, m host.Machine, address string) (string, error) {
	out, err := m.Host.Run(ctx, host.Cmd{Name: "ip", Args: []string{"-json", "address"}})
	var all []struct {
		IfName   string
		AddrInfo []struct{ Local string } `json:"addr_info"`
	}
	if err == nil {
		err = json.Unmarshal(out, &all)
	}
	if err != nil {
		return "", fmt.Errorf("list addresses: %w", err)
	}
	for _, link := range all {
		for _, a := range link.AddrInfo {
			if a.Local == address {
				return link.IfName, nil
			}
		}
	}
	return "", fmt.Errorf("find the interface with address %s: this host has none", address)
}
