package leave

import (
	_ "embed"

	"airgap.dev/airgap/internal/host"
)

const AuditDir = "/var/log/kubernetes/audit"

// ConfiguredFile says with which configuration this host became a node, or was
// upgraded last. It counts where kubeadm came back fine.
const ConfiguredFile = host.StateDir + "/kubeadm.configured"

// Where things lie on a node, before Machine.Root.
const ConfigFile = "/etc/airgap/kubeadm.yaml"

const ProxiedFile = host.StateDir + "/kube-proxy.configured"

const ProxyingFile = host.StateDir + "/kube-proxy.begun"

// UpgradedFile says for which configuration kubeadm has done its part of an
// upgrade, when the kubelet has yet to do its own. While it is there it alone
// counts: a host that goes back has the configuration of before noted all along.
const UpgradedFile = host.StateDir + "/kubeadm.upgraded"
