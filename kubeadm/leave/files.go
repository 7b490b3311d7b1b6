package leave

import "airgap.dev/airgap/internal/host"

// Files that init, join and upgrade write on a node, without Machine.Root.
const (
	ConfigFile = "/etc/airgap/kubeadm.yaml" // kubeadm's configuration
	// ConfiguredFile has the configuration with which this host became a node or was last
	// upgraded. It is valid only if kubeadm has succeeded.
	ConfiguredFile = host.StateDir + "/kubeadm.configured"
	// UpgradedFile has the configuration of an upgrade for which kubeadm is done, but the kubelet
	// is not. While it exists, only it is valid: during a rollback ConfiguredFile already has the
	// old configuration.
	UpgradedFile        = host.StateDir + "/kubeadm.upgraded"
	ProxyConfiguredFile = host.StateDir + "/kube-proxy.configured" // current configuration of kube-proxy
	ProxyPendingFile    = host.StateDir + "/kube-proxy.begun"      // exists during a change of it
)

// AuditDir is the directory of the API server's audit log.
const AuditDir = "/var/log/kubernetes/audit"
