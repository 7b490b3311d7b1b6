package kubeadm

import (
	"cmp"

	"airgap.dev/airgap/kubeadm/runtime"
)

// ProxyMode is kube-proxy's mode on a host: what airgap.yaml says, else what suits
// the host.
func (c Config) ProxyMode(f runtime.Facts) string { return cmp.Or(c.SetProxyMode(), f.ProxyMode()) }

// SetProxyMode is the mode that airgap.yaml says; "": the first host's kernel decides.
func (c Config) SetProxyMode() string {
	mode, _ := c.Overrides.KubeProxy["mode"].(string)
	return mode
}

// AllowsCgroupV1 reports whether the kubelet is told to start on cgroup v1, which
// it refuses from Kubernetes 1.35 on.
func (c Config) AllowsCgroupV1() bool { return c.Overrides.Kubelet["failCgroupV1"] == false }
