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

// RuntimeConfigStep configures nvidia-container-runtime, which runs pods of RuntimeClass nvidia. It
// calls the program runc, and gives a container only the GPUs that Kubernetes has allocated. Undo
// restores the previous file.
func RuntimeConfigStep(s Setup, runc string) step.Step {
	text := []byte(ours + fmt.Sprintf(runtimeText, runc))
	return step.Step{
		Name: "gpu-runtime", Title: "Configure nvidia-container-runtime",
		Done: func(context.Context) (bool, error) { return host.FileMatches(s.path(runtimeFile), text, 0o644) },
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

// runtimeText is for version 1.20 of the toolkit (api/config/v1). Mode cdi uses the device names of
// CDIFile. Without these settings, NVIDIA_VISIBLE_DEVICES=all in an image (as in CUDA images) or an
// annotation of a pod would give it all GPUs.
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

// runtimeRecord has the file of the toolkit's package; "" for none.
type runtimeRecord struct {
	Before string `json:"before"`
}

func (s Setup) keepRuntimeConfig() error {
	before, err := os.ReadFile(s.path(runtimeFile))
	if host.IgnoreMissing(err) != nil {
		return err
	}
	if strings.HasPrefix(string(before), ours) {
		return nil // the original is already saved
	}
	return host.WriteJSON(s.path(runtimeUndo), runtimeRecord{Before: string(before)})
}

func (s Setup) restoreRuntimeConfig() error {
	text, err := os.ReadFile(s.path(runtimeFile))
	if err != nil {
		return host.IgnoreMissing(err)
	}
	if !strings.HasPrefix(string(text), ours) {
		return host.Remove(s.path(runtimeUndo)) // the file is no longer airgap's
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
