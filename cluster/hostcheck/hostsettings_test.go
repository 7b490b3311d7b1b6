package hostcheck

import (
	"slices"
	"testing"

	"airgap.dev/airgap/cluster/nodesteps"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/cluster/sitetest"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/settings"
	"airgap.dev/airgap/kubeadm"
	"airgap.dev/airgap/kubeadm/leave"
)

// TestSiteForbidsASetting: what belongs to others at a site is no step there,
// and preflight says what they have to open.
func TestSiteForbidsASetting(t *testing.T) {
	ours, theirs := sitetest.SettingsSite(t, ""), sitetest.SettingsSite(t, "hostSettings: {firewalld: leave, swap: disable}")
	if got := sitetest.StepNames(nodesteps.FirstSteps(ours)); !slices.Equal(got, []string{"record", "trust", "firewalld"}) {
		t.Errorf("first steps: %v", got)
	}
	if got := sitetest.StepNames(nodesteps.FirstSteps(theirs)); !slices.Equal(got, []string{"record", "trust"}) {
		t.Errorf("first steps where the firewall is left: %v", got)
	}
	if slices.Contains(sitetest.StepNames(nodesteps.SettingSteps(ours)), "swap") || !slices.Contains(sitetest.StepNames(nodesteps.SettingSteps(theirs)), "swap") {
		t.Error("swap is turned off where, and only where, the site says so")
	}
	for s, want := range map[*site.Site]bool{ours: false, theirs: true} {
		w, err := Want(s, true)
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
		s := sitetest.SettingsSite(t, settings)
		dir := t.TempDir()
		s.Machine = kubeadm.Machine{Member: leave.Member{Machine: host.Machine{Host: sitetest.RootHost{Dir: dir}, Root: dir}}}
		steps := nodesteps.SettingSteps(s)
		plan, err := steps[slices.Index(sitetest.StepNames(steps), "modules")].Plan(t.Context())
		if err != nil || slices.Contains(plan, "load kernel module vxlan") != tunnels {
			t.Errorf("%q: %q, %v", settings, plan, err)
		}
		w, err := Want(s, true)
		if err != nil || (w.Network.Modules["vxlan"] != "") != tunnels {
			t.Errorf("%q: preflight wants the modules %v, %v", settings, w.Network.Modules, err)
		}
	}
}

// TestAddressesOfTheCluster: what subnets and proxies must leave alone has the balancer, unless
// it is a node.
func TestAddressesOfTheCluster(t *testing.T) {
	nodes := []string{"192.0.2.11", "192.0.2.12"}
	for endpoint, want := range map[string][]string{"192.0.2.11:6443": nodes, "k8s.bank.example:6443": append(slices.Clone(nodes), "k8s.bank.example")} {
		s := sitetest.SettingsSite(t, "")
		s.Config.Kubernetes.ControlPlaneEndpoint = endpoint
		if w, err := Want(s, true); err != nil || !slices.Equal(w.OtherAddresses, want) {
			t.Errorf("%s: %v, %v", endpoint, w.OtherAddresses, err)
		}
	}
}

// TestPreflightKnowsTheSysctls: what the checks guard is what the step sets.
func TestPreflightKnowsTheSysctls(t *testing.T) {
	w, err := Want(sitetest.SettingsSite(t, ""), true)
	if err != nil {
		t.Fatal(err)
	}
	if w.SysctlFile != settings.SysctlFile || w.KubeletSysctls["vm.overcommit_memory"] != "1" {
		t.Errorf("want %q %v", w.SysctlFile, w.KubeletSysctls)
	}
}
