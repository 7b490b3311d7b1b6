package leave

import (
	"path"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/settings"
	"airgap.dev/airgap/kubeadm/node"
	"airgap.dev/airgap/kubeadm/runtime"
)

// traces are the artifacts of kubeadm, the kubelet, kube-proxy, the runtimes and the network plugin.
func (m Member) traces() HostArtifacts {
	n := m.Network
	return HostArtifacts{
		Links:  append([]string{settings.IPVSLink}, n.Links...),
		Tables: append([]string{"kube-proxy", "crio-hostports"}, n.Tables...),
		Chains: append([]string{"KUBE-", "CRIO-"}, n.Chains...),
		Paths: append([]string{
			runtime.KubeletDir, "/usr/libexec/kubernetes",
			"/run/containerd", "/run/nri", "/opt/containerd", "/run/crio", "/var/log/crio",
			"/var/cache/containers/short-name-aliases.conf.lock", "/var/lib/containers/cache/blob-info-cache-v1.sqlite",
			"/run/xtables.lock", path.Dir(node.LockFile), path.Dir(host.BinDir),
		}, n.Paths...),
		// Each directory comes before its parent.
		Dirs: append([]string{
			"/etc/kubernetes/manifests", "/etc/kubernetes/pki", "/etc/kubernetes/tmp", "/etc/kubernetes", node.EtcdDir,
			"/etc/containerd/certs.d", "/etc/containerd/conf.d", "/etc/containerd",
			"/etc/crio/auth", "/etc/crio/crio.conf.d", "/etc/crio/hooks.d", "/etc/crio/policies", "/etc/crio",
			"/var/cache/containers", "/var/lib/containers/cache", "/var/lib/containers",
			runtime.CRIOContainers + "/certs.d", runtime.CRIOContainers + "/registries.d", runtime.CRIOContainers, path.Dir(runtime.CRIOContainers), path.Dir(path.Dir(runtime.CRIOContainers)),
			"/etc/systemd/system/kubelet.service.d", "/etc/systemd/system/containerd.service.d", "/etc/systemd/system/crio.service.d", "/etc/systemd/system/dkms.service.d",
			"/run/netns", "/etc/modules-load.d", "/etc/sysctl.d", "/etc/sysconfig",
		}, n.Dirs...),
		Data: append([]string{"/var/lib/containerd", runtime.CrioDir, "/var/log/pods", "/var/log/containers", path.Dir(AuditDir)}, n.Data...),
	}
}
