package kubeadm

import (
	"io/fs"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/kubeadm/kube"
	"airgap.dev/airgap/kubeadm/leave"
	"airgap.dev/airgap/kubeadm/node"
	"airgap.dev/airgap/kubeadm/runtime"
)

// fileControls check the owner and mode of files and directories. A pattern without a matching
// file does not apply to the host.
func fileControls(c Config) []Control {
	files := func(id, pattern string, mode fs.FileMode, by By, why string) Control {
		return Control{ID: id, Part: Files, Name: pattern, Test: AtMost, Want: mode, By: by, Why: why}
	}
	controls := []Control{
		files("1.1.1-1.1.8", "/etc/kubernetes/manifests/*.yaml", 0o600, ByKubeadm, "write access here gives root on the host"),
		files("1.1.9, 1.1.10", host.CNIDir+"/*.conflist", 0o600, ByAirgap, "write access here decides which program runs as root for every pod"),
		files("1.1.11", node.EtcdDir, 0o700, ByKubeadm, "contains all data of the cluster"),
		files("1.1.13, 1.1.14", "/etc/kubernetes/*admin.conf", 0o600, ByKubeadm, "contains the administrator's credentials"),
		files("1.1.15, 1.1.16", "/etc/kubernetes/scheduler.conf", 0o600, ByKubeadm, "contains a key"),
		files("1.1.17, 1.1.18", kube.ControllerManagerConf, 0o600, ByKubeadm, "contains a key"),
		files("1.1.19, 1.1.20", "/etc/kubernetes/pki/*.crt", 0o600, ByAirgap, "no user of the host needs them, and they list names that an attacker can use"),
		files("1.1.19, 1.1.20", "/etc/kubernetes/pki/etcd/*.crt", 0o600, ByAirgap, "as above"),
		files("1.1.19, 1.1.21", "/etc/kubernetes/pki/*.key", 0o600, ByKubeadm, "private keys"),
		files("1.1.19, 1.1.21", "/etc/kubernetes/pki/etcd/*.key", 0o600, ByKubeadm, "private keys"),
		files("4.1.1, 4.1.2", "/usr/lib/systemd/system/kubelet.service", 0o600, ByAirgap, "required by the benchmark; rpm -V reports the changed mode"),
		files("4.1.1, 4.1.2", "/usr/lib/systemd/system/kubelet.service.d/*.conf", 0o600, ByAirgap, "as above"),
		files("4.1.5, 4.1.6", kube.KubeletConf, 0o600, ByKubeadm, "contains the node's credentials"),
		files("4.1.9, 4.1.10", runtime.KubeletConfig, 0o600, ByAirgap, "shows how the node is protected"),
		files("-", runtime.KubeletDir+"/*.env", 0o600, ByAirgap, "as above"),
		files("-", runtime.KubeletDir+"/instance-config.yaml", 0o600, ByAirgap, "as above"),
		files("-", node.APIServerDir, 0o700, ByAirgap, "contains keys and the authentication rules"),
		files("-", node.APIServerDir+"/*.yaml", 0o600, ByAirgap, "as above"),
	}
	if c.Audit.Log != NoAudit {
		controls = append(controls,
			files("-", leave.AuditDir, 0o700, ByAirgap, "only root may read the actions of users"),
			files("-", leave.AuditDir+"/*.log", 0o600, ByDefault, "as above"))
	}
	return controls
}
