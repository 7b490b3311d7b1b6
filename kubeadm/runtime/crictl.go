package runtime

import (
	"context"
	"fmt"
	"os"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/step"
)

// crictlConfig is the first path that crictl reads (cri-tools, docs/crictl.md).
const crictlConfig = "/etc/crictl.yaml"

// CrictlStep configures the runtime endpoint of crictl. Without a configuration crictl prefers
// containerd to CRI-O, so on a host with Docker it would show the wrong containers. It also prints
// a warning at each call, and waits only two seconds for a busy runtime. The step does not change
// an existing file of a package or of the site.
func CrictlStep(m host.Machine, r Config) step.Step {
	text := func() []byte {
		endpoint := r.engine().endpoint()
		return fmt.Appendf(nil, "%sruntime-endpoint: %s\nimage-endpoint: %s\ntimeout: 10\n", ours, endpoint, endpoint)
	}
	return step.Step{
		Name: "crictl", Title: "Configure the runtime endpoint of crictl",
		Done: func(context.Context) (bool, error) {
			if _, err := os.Stat(m.Path(crictlConfig)); err == nil && !isOurs(m, crictlConfig) {
				return true, nil
			}
			return host.FileMatches(m.Path(crictlConfig), text(), 0o644)
		},
		Plan: func(context.Context) ([]string, error) {
			return host.PlanFiles(map[string][]byte{m.Path(crictlConfig): text()}, 0o644)
		},
		Run:  func(context.Context) error { return host.WriteFile(m.Path(crictlConfig), text(), 0o644) },
		Undo: func(context.Context) error { return removeOurs(m, crictlConfig) },
	}
}
