package lab

import (
	"net"
	"path/filepath"
	"slices"
)

// A Kind is what a server is made of.
type Kind string

const (
	// KindContainer starts in a second and runs at full speed, under the outer
	// machine's kernel: see Container.
	KindContainer Kind = "container"

	// KindSmall is a container whose images lie on a disk of 4 GB, its own, which
	// can be filled.
	KindSmall Kind = "small container"

	// KindHopper and KindVolta are containers with NVIDIA's cards on their PCI bus, for
	// which the lab's upstream has drivers: see pci.go.
	KindHopper Kind = "container with H100"
	KindVolta  Kind = "container with V100"

	// KindEmulated has a processor, a kernel and a disk of its own, and is some
	// sixteen times slower: see Emulated.
	KindEmulated Kind = "emulated"
)

// contained reports whether the server is a container.
func (k Kind) contained() bool {
	return k == KindContainer || k == KindSmall || len(k.cards()) > 0
}

// cards are NVIDIA's on the server's PCI bus.
func (k Kind) cards() []pciDevice {
	switch k {
	case KindHopper:
		return hopper()
	case KindVolta:
		return volta()
	}
	return nil
}

// Times is n servers of one kind, for Config.Nodes.
func (k Kind) Times(n int) []Kind { return slices.Repeat([]Kind{k}, n) }

// machine is server i of the lab. It is pure, as assemble is.
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
		hosts: hosts, network: network, cgroup: cgroup, small: cfg.Nodes[i] == KindSmall, cards: cfg.Nodes[i].cards(),
	}
}
