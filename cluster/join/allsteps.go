package join

import (
	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/internal/step"
	"airgap.dev/airgap/internal/ui"
)

// AllSteps are the steps of a join for asking about them, not for running:
// without a code.
func AllSteps(s *site.Site, h *Server, v *bundle.View) ([]step.Step, error) {
	nobody := &Admission{}
	if s.ServesRegistry() {
		return ControlPlaneSteps(s, h, v, nobody, UpgradePart{}, ui.Discard())
	}
	return WorkerSteps(s, h, nobody, UpgradePart{}, ui.Discard())
}
