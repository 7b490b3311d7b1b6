package preflight

import (
	"slices"
	"strings"

	"airgap.dev/airgap/preflight/facts"
)

// isPodmans reports whether podman has made the leftover.
func isPodmans(path string) bool {
	return strings.HasPrefix(path, "/"+facts.CNIDir+"/") && strings.Contains(path, "podman")
}

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
		if l.Blocks {
			blocking = append(blocking, l.Path)
		} else {
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
	case len(untidy) > 0 && !slices.ContainsFunc(untidy, isPodmans):
		return Result{Warn, strings.Join(untidy, ", "), want, "remove them with airgap reset, then reboot"}
	case len(untidy) > 0:
		fix := "move podman's file to another directory, and set network_config_dir in /etc/containers/containers.conf to it: until the pod network is there, the runtime would connect pods to podman's bridge"
		if !isPodmans(untidy[0]) || len(untidy) > 1 {
			fix += "; remove the others with airgap reset, then reboot"
		}
		return Result{Warn, strings.Join(untidy, ", "), want, fix}
	default:
		return pass("none")
	}
}
