package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/version"
	"airgap.dev/airgap/kubeadm"
	"airgap.dev/airgap/registry"
	"airgap.dev/airgap/verify/nodereport"
)

// installedVersion is that of the program in airgap.rpm's place, which may have been
// replaced since this process was started.
func installedVersion(ctx context.Context, h host.Host) (string, error) {
	own, err := os.Stat("/proc/self/exe")
	if err != nil {
		return "", fmt.Errorf("find this program: %w", err)
	}
	if installed, err := os.Stat(installedProgram); err == nil && os.SameFile(own, installed) {
		return version.String(), nil
	}
	out, err := h.Run(ctx, host.Cmd{Name: installedProgram, Args: []string{"--version"}})
	words := strings.Fields(string(out))
	if err != nil || len(words) == 0 {
		return "", fmt.Errorf("ask %s for its version: %w", installedProgram, err)
	}
	return words[len(words)-1], nil
}

// unknownVersion stands for a registry that does not say which version it is: an older one.
const unknownVersion = "unknown"

func (s reportSettings) programs(ctx context.Context, h host.Host) (*nodereport.Programs, error) {
	installed, err := installedVersion(ctx, h)
	if err != nil {
		return nil, err
	}
	found := &nodereport.Programs{Installed: installed}
	if slices.Contains(s.Units, kubeadm.ApproverUnit) {
		if found.Approver, err = approverVersion(ctx, h); err != nil {
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
	if health, err := client.Health(ctx); err == nil { // that it is silent is said by registries
		found.Registry = runningVersion(health)
	}
	return found, nil
}

// approverStatus is what the approver tells systemd of itself, before its version.
const approverStatus = "airgap version "

// approverVersion is "" where the approver does not run.
func approverVersion(ctx context.Context, h host.Host) (string, error) {
	text, err := nodereport.StatusText(ctx, h, kubeadm.ApproverUnit)
	return strings.TrimPrefix(text, approverStatus), err
}

func runningVersion(h registry.Health) string {
	if h.Version == "" {
		return unknownVersion
	}
	return h.Version
}

// tellOutdated names services that an update of airgap.rpm did not restart.
func (st *status) tellOutdated() {
	for _, r := range st.Running {
		if r.Version != st.Program {
			st.Problems = append(st.Problems, fmt.Sprintf("%s runs airgap version %s, installed is %s: systemctl restart %s", r.Unit, r.Version, st.Program, r.Unit))
		}
	}
}

// runningProgram is a service of airgap's with the version that it runs.
type runningProgram struct {
	Unit    string `json:"unit"`
	Version string `json:"version"`
}

// reportingVersion is that of the process that writes this host's report; "" where the
// cluster does not say.
func reportingVersion(ctx context.Context) string {
	settings, err := host.ReadJSON[reportSettings](reportFile)
	if err != nil || settings.Node == "" {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	client, _, err := settings.client()
	if err != nil {
		return ""
	}
	report, err := nodereport.Read(ctx, client, settings.Node)
	if err != nil {
		return ""
	}
	return report.Report.Program
}
