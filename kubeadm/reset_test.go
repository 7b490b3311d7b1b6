package kubeadm

import (
	"strings"
	"testing"

	"airgap.dev/airgap/internal/host"
)

func TestReset(t *testing.T) {
	f, m := newFake(t)
	withKubeadm(t, f, m, newAPI(t))
	f.put(t, stateFile, "ended\n")
	f.put(t, ConfigFile, "x")
	f.put(t, "etc/cni/net.d/10-flannel.conflist", "{}")
	f.put(t, "etc/cni/net.d/87-podman-bridge.conflist", "{}")
	f.put(t, "sys/class/net/flannel.1/mtu", "1450")
	f.put(t, "var/lib/containerd/x", "")
	f.answers["nft list ruleset"] = func(host.Cmd) ([]byte, error) { return []byte("table ip kube-proxy {}"), nil }
	stays, err := Reset(t.Context(), m, Residue{Links: []string{"cni0", "flannel.1"}, Paths: []string{"/etc/cni/net.d/10-flannel.conflist"}})
	if err != nil {
		t.Fatal(err)
	}
	if f.has("etc/cni/net.d/10-flannel.conflist") || !f.has("etc/cni/net.d/87-podman-bridge.conflist") {
		t.Error("the residue is left, or podman's network is gone")
	}
	if f.ran("ip link delete flannel.1") != 1 || f.ran("ip link delete cni0") != 0 || f.has(ConfigFile) || f.has(stateFile) {
		t.Errorf("ran %v", f.calls)
	}
	if told := strings.Join(stays, "\n"); !strings.Contains(told, "kube-proxy") || !strings.Contains(told, "/var/lib/containerd") {
		t.Errorf("told %q", told)
	}
}

func TestResetLeavesAForeignClusterAlone(t *testing.T) {
	f, m := newFake(t)
	f.put(t, AdminConf, "theirs")
	if _, err := Reset(t.Context(), m, Residue{}); err != nil || f.ran("kubeadm") != 0 || f.ran("systemctl") != 0 {
		t.Errorf("got %v, ran %v", err, f.calls)
	}
}
