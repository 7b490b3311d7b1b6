package cni

import (
	"reflect"
	"slices"
	"testing"
)

// TestNeeds checks that each plugin has needs, and that a tunnel needs its module.
func TestNeeds(t *testing.T) {
	all := AllNeeds()
	for _, name := range pluginNames() {
		if !slices.ContainsFunc(all, func(n Needs) bool { return n.Plugin == name && n.Modules["vxlan"] == "VXLAN" }) {
			t.Errorf("%s has no needs: %+v", name, all)
		}
	}
	for _, n := range all {
		if n.Kernel != "" && (n.KernelSource == "" || n.KernelFix == "") {
			t.Errorf("%s requires a kernel without a source or a fix: %+v", n.Plugin, n)
		}
	}
	if n := NeedsOf(Config{Plugin: Cilium, Encapsulation: Native}); n.Modules != nil || n.Kernel != "5.10" || !n.StrictFails || !n.Iptables {
		t.Errorf("cilium without tunnels: %+v", n)
	}
	if n := NeedsOf(Config{Plugin: Calico, Encapsulation: CrossSubnet, Port: 4789}); n.Modules == nil || !n.LooseForAllFails || !n.FilterAlone || n.Kernel != "" {
		t.Errorf("calico: %+v", n)
	}
	if n := NeedsOf(Config{Plugin: Flannel, Encapsulation: Native}); !reflect.DeepEqual(n, Needs{Plugin: Flannel}) {
		t.Errorf("flannel without tunnels: %+v", n)
	}
}
