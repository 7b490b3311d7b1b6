package plan

import (
	"strings"
	"testing"

	"airgap.dev/airgap/bundle/operators"
	"airgap.dev/airgap/bundle/workload"
	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/internal/config/configtest"
	"airgap.dev/airgap/internal/ui"
)

// TestDuplicates: add-ons that install a component of airgap are reported with the add-on
// and the value to set. Others are not reported.
func TestDuplicates(t *testing.T) {
	policy := func(spec string) string {
		return "apiVersion: nvidia.com/v1\nkind: ClusterPolicy\nmetadata: {name: cluster-policy}\nspec: {" + spec + "}\n"
	}
	run := func(kind, name, image, env string) string {
		return "apiVersion: apps/v1\nkind: " + kind + "\nmetadata: {name: " + name + "}\nspec: {template: {spec: {containers: [{name: c, image: '" + image + "', env: [" + env + "]}]}}}\n"
	}
	const all = "toolkit: {enabled: true}, devicePlugin: {enabled: true}"
	for name, tc := range map[string]struct {
		objects string
		gpu     bool // airgap.yaml has a node with the role gpu
		fatal   bool
		want    string // "" if nothing is reported
	}{
		"gpu-operator with defaults": {
			policy("driver: {enabled: true}, " + all),
			true,
			true,
			"add-on a: ClusterPolicy cluster-policy: driver.enabled is true, but airgap installs the driver on nodes with the role gpu, " +
				"and a host can load only one driver; set these values of the chart gpu-operator to false: driver.enabled, toolkit.enabled, devicePlugin.enabled",
		},
		"an empty policy":           {policy(""), true, true, "driver.enabled, toolkit.enabled, devicePlugin.enabled"},
		"without its driver":        {policy("driver: {enabled: false}, " + all), true, false, "set these values of the chart gpu-operator to false: toolkit.enabled, devicePlugin.enabled"},
		"gpu-operator with airgap":  {policy("driver: {enabled: false}, toolkit: {enabled: false}, devicePlugin: {enabled: false}"), true, false, ""},
		"no node with the role gpu": {policy("driver: {enabled: true}, " + all), false, false, "set the value driver.enabled of the chart gpu-operator to false, and give the servers the role gpu"},
		"a driver of the user":      {policy("driver: {enabled: false}, " + all), false, false, ""},
		"an NVIDIADriver":           {"apiVersion: nvidia.com/v1alpha1\nkind: NVIDIADriver\nmetadata: {name: default}\nspec: {driverType: gpu}\n", true, true, "airgap installs the driver"},
		"a policy of another group": {"apiVersion: example.com/v1\nkind: ClusterPolicy\nmetadata: {name: p}\nspec: {}\n", true, false, ""},
		"the device plugin's chart": {run("DaemonSet", "plugin", "nvcr.io/nvidia/k8s-device-plugin:v0.17.0", ""), true, false, "installs NVIDIA's device plugin"},
		"the same DaemonSet": {
			strings.Replace(run("DaemonSet", "nvidia-device-plugin", "nvcr.io/nvidia/k8s-device-plugin:v0.17.0", ""), "metadata: {", "metadata: {namespace: kube-system, ", 1),
			true,
			true,
			"installs NVIDIA's device plugin",
		},
		"the device plugin without GPU nodes": {run("DaemonSet", "plugin", "nvcr.io/nvidia/k8s-device-plugin:v0.17.0", ""), false, false, ""},
		"Calico": {
			run("DaemonSet", "calico-node", "docker.io/calico/node:v3.32.0", ""),
			false,
			true,
			"it installs the pod network Calico (docker.io/calico/node:v3.32.0), but airgap installs flannel",
		},
		"Calico from a mirror":     {run("DaemonSet", "calico-node", "harbor.corp/quay/calico/node:v3.32.0", ""), false, true, "pod network Calico"},
		"Calico for policies only": {run("DaemonSet", "calico-node", "docker.io/calico/node:v3.32.0", "{name: CALICO_NETWORKING_BACKEND, value: none}"), false, false, ""},
		"Calico's operator":        {run("Deployment", "tigera-operator", "quay.io/tigera/operator:v1.42.0", ""), false, true, "pod network Calico"},
		"Cilium":                   {run("DaemonSet", "cilium", "quay.io/cilium/cilium:v1.20.0@sha256:"+strings.Repeat("a", 64), ""), false, true, "pod network Cilium"},
		"chained Cilium": {
			run("DaemonSet", "cilium", "quay.io/cilium/cilium:v1.20.0", "") + "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: cilium-config}\ndata: {cni-chaining-mode: generic-veth}\n",
			false,
			false,
			"",
		},
		"flannel":                       {run("DaemonSet", "kube-flannel-ds", "ghcr.io/flannel-io/flannel:v0.28.0", ""), false, true, "pod network flannel"},
		"a tool of Cilium":              {run("Deployment", "hubble", "quay.io/cilium/hubble-relay:v1.20.0", ""), false, false, ""},
		"Kata":                          {run("DaemonSet", "kata-deploy", "quay.io/kata-containers/kata-deploy:3.20.0", ""), false, false, "changes the configuration of containerd on the hosts"},
		"another program on every node": {run("DaemonSet", "agent", "registry.example/agent:1", ""), true, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			c := configtest.On(t, "el9", k8s)
			if tc.gpu {
				c.Nodes[0].Roles = append(c.Nodes[0].Roles, config.GPU)
			}
			objects, err := workload.Parse("a.yaml", []byte(tc.objects))
			if err != nil {
				t.Fatal(err)
			}
			found := duplicates(c, []operators.Set{{Of: "add-on a", Namespace: "a", Installed: true, Objects: objects}})
			switch {
			case tc.want == "" && len(found) > 0, tc.want != "" && len(found) != 1:
				t.Fatalf("got %v", found)
			case tc.want != "" && (found[0].fatal != tc.fatal || !strings.Contains(found[0].String(), tc.want)):
				t.Errorf("got %v (%v), want %q", found[0], found[0].fatal, tc.want)
			}
			if err := report(found, "hint", ui.Discard()); (err != nil) != tc.fatal {
				t.Errorf("error %v", err)
			}
			if found := duplicates(c, []operators.Set{{Of: "a.yaml", Objects: objects}}); len(found) > 0 {
				t.Errorf("objects that are not installed are reported: %v", found)
			}
		})
	}
}
