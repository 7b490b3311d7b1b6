package kubetest

import (
	"fmt"
	"path"
	"testing"

	"airgap.dev/airgap/internal/host/hosttest"
)

// Starts runs a program as root: the kubelet as a unit, others in a static pod.
func Starts(t *testing.T, f *hosttest.Fake, pid int, network string, argv ...string) {
	t.Helper()
	cgroup := StaticGroup
	if path.Base(argv[0]) == "kubelet" {
		cgroup = "/system.slice/kubelet.service"
	}
	f.Starts(t, pid, cgroup, argv...)
	f.Joins(t, fmt.Sprintf("/proc/%d", pid), network)
}

// Cgroups of pods: the kubelet's hash of a manifest, and a UID of the API server.
const (
	StaticGroup = "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod0f1e2d3c4b5a69788796a5b4c3d2e1f0.slice/cri-containerd-a.scope"
	APIGroup    = "/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod6f0c2d9e_3a41_4c55_9a0b_7d1f2e3c4b5a.slice/cri-containerd-b.scope"
)

// HostNetwork is the host's network namespace, as /proc names it.
const HostNetwork = "net:[1]"
