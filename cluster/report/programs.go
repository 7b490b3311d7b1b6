package report

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/version"
	"airgap.dev/airgap/kubeadm/jointoken"
	"airgap.dev/airgap/registry"
	"airgap.dev/airgap/verify/nodereport"
)

// installedVersion returns the version of the installed program, which may have been
// replaced since this process started.
func installedVersion(ctx context.Context, h host.Host) (string, error) {
	own, err := os.Stat("/proc/self/exe")
	if err != nil {
		return "", fmt.Errorf("find this program: %w", err)
	}
	if installed, err := os.Stat(site.InstalledProgram); err == nil && os.SameFile(own, installed) {
		return version.String(), nil
	}
	out, err := h.Run(ctx, host.Cmd{Name: site.InstalledProgram, Args: []string{"--version"}})
	words := strings.Fields(string(out))
	if err != nil || len(words) == 0 {
		return "", fmt.Errorf("ask %s for its version: %w", site.InstalledProgram, err)
	}
	return words[len(words)-1], nil
}

// UnknownVersion stands for a registry that does not say which version it is: an older one.
const UnknownVersion = "unknown"

func (s Settings) programs(ctx context.Context, h host.Host) (*nodereport.Programs, error) {
	installed, err := installedVersion(ctx, h)
	if err != nil {
		return nil, err
	}
	found := &nodereport.Programs{Installed: installed}
	if slices.Contains(s.Units, jointoken.ApproverUnit) {
		if found.Approver, err = ApproverVersion(ctx, h); err != nil {
			return nil, err
		}
	}
	if s.Own == nil {
		return found, nil
	}
	ca, err := os.ReadFile(s.Own.CAFile)
	if err != nil {
		return nil, fmt.Errorf("ask the registry for its version: %w", err)
	}
	client, err := registry.NewClient(s.Own.Address, ca)
	if err != nil {
		return nil, fmt.Errorf("ask the registry for its version: %w", err)
	}
	if health, err := client.Health(ctx); err == nil { // the rule registries reports a silent one
		found.Registry = RunningVersion(health)
	}
	return found, nil
}

// ApproverStatus is the prefix of the approver's status in systemd, before its version.
const ApproverStatus = "airgap version "

// ApproverVersion is "" where the approver does not run.
func ApproverVersion(ctx context.Context, h host.Host) (string, error) {
	text, err := nodereport.StatusText(ctx, h, jointoken.ApproverUnit)
	return strings.TrimPrefix(text, ApproverStatus), err
}

// RunningVersion returns the version that a registry reports, or UnknownVersion.
func RunningVersion(h registry.Health) string {
	if h.Version == "" {
		return UnknownVersion
	}
	return h.Version
}

// RunningProgram is a service of airgap's with the version that it runs.
type RunningProgram struct {
	Unit    string `json:"unit"`
	Version string `json:"version"`
}
