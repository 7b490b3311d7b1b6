package preflight

import (
	"fmt"

	"airgap.dev/airgap/preflight/facts"
)

var systemdInit = Check{
	ID: "systemd-init", Title: "systemd is process 1", Source: "airgap: units, and the systemd cgroup driver",
	Breaks: "airgap installs systemd units and uses the systemd cgroup driver. Neither works in a plain container.",
	Needs:  []string{"init"}, Run: judgeInit,
}

func judgeInit(f *facts.Facts, _ *Want) Result {
	if f.Init != "systemd" {
		return Result{Fail, f.Init, "systemd", "install on a machine that boots with systemd, not in a plain container"}
	}
	return pass("%s", f.Init)
}

var systemdVersion = Check{
	ID: "systemd-version", Title: "systemd is new enough", Source: "runc docs/cgroup-v2.md",
	Breaks: "On cgroup v2 an older systemd does not delegate the cpuset controller: pods cannot be pinned to CPUs.",
	Needs:  []string{"systemd", "cgroup"}, Run: judgeSystemd,
}

func judgeSystemd(f *facts.Facts, _ *Want) Result {
	const delegates = 244
	if f.Cgroup.Mode == "v2" && f.Systemd < delegates {
		return Result{Warn, fmt.Sprintf("%d, on cgroup v2", f.Systemd), fmt.Sprintf("%d or newer", delegates),
			"do not use the kubelet's static CPU manager on this host, or use Enterprise Linux 9"}
	}
	return pass("%d", f.Systemd)
}
