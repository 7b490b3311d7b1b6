package preflight

import (
	"strings"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/preflight/facts"
)

var oldCluster = Check{
	ID: "old-cluster", Title: "No remains of another cluster", Source: "kubeadm DirAvailable, FileAvailable",
	Breaks: "kubeadm stops because of the old cluster's files, and its interfaces and rules misroute packets.",
	Needs:  []string{"leftovers", "units"}, Run: judgeLeftovers,
}

func judgeLeftovers(f *facts.Facts, w *Want) Result {
	if w.Managed {
		return skipped("airgap has installed this host")
	}
	var blocking, untidy []string
	for _, l := range f.Leftovers {
		switch {
		case l.Blocks:
			blocking = append(blocking, l.Path)
		case !strings.HasPrefix(l.Path, host.SharedCNIDir+"/"): // in surveys of an older airgap; the runtime does not read it
			untidy = append(untidy, l.Path)
		}
	}
	for _, name := range []string{"kubelet.service", "k3s.service", "k3s-agent.service", "rke2-server.service", "rke2-agent.service",
		"k0scontroller.service", "k0sworker.service", "microk8s.daemon-kubelite.service"} {
		switch unit := f.Unit(name); {
		case unit.Active():
			blocking = append(blocking, name+" is active")
		case unit.Later() && name != "kubelet.service": // an interrupted installation also leaves that one
			blocking = append(blocking, "the next boot starts "+name)
		}
	}
	want := "a host that has never been a node"
	switch {
	case len(blocking) > 0:
		return Result{Fail, strings.Join(append(blocking, untidy...), ", "), want,
			"if the old cluster is no longer needed: run airgap reset (or kubeadm reset, or the other distribution's uninstaller), then reboot"}
	case len(untidy) > 0:
		return Result{Warn, strings.Join(untidy, ", "), want, "remove them with airgap reset, then reboot"}
	default:
		return pass("none")
	}
}
