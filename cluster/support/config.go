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

// ofAirgap is what airgap wrote down: its journal, and its logs.
func (e *Evidence) ofAirgap() []Part {
	all := []Part{e.log("airgap/journal.jsonl", "airgap's journal: which steps ran, when, and how they ended", site.JournalFile[1:], some)}
	for _, name := range e.found("var/log/airgap/*.log", "var/log/airgap/*/*.log") {
		all = append(all, e.log(below("airgap", strings.TrimPrefix(name, "var/log/airgap/")), "What a command of airgap's said", name, some))
	}
	for _, name := range e.found("var/lib/airgap/report.json", "var/lib/airgap/network/*", "var/lib/airgap/upgrade/record.json", "var/lib/airgap/restored/*.json*", "etc/airgap/required-keys") {
		all = append(all, e.reads(below("airgap", path.Base(name)), "A record of airgap's", name))
	}
	return all
}

// configuration is what is in force, as the programs tell it, and the files.
func (e *Evidence) configuration() []Part {
	all := []Part{
		{Name: "config/runtime-effective.toml", Title: "The runtime's configuration with all drop-ins, as it tells it", Limit: quick, Room: some, Write: e.runtimeDump},
		{Name: "config/kubelet-effective.json", Title: "The kubelet's configuration, as it tells it", Limit: quick, Room: some, Write: e.kubeletConfig},
	}
	for _, name := range e.configFiles() {
		all = append(all, e.reads(below("config", name), "A file of this host", name))
	}
	return all
}

func (e *Evidence) runtimeDump(ctx context.Context, w io.Writer) error {
	if len(e.found("etc/containerd/config.toml", "etc/crio/crio.conf")) == 0 {
		return NoneHere("there is no configuration of a runtime")
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
		return NoneHere("this host is no node: there is no %s", kube.KubeletConf)
	}
	text, err := nodereport.LocalKubelet().Config(ctx)
	if err != nil {
		return err
	}
	return output.JSON(w, json.RawMessage(text))
}

// configFiles are the files of the host that say how it is set up. What holds secrets
// is not among them, whatever its name.
func (e *Evidence) configFiles() []string {
	all := e.found(
		"etc/airgap/*.yaml", "etc/airgap/crio/.config/containers/*.conf", "etc/airgap/crio/.config/containers/*.d/*", "etc/airgap/crio/.config/containers/policy.json",
		"etc/containerd/*.toml", "etc/containerd/conf.d/*", "etc/containerd/certs.d/*/hosts.toml",
		"etc/crio/*.conf", "etc/crio/crio.conf.d/*", "etc/containers/*.conf", "etc/containers/registries.conf.d/*",
		"etc/kubernetes/manifests/*.yaml", "etc/kubernetes/apiserver/*.yaml", "var/lib/kubelet/config.yaml", "var/lib/kubelet/kubeadm-flags.env", "var/lib/kubelet/instance-config.yaml",
		"etc/cni/net.d/*.conflist", "etc/cni/net.d/*.conf", "etc/nvidia-container-runtime/*.toml", "etc/cdi/*", "run/flannel/subnet.env",
		"etc/systemd/system/airgap*", "etc/systemd/system/*.service.d/*.conf", "usr/lib/systemd/system/kubelet.service.d/*.conf",
		"etc/systemd/system/containerd.service", "etc/systemd/system/crio.service", "etc/sysconfig/kubelet", "etc/sysconfig/airgap*", "etc/sysconfig/crio",
		"etc/sysctl.conf", "etc/sysctl.d/*.conf", "etc/modules-load.d/*.conf", "etc/modprobe.d/*.conf", "etc/NetworkManager/conf.d/*.conf", "etc/firewalld/zones/*.xml",
		"etc/fapolicyd/rules.d/*", "etc/selinux/config", "etc/systemd/zram-generator.conf",
		"etc/hosts", "etc/resolv.conf", "etc/os-release", "etc/fstab", "etc/chrony.conf", "etc/dnf/dnf.conf", "etc/dnf/plugins/*.list", "etc/yum.repos.d/*.repo",
	)
	return slices.DeleteFunc(all, holdsSecrets)
}

// holdsSecrets goes by the table in docs/security.md, "Secrets".
func holdsSecrets(name string) bool {
	switch path.Ext(name) {
	case ".key", ".pem", ".crt", ".htpasswd", ".p12":
		return true
	}
	return strings.HasPrefix(name, "etc/airgap/pki/") || strings.HasPrefix(name, "etc/kubernetes/pki/") || "/"+name == encryption.EncryptionFile ||
		path.Dir(name) == "etc/kubernetes" || strings.Contains(path.Base(name), "kubeconfig") || strings.HasPrefix(name, "var/lib/airgap/backup/")
}
