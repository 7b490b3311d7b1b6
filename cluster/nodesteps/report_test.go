package nodesteps

import (
	"slices"
	"testing"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/cluster/sitetest"
	"airgap.dev/airgap/internal/nevra"
	"airgap.dev/airgap/kubeadm"
	"airgap.dev/airgap/kubeadm/backup"
	"airgap.dev/airgap/kubeadm/jointoken"
	"airgap.dev/airgap/registry"
	"airgap.dev/airgap/registry/existing"
	"airgap.dev/airgap/upkeep"
	"airgap.dev/airgap/verify/nodereport"
)

// TestReportSettings: a host reports only its own components.
func TestReportSettings(t *testing.T) {
	worker := sitetest.SettingsSite(t, "")
	worker.Index.Lock.Packages = []bundle.Package{{NEVRA: nevra.MustParse("kubelet-0:1.36.3-1.x86_64")}, {NEVRA: nevra.MustParse("socat-0:1.7-1.x86_64")}}
	master := *worker
	master.Node = worker.Config.Nodes[0]
	worker.Config.Kubernetes.Etcd = kubeadm.EtcdTimes{HeartbeatInterval: "150ms", ElectionTimeout: "1.5s"}
	crio := sitetest.SettingsSite(t, "runtime: {name: crio}\n")
	theirs := *worker
	own := *worker.Config
	own.Registry.Existing = &existing.Registry{Address: "harbor.bank.example/airgap", CA: "PEM"}
	theirs.Config = &own
	tests := map[string]struct {
		site       *site.Site
		etcd       bool
		units      []string
		registries []nodereport.Upstream
	}{
		"worker": {
			worker,
			false,
			[]string{"kubelet.service", "containerd.service", upkeep.RenewTimer},
			[]nodereport.Upstream{{Address: "192.0.2.11:5000", Node: "cp1", CAFile: site.PKIDir + "/ca.crt"}},
		},
		"control plane": {
			&master,
			true,
			[]string{"kubelet.service", "containerd.service", "airgap-registry.service", registry.RenewTimer, jointoken.ApproverUnit, backup.Timer, upkeep.VerifyTimer, upkeep.RenewTimer},
			[]nodereport.Upstream{{Address: "192.0.2.11:5000", Node: "cp1", CAFile: site.PKIDir + "/ca.crt"}},
		},
		"CRI-O":      {crio, false, []string{"kubelet.service", "crio.service", upkeep.RenewTimer}, []nodereport.Upstream{{Address: "192.0.2.11:5000", Node: "cp1", CAFile: site.PKIDir + "/ca.crt"}}},
		"the site's": {&theirs, false, []string{"kubelet.service", "containerd.service", upkeep.RenewTimer}, []nodereport.Upstream{{Address: "harbor.bank.example/airgap", CAFile: site.ExistingCAFile}}},
	}
	for name, test := range tests {
		got, err := Settings(test.site)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got.Node != test.site.Node.Name || got.Etcd != test.etcd || got.APIServer != "192.0.2.11:6443" || !slices.Equal(got.Units, test.units) ||
			!slices.Equal(got.Registries, test.registries) || len(got.Pinned) == 0 {
			t.Errorf("%s: got %+v", name, got)
		}
		if got.Etcd != (got.EtcdTimes != nil) || got.Etcd && *got.EtcdTimes != (nodereport.EtcdTimes{Heartbeat: 150, Election: 1500}) {
			t.Errorf("%s: etcd's times %+v", name, got.EtcdTimes)
		}
		if b := got.NextBoot; b == nil || b.Kubernetes != test.site.Config.Kubernetes.Version || b.PodSubnet == "" || b.Network.Plugin == "" {
			t.Errorf("%s: for the next boot %+v", name, b)
		}
		if name == "worker" && (len(got.Locked) != 1 || got.Locked[0].Name != "kubelet") {
			t.Errorf("locked %v", got.Locked)
		}
	}
}
