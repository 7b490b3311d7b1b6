package leave

import "airgap.dev/airgap/internal/host"

// What init, join and upgrade write down on a node, before Machine.Root.
const (
	ConfigFile = "/etc/airgap/kubeadm.yaml" // kubeadm's configuration
	// ConfiguredFile says with which configuration this host became a node, or was upgraded last. It
	// counts where kubeadm came back fine.
	ConfiguredFile = host.StateDir + "/kubeadm.configured"
	// UpgradedFile says for which configuration kubeadm has done its part of an upgrade, when the
	// kubelet has yet to do its own. While it is there it alone counts: a host that goes back has
	// the configuration of before noted all along.
	UpgradedFile = host.StateDir + "/kubeadm.upgraded"
	ProxiedFile  = host.StateDir + "/kube-proxy.configured" // the same of kube-proxy
	ProxyingFile = host.StateDir + "/kube-proxy.begun"
)

// AuditDir has the API server's audit log.
const AuditDir = "/var/log/kubernetes/audit"
