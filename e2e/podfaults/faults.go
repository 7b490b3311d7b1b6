package podfaults

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	"airgap.dev/airgap/e2e/lab"
)

// Fault is a fault of the network between two nodes.
type Fault struct {
	Name   string
	Router string   // has the rules
	Rules  []string // of nft, for forwarded packets
	Says   []Finding
	May    []Finding // also true, but not in each run
}

// Finding is a finding of rule data-plane. Saw is a regular expression.
type Finding struct{ Object, Saw, Fix string }

const (
	networkTeam = "network team"
	largePacket = "network.mtu"
	firewalls   = "firewall allows"
)

// Faults lists faults that a network can have at the same time. None of them is on the way of
// another one. The idle limit of FarRouter's firewall is a fault only for the nodes in these rules.
func Faults() []Fault {
	const flows = `\d+ of \d+ `
	return []Fault{
		{
			Name: "pods: one of two links loses the packets of one direction", Router: lab.RouterSpace,
			Rules: []string{"ip saddr $node1 ip daddr $node3 meta l4proto { tcp, udp } jhash ip saddr . ip daddr . th sport . th dport mod 2 seed 0x5 == 1 drop"},
			Says: []Finding{
				{"flows to node3", `from node1: ` + flows + `TCP flows and ` + flows + `UDP flows are lost, on the same source ports`, networkTeam},
				{"flows to node1", `from node3: ` + flows + `TCP flows are lost, on the same source ports`, networkTeam},
			},
			May: []Finding{{"long connection to node3", "from node1: ", networkTeam}, {"long connection to node1", "from node3: ", networkTeam}},
		},
		{
			Name: "pods: 2 % of the packets of one direction are lost", Router: lab.RouterSpace, Rules: []string{"ip saddr $node2 ip daddr $node4 numgen random mod 100 < 2 drop"},
			Says: []Finding{{"packets to node4", `from node2: \d+ of \d+ UDP packets are lost \(\d\.\d %\)`, networkTeam}},
		},
		{
			Name: "pods: large packets of one direction are lost", Router: lab.FarRouter, Rules: []string{"ip saddr $node3 ip daddr $node4 ip length > 1400 drop"},
			Says: []Finding{{"pod on node4, 64 KiB", `no answer from node3`, largePacket}, {"pod on node3, 64 KiB", `no answer from node4`, largePacket}},
		},
		{
			Name: "pods: a port is closed in one direction", Router: lab.RouterSpace, Rules: []string{"ip saddr $node2 ip daddr $node8 tcp dport 8080 drop"},
			Says: []Finding{{"pod on node8", `no answer from node2`, firewalls}},
		},
		{
			Name: "pods: a firewall forgets idle connections, and drops their packets", Router: lab.FarRouter, Rules: both(5, 6, "ct state invalid drop"),
			Says: longConnection(5, 6, "got no answer"),
		},
		{
			Name: "pods: a firewall forgets idle connections, and resets them", Router: lab.FarRouter, Rules: both(5, 7, "ct state invalid reject with tcp reset"),
			Says: longConnection(5, 7, "was reset"),
		},
	}
}

// Clean is the name of the network without a fault.
const Clean = "clean: pods on eight nodes, with a stateful firewall between them"

// Names are the names of the networks: Clean and the faults.
func Names() []string {
	names := []string{Clean}
	for _, f := range Faults() {
		names = append(names, f.Name)
	}
	return names
}

// both is a rule for the TCP packets between two nodes.
func both(a, b int, rule string) []string {
	there := func(a, b int) string {
		return fmt.Sprintf("ip saddr $%s ip daddr $%s meta l4proto tcp %s", lab.Node(a), lab.Node(b), rule)
	}
	return []string{there(a, b), there(b, a)}
}

func longConnection(a, b int, how string) []Finding {
	there := func(a, b int) Finding {
		return Finding{"long connection to " + lab.Node(b), fmt.Sprintf(`from %s: %s at [^;]*, after \d+s without packets; it was open for [^;]*, and both pods still run`, lab.Node(a), how), networkTeam}
	}
	return []Finding{there(a, b), there(b, a)}
}

// in reports whether the findings contain this one.
func (f Finding) in(found map[string]seen) bool {
	at, is := found[f.Object]
	return is && regexp.MustCompile(f.Saw).MatchString(at.Saw) && strings.Contains(at.Fix, f.Fix)
}

// Times after which the firewall forgets an idle connection, in seconds. The pods' connections are
// idle for about 12 seconds between two rounds.
const (
	longIdle  = 3600
	shortIdle = 5
)

func (c *cluster) idleLimit(ctx context.Context, seconds int) error {
	return c.racks.Sysctl(ctx, lab.FarRouter, fmt.Sprintf("net.netfilter.nf_conntrack_tcp_timeout_established=%d", seconds))
}

// firewall makes FarRouter a stateful firewall from the start, which sees all packets.
func (c *cluster) firewall(ctx context.Context) error {
	if err := c.racks.NFT(ctx, lab.FarRouter, "table inet state {\n\tchain forward {\n\t\ttype filter hook forward priority -10;\n\t\tct state new,established,related accept\n\t}\n}\n"); err != nil {
		return err
	}
	for i := 3; i <= hosts; i++ {
		// Packets of a connection, not the larger pieces that a network card divides.
		if err := c.racks.IP(ctx, lab.Node(i), "link set eth0 gso_max_segs 1"); err != nil {
			return err
		}
	}
	if err := c.racks.Sysctl(ctx, lab.FarRouter, "net.netfilter.nf_conntrack_tcp_loose=0"); err != nil {
		return err
	}
	return c.idleLimit(ctx, longIdle)
}

// breakAll adds all faults to the network.
func (c *cluster) breakAll(ctx context.Context) error {
	rules := map[string][]string{}
	for _, f := range Faults() {
		rules[f.Router] = append(rules[f.Router], f.Rules...)
	}
	for router, all := range rules {
		text := "table inet fault {\n\tchain forward {\n\t\ttype filter hook forward priority 0;\n\t\t" + strings.Join(all, "\n\t\t") + "\n\t}\n}\n"
		if err := c.racks.NFT(ctx, router, text); err != nil {
			return err
		}
	}
	return c.idleLimit(ctx, shortIdle)
}

// repairAll removes all faults.
func (c *cluster) repairAll(ctx context.Context) error {
	for _, router := range []string{lab.RouterSpace, lab.FarRouter} {
		if err := c.racks.NFT(ctx, router, "delete table inet fault\n"); err != nil {
			return err
		}
	}
	return c.idleLimit(ctx, longIdle)
}
