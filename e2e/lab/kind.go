package lab

import (
	"net"
	"path/filepath"
	"slices"
)

// A Kind is the type of a server.
type Kind string

const (
	// KindContainer starts in a second and runs at full speed, on the outer machine's
	// kernel: see Container.
	KindContainer Kind = "container"

	// KindSmall is a container with a separate disk of 4 GB for images, which a scenario
	// can fill.
	KindSmall Kind = "small container"

	// KindHopper and KindVolta are containers with NVIDIA GPUs on their PCI bus. The lab's
	// upstream has drivers for them: see pci.go.
	KindHopper Kind = "container with H100"
	KindVolta  Kind = "container with V100"

	// KindEmulated has its own processor, kernel and disk, and is about sixteen times
	// slower: see Emulated.
	KindEmulated Kind = "emulated"
)

// contained reports whether the server is a container.
func (k Kind) contained() bool {
	return k == KindContainer || k == KindSmall || len(k.pciDevices()) > 0
}

// pciDevices are the devices on the server's PCI bus.
func (k Kind) pciDevices() []pciDevice {
	switch k {
	case KindHopper:
		return hopper()
	case KindVolta:
		return volta()
	}
	return nil
}

// Times returns n servers of one kind, for Config.Nodes.
func (k Kind) Times(n int) []Kind { return slices.Repeat([]Kind{k}, n) }

// machine returns server i of the lab. Like assemble, it has no effect outside of the process.
func (cfg Config) machine(i int, network Network) Machine {
	name, addr, hosts := nodeName(i), nodeAddr(i), hostsFile(len(cfg.Nodes))
	dir := filepath.Join(runDir(cfg.Cache, cfg.Run), name)
	cgroup := cgroup{path: filepath.Join("airgap-lab", cfg.Run, name)}
	if cfg.Nodes[i] == KindEmulated {
		e := &Emulated{name: name, addr: addr, dir: dir, image: cfg.Image, hosts: hosts, network: network, cgroup: cgroup}
		e.ssh = &sshHost{name: name, addr: net.JoinHostPort(addr.String(), "22"), dial: network.dial, config: e.sshConfig}
		return e
	}
	return &Container{
		name: name, addr: addr, machine: cfg.Run + "-" + name, dir: dir, layers: cfg.Layers,
		hosts: hosts, network: network, cgroup: cgroup, small: cfg.Nodes[i] == KindSmall, pci: cfg.Nodes[i].pciDevices(),
	}
}
