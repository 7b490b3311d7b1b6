package cni

import "slices"

// Needs are what a pod network asks of a node's kernel, and of what others set there: data for
// preflight and for the steps that set a host up. Its ports are those of
// Ports.
type Needs struct {
	Plugin string

	// Kernel is the oldest that it works with, "5.10"; "" where Kubernetes' own is enough.
	// KernelFrom are older ones that do, since their vendor has put in what it needs: by the major
	// version of Enterprise Linux, the minor from which on.
	Kernel                  string
	KernelFrom              map[string]int
	KernelSource, KernelFix string

	// Modules are the kernel modules that it wants loaded beside those of every node, each with
	// the kernel option that builds it: "vxlan": "VXLAN".
	Modules map[string]string
	// Iptables says that its rules are iptables', in whatever mode kube-proxy is.
	Iptables bool

	// What it makes of net.ipv4.conf.LINK.rp_filter. StrictFails: packets come in by another link
	// than answers would leave by. LooseForAllFails: it does not start where 2 is for all links.
	// ByLink: it sets what is for all links itself, or bears no other value there.
	StrictFails, LooseForAllFails, ByLink bool

	// FilterAlone says that no other program may manage packet filter rules next to it.
	FilterAlone bool
}

// NeedsOf are those of the configured plugin.
func NeedsOf(config Config) Needs {
	n := config.plugin().needs()
	n.Plugin = config.plugin().name()
	if config.VXLANPort() > 0 {
		n.Modules = map[string]string{"vxlan": "VXLAN"}
	}
	return n
}

// AllNeeds are those of every plugin, with tunnels, by their names.
func AllNeeds() []Needs {
	var all []Needs
	for _, name := range slices.Sorted(slices.Values(pluginNames())) {
		c := Config{Plugin: name}
		c.Default()
		all = append(all, NeedsOf(c))
	}
	return all
}
