package support

import (
	"context"
	"encoding/json"
	"io"
	"path"
	"slices"
	"strings"

	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/internal/output"
	"airgap.dev/airgap/kubeadm/encryption"
	"airgap.dev/airgap/kubeadm/kube"
	"airgap.dev/airgap/kubeadm/runtime"
	"airgap.dev/airgap/verify/nodereport"
)

// ofAirgap returns the parts with airgap's journal, logs and records.
func (e *Evidence) ofAirgap() []Part {
	all := []Part{e.log("airgap/journal.jsonl", "airgap's journal: which steps ran, when, and how they ended", site.JournalFile[1:], some)}
	for _, name := range e.found("var/log/airgap/*.log", "var/log/airgap/*/*.log") {
		all = append(all, e.log(below("airgap", strings.TrimPrefix(name, "var/log/airgap/")), "Log of an airgap command", name, some))
	}
	for _, name := range e.found("var/lib/airgap/report.json", "var/lib/airgap/network/*", "var/lib/airgap/upgrade/record.json", "var/lib/airgap/restored/*.json*", "etc/airgap/required-keys") {
		all = append(all, e.reads(below("airgap", path.Base(name)), "Record of airgap", name))
	}
	return all
}

// configuration returns the parts with the effective configuration, and with the configuration files.
func (e *Evidence) configuration() []Part {
	all := []Part{
		{Name: "config/runtime-effective.toml", Title: "Effective configuration of the container runtime, with all drop-ins", Limit: quick, Room: some, Write: e.runtimeDump},
		{Name: "config/kubelet-effective.json", Title: "Effective configuration of the kubelet", Limit: quick, Room: some, Write: e.kubeletConfig},
	}
	for _, name := range e.configFiles() {
		all = append(all, e.reads(below("config", name), "File of this host", name))
	}
	return all
}

func (e *Evidence) runtimeDump(ctx context.Context, w io.Writer) error {
	if len(e.found("etc/containerd/config.toml", "etc/crio/crio.conf")) == 0 {
		return NotPresent("no container runtime is configured")
	}
	dump, err := runtime.Dump(ctx, e.Machine.Machine)
	if err != nil {
		return err
	}
	_, err = w.Write(dump)
	return err
}

func (e *Evidence) kubeletConfig(ctx context.Context, w io.Writer) error {
	if !e.has(kube.KubeletConf) {
		return NotPresent("this host is not a node: %s does not exist", kube.KubeletConf)
	}
	text, err := nodereport.LocalKubelet().Config(ctx)
	if err != nil {
		return err
	}
	return output.JSON(w, json.RawMessage(text))
}

// configFiles returns the configuration files of the host, without those that contain secrets.
func (e *Evidence) configFiles() []string {
	all := e.found(
		"etc/airgap/*.yaml", "etc/airgap/crio/.config/containers/*.conf", "etc/airgap/crio/.config/containers/*.d/*", "etc/airgap/crio/.config/containers/policy.json",
		"etc/containerd/*.toml", "etc/containerd/conf.d/*", "etc/containerd/certs.d/*/hosts.toml",
		"etc/crio/*.conf", "etc/crio/crio.conf.d/*", "etc/containers/*.conf", "etc/containers/registries.conf.d/*",
		"etc/kubernetes/manifests/*.yaml", "etc/kubernetes/apiserver/*.yaml", "var/lib/kubelet/config.yaml", "var/lib/kubelet/kubeadm-flags.env", "var/lib/kubelet/instance-config.yaml",
		"etc/airgap/cni/net.d/*.conflist", "etc/cni/net.d/*.conflist", "etc/cni/net.d/*.conf", "etc/nvidia-container-runtime/*.toml", "etc/cdi/*", "run/flannel/subnet.env",
		"etc/systemd/system/airgap*", "etc/systemd/system/*.service.d/*.conf", "usr/lib/systemd/system/kubelet.service.d/*.conf",
		"etc/systemd/system/containerd.service", "etc/systemd/system/crio.service", "etc/sysconfig/kubelet", "etc/sysconfig/airgap*", "etc/sysconfig/crio",
		"etc/sysctl.conf", "etc/sysctl.d/*.conf", "usr/local/lib/sysctl.d/*.conf", "etc/tuned/active_profile", "etc/modules-load.d/*.conf", "etc/modprobe.d/*.conf", "etc/NetworkManager/conf.d/*.conf", "etc/firewalld/zones/*.xml",
		"etc/fapolicyd/rules.d/*", "etc/selinux/config", "etc/systemd/zram-generator.conf",
		"etc/hosts", "etc/resolv.conf", "etc/os-release", "etc/fstab", "etc/chrony.conf", "etc/dnf/dnf.conf", "etc/dnf/plugins/*.list", "etc/yum.repos.d/*.repo",
	)
	return slices.DeleteFunc(all, holdsSecrets)
}

// holdsSecrets reports whether a file contains secrets according to the table in docs/security.md, "Secrets".
func holdsSecrets(name string) bool {
	switch path.Ext(name) {
	case ".key", ".pem", ".crt", ".htpasswd", ".p12":
		return true
	}
	return strings.HasPrefix(name, "etc/airgap/pki/") || strings.HasPrefix(name, "etc/kubernetes/pki/") || "/"+name == encryption.EncryptionFile ||
		path.Dir(name) == "etc/kubernetes" || strings.Contains(path.Base(name), "kubeconfig") || strings.HasPrefix(name, "var/lib/airgap/backup/")
}
