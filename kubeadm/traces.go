package kubeadm

import (
	"path"
	"strings"
)

// Traces are what the programs of a cluster make on a host by themselves. No
// step of ours writes them, so only a list can know of them; that a thing was
// not there before is what makes it theirs.
type Traces struct {
	Links  []string // network interfaces, by name, or by its beginning and a *
	Tables []string // packet filter tables, by name, that nobody else uses
	Chains []string // beginnings of the names of their chains in tables that others use too
	Paths  []string // files, and directories with all that is in them
	Dirs   []string // directories that others may use as well: gone when they are empty
	Data   []string // directories that outlast a reset unless their data is unwanted
}

// ipvsLink is kube-proxy's in the mode ipvs.
const ipvsLink = "kube-ipvs0"

// isNamed judges what Links lists by the name of an interface.
func isNamed(link string) func(pattern string) bool {
	return func(pattern string) bool {
		beginning, wild := strings.CutSuffix(pattern, "*")
		return link == pattern || wild && strings.HasPrefix(link, beginning)
	}
}

// traces are those of kubeadm, kubelet, kube-proxy and the runtimes, together
// with those of the network plugin.
func (m Machine) traces() Traces {
	n := m.Network
	return Traces{
		Links:  append([]string{ipvsLink}, n.Links...),
		Tables: append([]string{"kube-proxy", "crio-hostports"}, n.Tables...),
		Chains: append([]string{"KUBE-", "CRIO-"}, n.Chains...),
		Paths: append([]string{
			kubeletDir, "/usr/libexec/kubernetes",
			"/run/containerd", "/run/nri", "/opt/containerd", "/run/crio", "/var/log/crio",
			"/var/cache/containers/short-name-aliases.conf.lock", "/var/lib/containers/cache/blob-info-cache-v1.sqlite",
			"/run/xtables.lock", path.Dir(lockFile), path.Dir(BinDir),
		}, n.Paths...),
		// Each before the one it lies in.
		Dirs: append([]string{
			"/etc/kubernetes/manifests", "/etc/kubernetes/pki", "/etc/kubernetes/tmp", "/etc/kubernetes", etcdDir,
			"/etc/containerd/certs.d", "/etc/containerd/conf.d", "/etc/containerd",
			"/etc/crio/auth", "/etc/crio/crio.conf.d", "/etc/crio/hooks.d", "/etc/crio/policies", "/etc/crio",
			"/var/cache/containers", "/var/lib/containers/cache", "/var/lib/containers",
			CRIOContainers + "/certs.d", CRIOContainers + "/registries.d", CRIOContainers, path.Dir(CRIOContainers), path.Dir(path.Dir(CRIOContainers)),
			"/etc/systemd/system/containerd.service.d", "/etc/systemd/system/crio.service.d", "/etc/systemd/system/dkms.service.d",
			"/run/netns", "/etc/modules-load.d", "/etc/sysctl.d", "/etc/sysconfig",
		}, n.Dirs...),
		Data: append([]string{"/var/lib/containerd", crioDir, "/var/log/pods", "/var/log/containers", path.Dir(AuditDir)}, n.Data...),
	}
}
