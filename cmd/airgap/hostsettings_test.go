package main

import (
	"slices"
	"strings"
	"testing"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/internal/step"
	"airgap.dev/airgap/kubeadm"
	"airgap.dev/airgap/preflight"
)

func settingsSite(t *testing.T, settings string) *site {
	t.Helper()
	c, err := config.Parse("airgap.yaml", []byte(`apiVersion: airgap.dev/v1alpha1
kind: Cluster
name: bank
kubernetes: {version: 1.36.3}
nodes:
  - {name: cp1, address: 192.0.2.11, roles: [control-plane]}
  - {name: w1, address: 192.0.2.12, roles: [worker]}
`+settings+`
packages: {os: el9, repositories: [{name: baseos, baseURL: "https://dl.example.com/", gpgKeys: ["https://dl.example.com/key"]}]}
`))
	if err != nil {
		t.Fatal(err)
	}
	return &site{index: &bundle.Index{}, config: c, node: c.Nodes[1], machine: thisMachine()}
}

func names(steps []step.Step) (all []string) {
	for _, s := range steps {
		all = append(all, s.Name)
	}
	return all
}

// TestSiteForbidsASetting: what belongs to others at a site is no step there,
// and preflight says what they have to open.
func TestSiteForbidsASetting(t *testing.T) {
	ours, theirs := settingsSite(t, ""), settingsSite(t, "hostSettings: {firewalld: leave, swap: disable}")
	if got := names(ours.firstSteps()); !slices.Equal(got, []string{"record", "trust", "firewalld"}) {
		t.Errorf("first steps: %v", got)
	}
	if got := names(theirs.firstSteps()); !slices.Equal(got, []string{"record", "trust"}) {
		t.Errorf("first steps where the firewall is left: %v", got)
	}
	if slices.Contains(names(ours.settingSteps()), "swap") || !slices.Contains(names(theirs.settingSteps()), "swap") {
		t.Error("swap is turned off where, and only where, the site says so")
	}
	for s, want := range map[*site]bool{ours: false, theirs: true} {
		w, err := s.want(true)
		if err != nil {
			t.Fatal(err)
		}
		if w.SwapOff != want || slices.Contains(w.FirewallLeft, "8472/udp from nodes") != want {
			t.Errorf("want %+v", w)
		}
	}
}

// TestModulesOfTheNetwork: the module of tunnels is loaded where preflight asked for it.
func TestModulesOfTheNetwork(t *testing.T) {
	for settings, tunnels := range map[string]bool{"": true, "network: {encapsulation: native}": false} {
		s := settingsSite(t, settings)
		dir := t.TempDir()
		s.machine = kubeadm.Machine{Host: rootHost{dir: dir}, Root: dir}
		steps := s.settingSteps()
		plan, err := steps[slices.Index(names(steps), "modules")].Plan(t.Context())
		if err != nil || slices.Contains(plan, "load kernel module vxlan") != tunnels {
			t.Errorf("%q: %q, %v", settings, plan, err)
		}
		w, err := s.want(true)
		if err != nil || (w.VXLANPort > 0) != tunnels {
			t.Errorf("%q: preflight wants VXLAN on %d, %v", settings, w.VXLANPort, err)
		}
	}
}

// TestAddressesOfTheCluster: what subnets and proxies must leave alone has the balancer, unless
// it is a node.
func TestAddressesOfTheCluster(t *testing.T) {
	nodes := []string{"192.0.2.11", "192.0.2.12"}
	for endpoint, want := range map[string][]string{"192.0.2.11:6443": nodes, "k8s.bank.example:6443": append(slices.Clone(nodes), "k8s.bank.example")} {
		s := settingsSite(t, "")
		s.config.Kubernetes.ControlPlaneEndpoint = endpoint
		if w, err := s.want(true); err != nil || !slices.Equal(w.OtherAddresses, want) {
			t.Errorf("%s: %v, %v", endpoint, w.OtherAddresses, err)
		}
	}
}

// TestPortsToHold leaves out the NodePorts, where nothing listens.
func TestPortsToHold(t *testing.T) {
	ports := settingsSite(t, "").portsToHold()
	if !slices.Contains(ports, preflight.Port{Number: 10250, Protocol: "tcp", For: "kubelet"}) ||
		slices.ContainsFunc(ports, func(p preflight.Port) bool { return p.Number >= 30000 || strings.Contains(p.For, "etcd") }) {
		t.Errorf("a worker holds %v", ports)
	}
}

// TestPreflightKnowsTheSysctls: what the checks guard is what the step sets.
func TestPreflightKnowsTheSysctls(t *testing.T) {
	w, err := settingsSite(t, "").want(true)
	if err != nil {
		t.Fatal(err)
	}
	if w.SysctlFile != kubeadm.SysctlFile || w.KubeletSysctls["vm.overcommit_memory"] != "1" {
		t.Errorf("want %q %v", w.SysctlFile, w.KubeletSysctls)
	}
}
