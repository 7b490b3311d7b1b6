package kubeadm

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"gopkg.in/yaml.v3"

	"airgap.dev/airgap/internal/host/hosttest"
	"airgap.dev/airgap/internal/overlay"
	"airgap.dev/airgap/kubeadm/jointoken"
	"airgap.dev/airgap/kubeadm/runtime"
)

// labSection is the section of the lab, with each kind of override.
const labSection = `
version: 1.36.3
ignorePreflightErrors: [SystemVerification]
overrides:
  kubelet: {failCgroupV1: false, featureGates: {KubeletInUserNamespace: true}}
  kubeProxy: {mode: nftables, conntrack: {maxPerCore: 0}}
  clusterConfiguration: {networking: {dnsDomain: bank.local}, etcd: {local: {extraArgs: [{name: quota-backend-bytes, value: "8589934592"}]}}}
  timeouts: {kubeletHealthCheck: 10m}
`

func section(t *testing.T, text string) Config {
	t.Helper()
	var c Config
	if err := yaml.Unmarshal([]byte(text), &c); err != nil {
		t.Fatal(err)
	}
	c.Default("192.0.2.11")
	return c
}

func TestInitDocuments(t *testing.T) {
	for name, tc := range map[string]struct {
		section string
		node    Node
		facts   runtime.Facts
	}{
		"init-el9.yaml": {
			`version: 1.36.3`,
			Node{Name: "cp1", Address: "192.0.2.11", ControlPlane: true},
			runtime.Facts{OS: "el9", Kernel: "5.14.0-570.el9.x86_64", Driver: runtime.Systemd},
		},
		"init-el10.yaml": {
			`{version: 1.36.3, controlPlaneEndpoint: "k8s.bank.example:6443"}`,
			Node{Name: "cp1", Address: "192.0.2.11", Workloads: true, ControlPlane: true},
			runtime.Facts{OS: "el10", Kernel: "6.12.0-55.el10.x86_64", Driver: runtime.Systemd},
		},
		"init-lab.yaml": {
			labSection,
			Node{Name: "cp1", Address: "192.0.2.11", ControlPlane: true},
			runtime.Facts{OS: "el9", Kernel: "6.18.5", Driver: runtime.Cgroupfs, CgroupVersion: 1},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := InitDocuments(section(t, tc.section), tc.node, tc.facts)
			if err != nil {
				t.Fatal(err)
			}
			hosttest.Golden(t, name, got)
			acceptedByKubeadm(t, got)
		})
	}
}

func TestJoinDocuments(t *testing.T) {
	for name, node := range map[string]Node{
		"join.yaml":               {Name: "w1", Address: "192.0.2.21"},
		"join-control-plane.yaml": {Name: "cp2", Address: "192.0.2.12", ControlPlane: true, Workloads: true},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := documents(joinConfiguration(section(t, labSection), node, jointoken.JoinConf))
			if err != nil {
				t.Fatal(err)
			}
			hosttest.Golden(t, name, got)
			existing := filepath.Join(t.TempDir(), "join.conf") // kubeadm requires the file
			if err := os.WriteFile(existing, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			acceptedByKubeadm(t, bytes.ReplaceAll(got, []byte(jointoken.JoinConf), []byte(existing)))
		})
	}
}

func acceptedByKubeadm(t *testing.T, text []byte) {
	program := hosttest.LabProgram(t, "kubernetes/kubeadm")
	file := filepath.Join(t.TempDir(), "kubeadm.yaml")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	hosttest.Output(t, program, "config", "validate", "--config", file)
}

func TestMergeKeepsItsInputs(t *testing.T) {
	base := map[string]any{"a": map[string]any{"x": 1, "y": 2}, "b": 1}
	over := map[string]any{"a": map[string]any{"y": 3}, "b": []any{2}}
	got := overlay.Merge(base, over)
	if a := got["a"].(map[string]any); a["x"] != 1 || a["y"] != 3 {
		t.Errorf("got %v", got)
	}
	if _, ok := got["b"].([]any); !ok || base["b"] != 1 || base["a"].(map[string]any)["y"] != 2 {
		t.Errorf("got %v from %v", got, base)
	}
}
