package gpu

import (
	"context"
	"fmt"
	"os"
	"strings"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/step"
)

const (
	runtimeFile = "/etc/nvidia-container-runtime/config.toml"
	runtimeUndo = undoDir + "/nvidia-container-runtime.json"
)

// RuntimeConfigStep configures nvidia-container-runtime, which pods of RuntimeClass
// nvidia run under: it hands on to runc, the path of airgap's own, and gives a
// container no card that Kubernetes has not given it. Undo puts back what was there.
func RuntimeConfigStep(s Setup, runc string) step.Step {
	text := []byte(ours + fmt.Sprintf(runtimeText, runc))
	return step.Step{
		Name: "gpu-runtime", Title: "Configure nvidia-container-runtime",
		Done: func(context.Context) (bool, error) { return host.Holds(s.path(runtimeFile), text, 0o644) },
		Plan: func(context.Context) ([]string, error) {
			change, err := host.PlanFile(s.path(runtimeFile), text, 0o644)
			return []string{change}, err
		},
		Run: func(context.Context) error {
			if err := s.keepRuntimeConfig(); err != nil {
				return err
			}
			return host.WriteFile(s.path(runtimeFile), text, 0o644)
		},
		Undo: func(context.Context) error { return s.restoreRuntimeConfig() },
	}
}

// runtimeText is for the toolkit's version 1.20 (api/config/v1). Mode cdi names the
// cards by CDIFile. An image's NVIDIA_VISIBLE_DEVICES=all, which those of CUDA
// have, and a pod's annotation would else give all cards to whoever asks.
const runtimeText = `accept-nvidia-visible-devices-envvar-when-unprivileged = false
accept-nvidia-visible-devices-as-volume-mounts = false

[nvidia-container-runtime]
mode = "cdi"
runtimes = [%q]

[nvidia-container-runtime.modes.cdi]
annotation-prefixes = []
default-kind = "nvidia.com/gpu"
spec-dirs = ["/etc/cdi", "/var/run/cdi"]
`

// runtimeRecord is the file as the toolkit's package made it; "" for none.
type runtimeRecord struct {
	Before string `json:"before"`
}

func (s Setup) keepRuntimeConfig() error {
	before, err := os.ReadFile(s.path(runtimeFile))
	if host.IgnoreMissing(err) != nil {
		return err
	}
	if strings.HasPrefix(string(before), ours) {
		return nil // kept when ours came
	}
	return host.WriteJSON(s.path(runtimeUndo), runtimeRecord{Before: string(before)})
}

func (s Setup) restoreRuntimeConfig() error {
	text, err := os.ReadFile(s.path(runtimeFile))
	if err != nil {
		return host.IgnoreMissing(err)
	}
	if !strings.HasPrefix(string(text), ours) {
		return host.Remove(s.path(runtimeUndo)) // somebody else's by now
	}
	record, err := host.ReadJSON[runtimeRecord](s.path(runtimeUndo))
	if err != nil {
		return err
	}
	if record.Before == "" {
		err = host.Remove(s.path(runtimeFile))
	} else {
		err = host.WriteFile(s.path(runtimeFile), []byte(record.Before), 0o644)
	}
	if err != nil {
		return err
	}
	return host.Remove(s.path(runtimeUndo))
}
