package install

import (
	"crypto/ecdsa"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/cluster/dryrun"
	"airgap.dev/airgap/cluster/fleet/choice"
	"airgap.dev/airgap/cluster/join"
	"airgap.dev/airgap/cluster/site"
)

// otherHosts returns the hosts of airgap.yaml that join with airgap join.
func otherHosts(s *site.Site, c choice.Choice, v *bundle.View, trusted []*ecdsa.PublicKey) []dryrun.Host {
	var all []dryrun.Host
	others, _, _ := c.Others(s.Config.Nodes, s.Node.Name) // the choice is already checked
	for _, n := range others {
		plan := dryrun.HostFor(n, "join")
		// A step that cannot be built is an error there: this host has no data about that host's GPUs.
		steps, _ := join.AllSteps(s.At(n), &join.Server{Addr: s.RegistryAddr(), Index: s.Index, Trusted: trusted}, v)
		for _, st := range steps {
			plan.Steps = append(plan.Steps, dryrun.Change{Step: st.Name, Title: st.Title})
		}
		all = append(all, plan)
	}
	return all
}
