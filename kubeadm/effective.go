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

// ResolvConf is the kubelet's file with name servers in airgap.yaml; "" for the default.
func (c Config) ResolvConf() string {
	file, _ := c.Overrides.Kubelet["resolvConf"].(string)
	return file
}

// OwnKubeletCertificate reports whether airgap.yaml names a serving certificate of the kubelet. Its names are the
// site's choice: the API server does not verify them.
func (c Config) OwnKubeletCertificate() bool {
	file, _ := c.Overrides.Kubelet["tlsCertFile"].(string)
	return file != ""
}

// MaxPods is the largest number of pods on a node: that of airgap.yaml, or the kubelet's default.
func (c Config) MaxPods() int {
	switch n := c.Overrides.Kubelet["maxPods"].(type) {
	case int:
		return n
	case int64:
		return int(n)
	case uint64:
		return int(min(n, 1<<20))
	case float64:
		return int(n)
	default:
		return 110
	}
}
