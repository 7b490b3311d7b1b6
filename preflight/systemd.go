package preflight

import (
	"context"
	"fmt"
	"strings"
)

func readInit(_ context.Context, r reader, f *Facts) error {
	var err error
	f.Init, err = r.text("proc/1/comm")
	return err
}

var systemdInit = Check{
	ID: "systemd-init", Title: "systemd is process 1", Source: "airgap: units, and the systemd cgroup driver",
	Breaks: "airgap installs systemd units and uses the systemd cgroup driver. Neither works in a plain container.",
	Needs:  []string{"init"}, Run: judgeInit,
}

func judgeInit(f *Facts, _ *Want) Result {
	if f.Init != "systemd" {
		return Result{Fail, f.Init, "systemd", "install on a machine that boots with systemd, not in a plain container"}
	}
	return pass("%s", f.Init)
}

// readSystemd reads the first line of systemctl --version: "systemd 252 (252-51.el9)".
func readSystemd(ctx context.Context, r reader, f *Facts) error {
	out, err := r.output(ctx, "systemctl", "--version")
	if err != nil {
		return err
	}
	if _, err := fmt.Sscanf(out, "systemd %d", &f.Systemd); err != nil {
		first, _, _ := strings.Cut(out, "\n")
		return fmt.Errorf("parse the version of systemd %q: %w", first, err)
	}
	return nil
}

var systemdVersion = Check{
	ID: "systemd-version", Title: "systemd is new enough", Source: "runc docs/cgroup-v2.md",
	Breaks: "On cgroup v2 an older systemd does not delegate the cpuset controller: pods cannot be pinned to CPUs.",
	Needs:  []string{"systemd", "cgroup"}, Run: judgeSystemd,
}

func judgeSystemd(f *Facts, _ *Want) Result {
	const delegates = 244
	if f.Cgroup.Mode == "v2" && f.Systemd < delegates {
		return Result{Warn, fmt.Sprintf("%d, on cgroup v2", f.Systemd), fmt.Sprintf("%d or newer", delegates),
			"do not use the kubelet's static CPU manager on this host, or use Enterprise Linux 9"}
	}
	return pass("%d", f.Systemd)
}
