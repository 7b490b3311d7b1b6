package nodesteps

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/settings"
	"airgap.dev/airgap/internal/step"
	"airgap.dev/airgap/preflight/facts"
	"airgap.dev/airgap/preflight/packetfilter"
)

// Names of the steps that check the opened ports.
const (
	FirewallRules = "firewall-rules" // the rules of the packet filter
	MeasureAgain  = "measure-again"  // packets of the other hosts
)

// rulesStep stops if a rule still closes ports of the cluster after they were opened in firewalld. It
// changes nothing.
func rulesStep(s *site.Site) step.Step {
	return step.Step{
		Name: FirewallRules, Title: "Check that the packet filter accepts the cluster's ports",
		Done: func(ctx context.Context) (bool, error) {
			closed, err := ClosedPorts(ctx, s)
			return len(closed) == 0, err
		},
		Plan: func(ctx context.Context) ([]string, error) {
			closed, err := ClosedPorts(ctx, s)
			var lines []string
			for _, c := range closed {
				lines = append(lines, "stop: "+c.String())
			}
			return lines, err
		},
		Run: func(ctx context.Context) error {
			closed, err := ClosedPorts(ctx, s)
			if err != nil || len(closed) == 0 {
				return err
			}
			var lines []string
			for _, c := range closed {
				lines = append(lines, c.String())
			}
			return &host.Failure{
				What: "open the cluster's ports for the other nodes", Err: errors.New(strings.Join(lines, "\n")),
				Next: "accept these ports before the rule, or remove the rule; nft list ruleset shows it. Then run the same command again",
			}
		},
	}
}

// ClosedPorts returns the ports that a rule of this host closes for other nodes, by rule. Rules that
// firewalld's zones overrule are not among them while firewalld runs: FirewalldStep opens those ports.
// It returns only what the rules certainly close.
func ClosedPorts(ctx context.Context, s *site.Site) ([]facts.ClosedPorts, error) {
	m := s.Machine.Machine
	rules, err := packetfilter.Kernel(func(name string, args ...string) (string, error) {
		out, err := m.Host.Run(ctx, host.Cmd{Name: name, Args: args})
		return string(out), err
	})
	if err != nil || rules.Empty() {
		return nil, err
	}
	link, err := settings.LinkOf(ctx, m, s.Node.Address)
	if err != nil {
		return nil, nil //nolint:nilerr // the check node-ip reports a host without the address
	}
	firewalld, err := m.UnitIs(ctx, "is-active", "firewalld")
	if err != nil {
		return nil, err
	}
	to, err := netip.ParseAddr(s.Node.Address)
	if err != nil {
		return nil, fmt.Errorf("read the address of %s: %w", s.Node.Name, err)
	}
	var closed []facts.ClosedPorts
	for _, p := range listening(s) {
		if p.Program == "" || p.From == settings.OnlySelf {
			continue // packets to NodePorts have other addresses at the hook input
		}
		for _, n := range s.Config.Nodes {
			from, err := netip.ParseAddr(n.Address)
			if err != nil || n.Name == s.Node.Name || p.From == settings.OnlyMasters && !n.Has(config.ControlPlane) {
				continue
			}
			end := rules.End(packetfilter.Packet{From: from, To: to, Protocol: p.Protocol, Port: p.First, Link: link})
			if end.Rule != "" && end.Sure && (!end.Opens || !firewalld) {
				closed = addClosed(closed, end, fmt.Sprintf("%s (%s)", p, p.Program))
			}
		}
	}
	return closed, nil
}

func addClosed(all []facts.ClosedPorts, end packetfilter.End, port string) []facts.ClosedPorts {
	i := slices.IndexFunc(all, func(c facts.ClosedPorts) bool { return c.Rule == end.Rule })
	if i < 0 {
		return append(all, facts.ClosedPorts{Rule: end.Rule, Table: end.Table, Ports: []string{port}})
	}
	if !slices.Contains(all[i].Ports, port) {
		all[i].Ports = append(all[i].Ports, port)
	}
	return all
}
