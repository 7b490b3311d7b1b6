package runtime

import (
	"context"
	"fmt"
	"os"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/step"
)

// crictlConfig is where crictl looks first (cri-tools, docs/crictl.md).
const crictlConfig = "/etc/crictl.yaml"

// CrictlStep tells crictl which runtime to ask. Left to itself it asks containerd before
// CRI-O, so that beside Docker it would show the wrong one's containers, complains each
// time that nobody has told it, and gives a busy runtime two seconds to answer. A file that
// is there already, a package's or the site's, is left alone.
func CrictlStep(m host.Machine, r Config) step.Step {
	text := func() []byte {
		endpoint := r.engine().endpoint()
		return fmt.Appendf(nil, "%sruntime-endpoint: %s\nimage-endpoint: %s\ntimeout: 10\n", ours, endpoint, endpoint)
	}
	return step.Step{
		Name: "crictl", Title: "Tell crictl which runtime to ask",
		Done: func(context.Context) (bool, error) {
			if _, err := os.Stat(m.Path(crictlConfig)); err == nil && !isOurs(m, crictlConfig) {
				return true, nil
			}
			return host.Holds(m.Path(crictlConfig), text(), 0o644)
		},
		Plan: func(context.Context) ([]string, error) {
			return host.PlanFiles(map[string][]byte{m.Path(crictlConfig): text()}, 0o644)
		},
		Run:  func(context.Context) error { return host.WriteFile(m.Path(crictlConfig), text(), 0o644) },
		Undo: func(context.Context) error { return removeOurs(m, crictlConfig) },
	}
}
