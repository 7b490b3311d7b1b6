package kubeadm

import (
	"cmp"

	"airgap.dev/airgap/kubeadm/runtime"
)

// ProxyMode is kube-proxy's mode on a host: that of airgap.yaml, or else the default for the
// host.
func (c Config) ProxyMode(f runtime.Facts) string { return cmp.Or(c.SetProxyMode(), f.ProxyMode()) }

// SetProxyMode is the mode in airgap.yaml; "" if the first host's kernel decides.
func (c Config) SetProxyMode() string {
	mode, _ := c.Overrides.KubeProxy["mode"].(string)
	return mode
}

// AllowsCgroupV1 reports whether the configuration allows the kubelet to start on cgroup v1. By
// default it refuses since Kubernetes 1.35.
func (c Config) AllowsCgroupV1() bool { return c.Overrides.Kubelet["failCgroupV1"] == false }
