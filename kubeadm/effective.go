package kubeadm

// ProxyMode is kube-proxy's mode on a host: what airgap.yaml says, else what suits
// the host.
func (c Config) ProxyMode(f Facts) string {
	if mode, is := c.Overrides.KubeProxy["mode"].(string); is && mode != "" {
		return mode
	}
	return f.ProxyMode()
}

// AllowsCgroupV1 reports whether the kubelet is told to start on cgroup v1, which
// it refuses from Kubernetes 1.35 on.
func (c Config) AllowsCgroupV1() bool { return c.Overrides.Kubelet["failCgroupV1"] == false }
