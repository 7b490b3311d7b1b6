package cni

import "slices"

// Needs are the requirements of a pod network for a node's kernel and settings: data for preflight and
// for the steps that set up a host. For its ports see Ports.
type Needs struct {
	Plugin string

	// Kernel is the oldest supported version, "5.10"; "" if the requirement of Kubernetes is enough.
	// KernelFrom has Enterprise Linux versions with older kernels that have the required backports:
	// the first minor version by major version.
	Kernel                  string
	KernelFrom              map[string]int
	KernelSource, KernelFix string

	// Modules are the kernel modules that it requires in addition to those of every node, each with its
	// kernel option: "vxlan": "VXLAN".
	Modules map[string]string
	// Iptables is true if it uses iptables in every mode of kube-proxy.
	Iptables bool

	// Requirements for net.ipv4.conf.LINK.rp_filter. StrictFails: strict mode drops packets, because
	// packets and their answers use different links. LooseForAllFails: it does not start if the value
	// for all links is 2. ByLink: it sets the value for all links itself, or accepts no other value.
	StrictFails, LooseForAllFails, ByLink bool

	// IPSets is true if it uses ipsets in the iptables mode of kube-proxy. Localhost is true if its
	// probes look up localhost on the host.
	IPSets, Localhost bool

	// FilterAlone is true if no other program may manage packet filter rules on the host.
	FilterAlone bool
}

// NeedsOf returns the needs of the configured plugin.
func NeedsOf(config Config) Needs {
	n := config.plugin().needs()
	n.Plugin = config.plugin().name()
	if config.VXLANPort() > 0 {
		n.Modules = map[string]string{"vxlan": "VXLAN"}
	}
	return n
}

// AllNeeds returns the needs of all plugins with tunnels, sorted by name.
func AllNeeds() []Needs {
	var all []Needs
	for _, name := range slices.Sorted(slices.Values(pluginNames())) {
		c := Config{Plugin: name}
		c.Default()
		all = append(all, NeedsOf(c))
	}
	return all
}
