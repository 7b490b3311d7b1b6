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

// TestSiteForbidsASetting: there is no step for a setting that airgap must not change. Preflight lists the ports
// that the site must open.
func TestSiteForbidsASetting(t *testing.T) {
	ours, theirs := sitetest.SettingsSite(t, ""), sitetest.SettingsSite(t, "hostSettings: {firewalld: leave, swap: disable}")
	if got := sitetest.StepNames(nodesteps.FirstSteps(ours)); !slices.Equal(got, []string{"record", "trust", "firewalld", "firewall-rules"}) {
		t.Errorf("first steps: %v", got)
	}
	if got := sitetest.StepNames(nodesteps.FirstSteps(theirs)); !slices.Equal(got, []string{"record", "trust"}) {
		t.Errorf("first steps with firewalld: leave: %v", got)
	}
	if slices.Contains(sitetest.StepNames(nodesteps.SettingSteps(ours)), "swap") || !slices.Contains(sitetest.StepNames(nodesteps.SettingSteps(theirs)), "swap") {
		t.Error("the step swap must exist only if hostSettings.swap is disable")
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

// TestModulesOfTheNetwork: the steps load the kernel module of tunnels if and only if preflight requires it.
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
			t.Errorf("%q: preflight requires the modules %v, %v", settings, w.Network.Modules, err)
		}
	}
}

// TestAddressesOfTheCluster: the addresses outside of subnets and proxies include the load balancer, unless it is
// a node.
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

// TestPreflightKnowsTheSysctls: the checks expect the values that the step sets.
func TestPreflightKnowsTheSysctls(t *testing.T) {
	w, err := Want(sitetest.SettingsSite(t, ""), true)
	if err != nil {
		t.Fatal(err)
	}
	if w.SysctlFile != settings.SysctlFile || w.KubeletSysctls["vm.overcommit_memory"] != "1" {
		t.Errorf("want %q %v", w.SysctlFile, w.KubeletSysctls)
	}
}
