package cni_test

import (
	"cmp"
	"errors"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"airgap.dev/airgap/cni"
	"airgap.dev/airgap/cni/cnitest"
	"airgap.dev/airgap/manifests"
)

// TestChangedUpstream checks that the error of a patch without a target names the object and the field.
func TestChangedUpstream(t *testing.T) {
	upstream := cnitest.Serve(t)
	for _, tc := range []struct {
		name, old, new string // replacement in the project's file
		object, field  string
		file           string // "" is the plain manifest
	}{
		{"another name", "name: calico-config\n", "name: calico-settings\n", "ConfigMap kube-system/calico-config", "", ""},
		{"no back end", "  calico_backend: bird\n", "", "ConfigMap kube-system/calico-config", "data.calico_backend", ""},
		{"no MTU", "  veth_mtu: \"0\"\n", "", "ConfigMap kube-system/calico-config", "data.veth_mtu", ""},
		{"no DaemonSet", "kind: DaemonSet\n", "kind: Deployment\n", "DaemonSet kube-system/calico-node", "", ""},
		{"another container", "        - name: calico-node\n", "        - name: node\n", "DaemonSet kube-system/calico-node", "container calico-node", ""},
		{"no mode of IP-in-IP", "CALICO_IPV4POOL_IPIP", "CALICO_IPV4_TUNNEL", "DaemonSet kube-system/calico-node", "variable CALICO_IPV4POOL_IPIP in container calico-node", ""},
		{"no mode of VXLAN", "CALICO_IPV4POOL_VXLAN", "CALICO_VXLAN", "DaemonSet kube-system/calico-node", "variable CALICO_IPV4POOL_VXLAN in container calico-node", ""},
		{"other probes", "-bird-ready", "-bgp-ready", "DaemonSet kube-system/calico-node", "-bird-ready in the readinessProbe of container calico-node", ""},
		{"no directory", "path: /etc/cni/net.d}", "path: /etc/cni}", "DaemonSet kube-system/calico-node", "volume with the host's /etc/cni/net.d", ""},
		{"no installer", "- name: install-cni\n", "- name: installer\n", "DaemonSet kube-system/calico-node", "container install-cni", ""},
		{"no directory of the operator", "confDir:", "configDir:", "CustomResourceDefinition of Installation", "spec.cni.confDir", "v1_crd_projectcalico_org.yaml"},
		{"no settings", "kind: FelixConfiguration,", "kind: NodeConfiguration,", "CustomResourceDefinition of FelixConfiguration", "", ""},
		{"no port", "vxlanPort:", "overlayPort:", "CustomResourceDefinition of FelixConfiguration", "spec.vxlanPort", ""},
		{
			"no operator", "name: tigera-operator\n  namespace: tigera-operator\nspec:", "name: operator\n  namespace: tigera-operator\nspec:",
			"Deployment tigera-operator/tigera-operator", "", "tigera-operator.yaml",
		},
		{"no installation", "kind: Installation,", "kind: Calico,", "CustomResourceDefinition of Installation", "", "v1_crd_projectcalico_org.yaml"},
		{"no data plane", "linuxDataplane:", "dataplane:", "CustomResourceDefinition of Installation", "spec.calicoNetwork.linuxDataplane", "v1_crd_projectcalico_org.yaml"},
		{"no encapsulation", "encapsulation:", "overlay:", "CustomResourceDefinition of Installation", "spec.calicoNetwork.ipPools[].encapsulation", "v1_crd_projectcalico_org.yaml"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			at := "raw.githubusercontent.com/projectcalico/calico/v3.32.4/manifests/" + cmp.Or(tc.file, "calico.yaml")
			whole := upstream.Files[at]
			defer func() { upstream.Files[at] = whole }()
			upstream.Files[at] = []byte(strings.ReplaceAll(string(whole), tc.old, tc.new))
			if string(upstream.Files[at]) == string(whole) {
				t.Fatalf("the manifest has no %q", tc.old)
			}
			n := network{config: cni.Config{Plugin: cni.Calico}}
			if tc.file != "" {
				n.config.Calico.Form = cni.OperatorForm
			}
			n.config.Default()
			fetched, _ := upstream.Fetch(t, n.config, n.cluster())
			_, err := cni.Objects(n.config, n.cluster(), fetched)
			shape, is := errors.AsType[*cni.StructureError](err)
			if !is || shape.Object != tc.object || shape.Field != tc.field || !strings.Contains(err.Error(), "choose a version") {
				t.Errorf("got %v, want %q of %q", err, tc.field, tc.object)
			}
		})
	}
}

// TestIPIPElsewhere checks that IP-in-IP is also rejected in objects that airgap does not patch.
func TestIPIPElsewhere(t *testing.T) {
	upstream := cnitest.Serve(t)
	n := network{config: cni.Config{Plugin: cni.Calico}}
	n.config.Default()
	fetched, _ := upstream.Fetch(t, n.config, n.cluster())
	pool, err := manifests.Parse([]byte("apiVersion: crd.projectcalico.org/v1\nkind: IPPool\nmetadata: {name: second}\nspec: {cidr: 10.245.0.0/16, ipipMode: Always}\n"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := cni.Objects(n.config, n.cluster(), append(fetched, pool...)); err == nil || !strings.Contains(err.Error(), "IPPool second: spec.ipipMode: Always") {
		t.Errorf("got %v", err)
	}
}

// TestChangedChart checks that a value that the chart no longer uses and a missing object are errors.
func TestChangedChart(t *testing.T) {
	upstream := cnitest.Serve(t)
	n := network{config: cni.Config{Plugin: cni.Cilium, MTU: 1450}}
	n.config.Default()
	fetched, _ := upstream.Fetch(t, n.config, n.cluster())
	without := func(kind, name string, field ...string) []*unstructured.Unstructured {
		var left []*unstructured.Unstructured
		for _, o := range fetched {
			o = o.DeepCopy()
			if o.GetKind() == kind && o.GetName() == name {
				if len(field) == 0 {
					continue
				}
				unstructured.RemoveNestedField(o.Object, field...)
			}
			left = append(left, o)
		}
		return left
	}
	for name, tc := range map[string]struct {
		fetched       []*unstructured.Unstructured
		object, field string
	}{
		"no settings":     {without("ConfigMap", "cilium-config"), "ConfigMap kube-system/cilium-config", ""},
		"no port":         {without("ConfigMap", "cilium-config", "data", "tunnel-port"), "ConfigMap kube-system/cilium-config", "data.tunnel-port"},
		"no MTU":          {without("ConfigMap", "cilium-config", "data", "mtu"), "ConfigMap kube-system/cilium-config", "data.mtu"},
		"no routing mode": {without("ConfigMap", "cilium-config", "data", "routing-mode"), "ConfigMap kube-system/cilium-config", "data.routing-mode"},
		"no agent":        {without("DaemonSet", "cilium"), "DaemonSet kube-system/cilium", ""},
		"no directory":    {without("DaemonSet", "cilium", "spec", "template", "spec", "volumes"), "DaemonSet kube-system/cilium", "volume with the host's /etc/cni/net.d"},
	} {
		_, err := cni.Objects(n.config, n.cluster(), tc.fetched)
		if shape, is := errors.AsType[*cni.StructureError](err); !is || shape.Object != tc.object || shape.Field != tc.field {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
