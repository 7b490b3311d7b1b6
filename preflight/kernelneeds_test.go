package preflight

import (
	"testing"

	"airgap.dev/airgap/internal/enterprise"
	"airgap.dev/airgap/preflight/facts"
)

// TestKernelNeeds has for each need a kernel that is too old, a kernel that is new enough, and a
// host to which the need does not apply.
func TestKernelNeeds(t *testing.T) {
	nftables, v2 := Want{ProxyMode: "nftables"}, facts.Cgroup{Mode: "v2"}
	cilium := Want{Network: network("cilium")}
	el8 := func(version string) facts.Facts {
		return facts.Facts{OS: facts.OS{ID: "rhel", Version: version}, Kernel: facts.Kernel{Release: "4.18.0-1.el8.x86_64"}}
	}
	for name, tc := range map[string]struct {
		facts  facts.Facts
		want   Want
		status Status
		needs  string
	}{
		"EL 7":                      {facts.Facts{Kernel: facts.Kernel{Release: "3.10.0-1160.el7.x86_64"}}, nftables, Fail, "4.18 or newer for Kubernetes"},
		"EL 8":                      {facts.Facts{Kernel: facts.Kernel{Release: "4.18.0-553.el8_10.x86_64"}}, Want{}, Warn, "4.19 or newer for Kubernetes without a warning"},
		"EL 8 on cgroup v2":         {facts.Facts{Kernel: facts.Kernel{Release: "4.19.0"}, Cgroup: v2}, Want{}, Warn, "5.2 or newer for cgroup v2 under runc"},
		"5.2 on cgroup v2":          {facts.Facts{Kernel: facts.Kernel{Release: "5.2.0"}, Cgroup: v2}, Want{}, Pass, ""},
		"4.19 on cgroup v1":         {facts.Facts{Kernel: facts.Kernel{Release: "4.19.0"}, Cgroup: facts.Cgroup{Mode: "v1"}}, Want{}, Pass, ""},
		"nftables on EL 8":          {facts.Facts{Kernel: facts.Kernel{Release: "4.18.0-553.el8_10.x86_64"}}, nftables, Fail, "5.13 or newer for kube-proxy's nftables mode"},
		"nftables on EL 9":          {facts.Facts{Kernel: facts.Kernel{Release: "5.14.0-570.el9.x86_64"}, Cgroup: v2}, nftables, Pass, ""},
		"Cilium on EL 8.8":          {el8("8.8"), cilium, Fail, "5.10 or newer for Cilium"},
		"Cilium on EL 8.10":         {el8("8.10"), cilium, Warn, "4.19 or newer for Kubernetes without a warning"},
		"Cilium on some EL 8":       {el8("8"), cilium, Warn, "4.19 or newer for Kubernetes without a warning"},
		"Calico on EL 8.8":          {el8("8.8"), Want{Network: network("calico")}, Warn, "4.19 or newer for Kubernetes without a warning"},
		"Cilium on Debian 10":       {facts.Facts{OS: facts.OS{ID: "debian", Version: "10"}, Kernel: facts.Kernel{Release: "4.19.0-6"}}, cilium, Fail, "5.10 or newer for Cilium"},
		"Cilium on EL 9":            {facts.Facts{Kernel: facts.Kernel{Release: "5.14.0-570.el9.x86_64"}, Cgroup: v2}, cilium, Pass, ""},
		"nftables on Oracle's UEK7": {facts.Facts{Kernel: facts.Kernel{Release: "5.15.0-300.el8uek.x86_64"}}, nftables, Pass, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := judgeKernelVersion(&tc.facts, &tc.want); got.Status != tc.status || got.Want != tc.needs || (got.Fix == "") != (got.Status == Pass) {
				t.Errorf("got %+v", got)
			}
		})
	}
	for _, need := range KernelNeeds() {
		if need.Source == "" || need.fix == "" {
			t.Errorf("need without a source or a fix: %+v", need)
		}
	}
}

// TestSystems: every Enterprise Linux release has its own default facts.
func TestSystems(t *testing.T) {
	for _, s := range enterprise.Releases() {
		f, ok := Assumed(s.OS)
		if !ok || f.OS.Enterprise() != s.OS || f.Kernel.Release != s.Kernel || f.Cgroup.Mode != s.Cgroup {
			t.Errorf("%s: assumed %+v", s.OS, f)
		}
		if got := judgeOS(f, &Want{OS: s.OS}); got.Status != Pass {
			t.Errorf("%s: %+v", s.OS, got)
		}
	}
	if f, ok := Assumed("el7"); ok {
		t.Errorf("el7: %+v", f)
	}
}
