package main

import (
	"crypto/ecdsa"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/cluster/join"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/internal/step"
	"airgap.dev/airgap/internal/ui"
)

// otherHosts are those of airgap.yaml that install leaves to join.
func otherHosts(s *site.Site, v *bundle.View, trusted []*ecdsa.PublicKey) []hostPlan {
	var all []hostPlan
	for _, n := range s.Config.Nodes {
		if n.Name == s.Node.Name {
			continue
		}
		there := *s
		there.Node = n
		plan := planFor(n, "join")
		for _, st := range stepsAgain(&there, &join.Hub{Addr: s.RegistryAddr(), Index: s.Index, Trusted: trusted}, v) {
			plan.Steps = append(plan.Steps, stepPlan{Step: st.Name, Title: st.Title})
		}
		all = append(all, plan)
	}
	return all
}

// stepsAgain are the steps of a join for asking about them, not for running:
// without a code.
func stepsAgain(s *site.Site, h *join.Hub, v *bundle.View) []step.Step {
	nobody := &join.Admission{}
	if s.ServesRegistry() {
		return join.ControlPlaneSteps(s, h, v, nobody, nil, ui.Discard())
	}
	return join.WorkerSteps(s, h, nobody, nil, ui.Discard())
}
