package plan

import (
	"fmt"
	"slices"
	"strings"

	"airgap.dev/airgap/bundle/operators"
	"airgap.dev/airgap/bundle/workload"
	"airgap.dev/airgap/gpu"
	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/internal/reference"
)

// duplicates finds add-ons that install components which airgap installs on these hosts
// too: the GPU driver, the pod network, the device plugin, the configuration of the
// runtime. It reports only known components.
func duplicates(c *config.Cluster, sets []operators.Set) []incompatibility {
	var all []incompatibility
	for _, s := range sets {
		if !s.Installed {
			continue
		}
		for _, o := range s.Objects {
			of := s.Of + ": " + o.Title(s.Namespace)
			all = append(all, drivers(c, of, o)...)
			for _, image := range operators.PodImages(o) {
				all = append(all, secondProgram(c, of, s, o, image)...)
			}
		}
	}
	return all
}

// drivers checks the parts that NVIDIA's operator installs on the hosts. Parts that are
// not in its policy are enabled.
func drivers(c *config.Cluster, of string, o workload.Object) []incompatibility {
	if o.GroupVersionKind().Group != "nvidia.com" {
		return nil
	}
	ours := len(c.GPUNodes()) > 0
	driver := o.GetKind() == "NVIDIADriver" || o.GetKind() == "ClusterPolicy" && operand(o, "driver")
	var others []string // parts that airgap installs too
	if o.GetKind() == "ClusterPolicy" {
		for _, name := range []string{"toolkit", "devicePlugin"} {
			if operand(o, name) {
				others = append(others, name+".enabled")
			}
		}
	}
	switch {
	case driver && ours:
		values := strings.Join(append([]string{"driver.enabled"}, others...), ", ")
		return []incompatibility{{of: of, fatal: true,
			found: "driver.enabled is true, but airgap installs the driver on nodes with the role gpu, and a host can load only one driver",
			fix:   "set these values of the chart gpu-operator to false: " + values}}
	case driver:
		return []incompatibility{{of: of,
			found: "driver.enabled is true, but the bundle cannot contain the driver's image, because its tag depends on the servers' operating system, " +
				"and its pods install packages from a repository at each start",
			fix: "set the value driver.enabled of the chart gpu-operator to false, and give the servers the role gpu"}}
	case ours && len(others) > 0:
		return []incompatibility{{of: of,
			found: "it has " + strings.Join(others, " and ") + " set to true, but airgap installs the toolkit and the device plugin on nodes with the role gpu",
			fix:   "set these values of the chart gpu-operator to false: " + strings.Join(others, ", ")}}
	}
	return nil
}

// operand reports whether a part of a ClusterPolicy is enabled.
func operand(o workload.Object, name string) bool {
	spec, _ := o.Object["spec"].(map[string]any)
	part, _ := spec[name].(map[string]any)
	enabled, is := part["enabled"].(bool)
	return enabled || !is
}

// networks returns the images of pod networks on every node, and of Calico's
// operator, by the end of their repositories.
func networks() map[string]string {
	return map[string]string{
		"calico/node": "Calico", "tigera/operator": "Calico", "cilium/cilium": "Cilium",
		"flannel-io/flannel": "flannel", "flannel/flannel": "flannel", "coreos/flannel": "flannel",
		"rancher/mirrored-flannelcni-flannel": "flannel", "rancher/mirrored-flannel-io-flannel": "flannel",
		"weaveworks/weave-kube": "Weave Net", "kubeovn/kube-ovn": "Kube-OVN",
		"antrea/antrea-ubuntu": "Antrea", "antrea/antrea-agent-ubuntu": "Antrea",
	}
}

// runtimeWriters returns images of programs that change the configuration of the
// runtime on the hosts.
func runtimeWriters() []string {
	return []string{"kata-containers/kata-deploy", "k8s/container-toolkit", "containerd-shim-spin/node-installer", "kwasm/kwasm-node-installer"}
}

func secondProgram(c *config.Cluster, of string, s operators.Set, o workload.Object, image string) []incompatibility {
	named, err := reference.Parse(image)
	if err != nil {
		return nil // planning reports it
	}
	path := "/" + named.Path
	is := func(end string) bool { return strings.HasSuffix(path, "/"+end) }
	for end, name := range networks() {
		if is(end) && makesNetwork(end, s, o) {
			return []incompatibility{{of: of, fatal: true,
				found: fmt.Sprintf("it installs the pod network %s (%s), but airgap installs %s, and both write the CNI configuration of the runtime", name, image, c.Network.Plugin),
				fix:   "remove it, and set network.plugin instead"}}
		}
	}
	switch {
	case is("k8s-device-plugin") && len(c.GPUNodes()) > 0:
		same := o.Title(s.Namespace) == "DaemonSet "+gpu.PluginNamespace+"/"+gpu.PluginName
		return []incompatibility{{of: of, fatal: same, // two versions of one object
			found: fmt.Sprintf("it installs NVIDIA's device plugin (%s), but airgap installs it on nodes with the role gpu, and the kubelet uses the plugin that registers last", image),
			fix:   "remove it, and set version, MIG strategy and time slices in the section gpu"}}
	case slices.ContainsFunc(runtimeWriters(), is):
		return []incompatibility{{of: of,
			found: fmt.Sprintf("its program (%s) changes the configuration of %s on the hosts, which airgap manages", image, c.Runtime.Name),
			fix:   "airgap status reports the difference, and airgap install restores airgap's configuration"}}
	}
	return nil
}

// makesNetwork returns false for programs that only add network policies to another network.
func makesNetwork(end string, s operators.Set, o workload.Object) bool {
	switch end {
	case "tigera/operator":
		return o.GetKind() == "Deployment"
	case "calico/node":
		return o.GetKind() == "DaemonSet" && !operators.HasVariable(o, "CALICO_NETWORKING_BACKEND", "none")
	case "cilium/cilium":
		return o.GetKind() == "DaemonSet" && !chained(s)
	}
	return o.GetKind() == "DaemonSet"
}

// chained reports whether Cilium is chained to another pod network.
func chained(s operators.Set) bool {
	return slices.ContainsFunc(s.Objects, func(o workload.Object) bool {
		data, _ := o.Object["data"].(map[string]any)
		mode, _ := data["cni-chaining-mode"].(string)
		return o.GetKind() == "ConfigMap" && o.GetName() == "cilium-config" && mode != "" && mode != "none"
	})
}
