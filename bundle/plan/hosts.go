package plan

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/preflight/facts"
)

// survey is a file with the facts of a server.
type survey struct {
	file  string
	facts *facts.Facts
}

func factsOf(surveys []survey) []*facts.Facts {
	var all []*facts.Facts
	for _, s := range surveys {
		all = append(all, s.facts)
	}
	return all
}

// belongs reports whether facts are of a node: they have the same host name, with or without a
// domain, or the same address.
func belongs(f *facts.Facts, n config.Node) bool {
	return f.Host == n.Name || strings.HasPrefix(f.Host, n.Name+".") || slices.ContainsFunc(f.Links, func(l facts.Link) bool {
		return slices.ContainsFunc(l.Addresses, func(a netip.Prefix) bool { return a.Addr().String() == n.Address })
	})
}

// byNode has the facts of the surveyed nodes, by their names.
func byNode(c *config.Cluster, surveyed []*facts.Facts) map[string]*facts.Facts {
	by := map[string]*facts.Facts{}
	for _, n := range c.Nodes {
		if at := slices.IndexFunc(surveyed, func(f *facts.Facts) bool { return belongs(f, n) }); at >= 0 {
			by[n.Name] = surveyed[at]
		}
	}
	return by
}

// checkHosts prints a warning for absent nodes whose date is past, and for facts of hosts that are not nodes. If no facts are of a node, it
// returns an error: the plan would assume a minimal installation for every server.
func checkHosts(c *config.Cluster, dir string, surveys []survey, p ui.Progress) error {
	for _, warning := range c.AbsentWarnings(time.Now()) {
		p.Say("warning: %s", warning)
	}
	var strangers []string
	for _, s := range surveys {
		if !slices.ContainsFunc(c.Nodes, func(n config.Node) bool { return belongs(s.facts, n) }) {
			strangers = append(strangers, fmt.Sprintf("%s (host name %q)", s.file, s.facts.Host))
		}
	}
	if len(strangers) == 0 {
		return nil
	}
	what := fmt.Sprintf("no node in airgap.yaml has the host name or an address of %s; airgap.yaml has %s", strings.Join(strangers, ", "), config.ListNodes(c.Nodes))
	const fix = "set nodes[].name to the host name of the server, or remove the file"
	if len(strangers) == len(surveys) {
		return advice.Add(advice.Usage(fmt.Errorf("use the facts in %s: %s", dir, what)), fix)
	}
	p.Say("warning: %s; %s, since the bundle gets packages for this host, too", what, fix)
	return nil
}
