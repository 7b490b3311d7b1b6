package cni_test

import (
	"strings"
	"testing"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/cni"
	"airgap.dev/airgap/cni/cnitest"
)

// TestUpstreamIsLocked checks that changed content at a URL is an error.
func TestUpstreamIsLocked(t *testing.T) {
	upstream := cnitest.Serve(t)
	n := network{config: cni.Config{Plugin: cni.Calico}}
	n.config.Default()
	first, err := upstream.Plan(t, n.config, n.cluster(), nil)
	if err != nil {
		t.Fatal(err)
	}
	url := cni.From(n.config, n.cluster()).Manifests[0]
	at := strings.TrimPrefix(url, "https://")
	if got := first.Lock.Network; got.Name != "calico" || len(got.Sources) != 1 || got.Sources[0].URL != url || len(got.Images) != 2 {
		t.Fatalf("locked is %+v", got)
	}
	upstream.Files[at] = append(upstream.Files[at], "\n# changed\n"...)
	if _, err = upstream.Plan(t, n.config, n.cluster(), &bundle.Locked{Lock: first.Lock}); err == nil ||
		!strings.Contains(err.Error(), "network calico: ") || !strings.Contains(err.Error(), "has changed since it was locked") {
		t.Errorf("got %v", err)
	}
	if _, err := upstream.Plan(t, n.config, n.cluster(), &bundle.Locked{Lock: first.Lock, Update: []string{"calico"}}); err != nil {
		t.Errorf("with --update: %v", err)
	}
}

// TestWhereFrom covers a mirror, a directory next to airgap.yaml, and another version.
func TestWhereFrom(t *testing.T) {
	from := func(c cni.Config) cni.Upstream {
		c.Default()
		return cni.From(c, cni.Cluster{PodSubnet: pods, Nodes: 1})
	}
	for want, c := range map[string]cni.CalicoConfig{
		"https://raw.githubusercontent.com/projectcalico/calico/v3.31.7/manifests/calico.yaml": {Version: "3.31.7"},
		"https://mirror.corp/calico/calico.yaml":                                               {Source: "https://mirror.corp/calico/"},
		"vendor/calico/calico.yaml":                                                            {Source: "vendor/calico"},
		"vendor/operator-crds.yaml, vendor/tigera-operator.yaml":                               {Source: "vendor", Form: cni.OperatorForm, Version: "3.31.7"},
		"vendor/v1_crd_projectcalico_org.yaml, vendor/tigera-operator.yaml":                    {Source: "vendor", Form: cni.OperatorForm},
	} {
		if got := strings.Join(from(cni.Config{Plugin: cni.Calico, Calico: c}).Manifests, ", "); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	chart := from(cni.Config{Plugin: cni.Cilium, Cilium: cni.CiliumConfig{Version: "v1.19.5"}}).Chart
	if chart.Repository != "https://helm.cilium.io" || chart.Name != "cilium" || chart.Version != "1.19.5" || chart.Path != "" {
		t.Errorf("chart %+v", chart)
	}
	if replicas := chart.Values["operator"].(map[string]any)["replicas"]; replicas != 1 {
		t.Errorf("%v operators on one node", replicas)
	}
	if chart := from(cni.Config{Plugin: cni.Cilium, Cilium: cni.CiliumConfig{Source: "charts/cilium"}}).Chart; chart.Path != "charts/cilium" || chart.Repository != "" || chart.Name != "" {
		t.Errorf("chart %+v", chart)
	}
}
