package nodesteps

import (
	"context"
	"strings"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/step"
)

// TrustStep writes down which keys bundles must be signed with on this host, for
// later commands and for the registry's service. Where none is required it holds.
func TrustStep(file string, required []string) step.Step {
	text := []byte(strings.Join(required, "\n") + "\n")
	return step.Step{
		Name: "trust", Title: "Hold to the keys that bundles must be signed with",
		Done: func(context.Context) (bool, error) {
			if len(required) == 0 {
				return true, nil
			}
			return host.FileMatches(file, text, 0o644)
		},
		Plan: func(context.Context) ([]string, error) { return host.PlanFiles(map[string][]byte{file: text}, 0o644) },
		Run:  func(context.Context) error { return host.WriteFile(file, text, 0o644) },
		Undo: func(context.Context) error { return host.Remove(file) },
	}
}
