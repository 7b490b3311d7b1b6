package nodesteps

import (
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/internal/step"
)

// choiceSteps keep the choice of the measurement on this host.
func choiceSteps(s *site.Site) []step.Step {
	files, err := s.Choice.File()
	if err != nil || files == nil {
		return nil
	}
	return []step.Step{site.FilesStep("network-choice", "Keep the settings that the network measurement selected", site.NetworkDir, files)}
}
