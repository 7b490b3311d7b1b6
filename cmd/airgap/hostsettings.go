package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"airgap.dev/airgap/bundle/rpm"
	"airgap.dev/airgap/cni"
	"airgap.dev/airgap/gpu"
	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/internal/step"
	"airgap.dev/airgap/kubeadm"
	"airgap.dev/airgap/preflight"
)

// firstSteps write down what the host is like and whom it trusts, and let the
// other hosts in before anything listens.
func (s *site) firstSteps() []step.Step {
	steps := append([]step.Step{kubeadm.Record(s.machine), trustStep(requiredFile, s.required)}, s.choiceSteps()...)
	if s.config.HostSettings.Firewalld == kubeadm.LeaveFirewalld {
		return steps
	}
	f := kubeadm.Firewall{
		Address: s.node.Address, Ports: s.ports(),
		PodSubnet: s.config.Kubernetes.PodSubnet, PodLinks: cni.Links(s.config.Network),
		Routed: s.config.Network.Encapsulation == cni.Native || s.config.Network.Encapsulation == cni.CrossSubnet,
	}
	for _, n := range s.config.Nodes {
		f.Nodes = append(f.Nodes, n.Address)
		if n.Has(config.ControlPlane) {
			f.Masters = append(f.Masters, n.Address)
		}
	}
	return append(steps, kubeadm.FirewalldStep(s.machine, f))
}

// settingSteps are the settings that a node's programs need.
func (s *site) settingSteps() []step.Step {
	m := s.machine
	network := s.config.Network
	steps := []step.Step{s.versionLockStep(), kubeadm.Modules(m, network.VXLANPort() > 0), kubeadm.Sysctls(m), kubeadm.NetworkManagerStep(m, cni.Links(network))}
	if s.config.HostSettings.Swap == kubeadm.DisableSwap {
		steps = append(steps, kubeadm.SwapStep(m))
	}
	return steps
}

// versionLockStep locks those of the bundle's packages that airgap alone may
// replace. Which they are is asked when its turn has come, for packages may have
// brought some of them.
func (s *site) versionLockStep() step.Step {
	return later(rpm.VersionLockStep(rpm.VersionLock{UndoFile: versionlockUndo}), func() (step.Step, error) {
		l, err := s.versionLock()
		return rpm.VersionLockStep(l), err
	})
}

// versionLock has the packages of Kubernetes and of the runtime, and on a node with cards
// the driver's and the kernel's: another one of either would leave the cards without the
// other. A site that sees to the driver sees to its updates, which a lock would stop.
func (s *site) versionLock() (rpm.VersionLock, error) {
	l := rpm.VersionLock{UndoFile: versionlockUndo}
	cards := s.node.Has(config.GPU) && s.config.GPU.Source != gpu.Site
	names := []string{"kubelet", "kubeadm", "kubectl", "kubernetes-cni", "cri-tools"}
	if runtime := s.config.Runtime.Package(); runtime != "" {
		names = append(names, runtime)
	}
	packages, _, err := s.packages()
	if err != nil {
		return l, err
	}
	for _, p := range packages {
		n, err := rpm.ParseNEVRA(p.NEVRA)
		if err != nil {
			return l, err
		}
		if slices.Contains(names, n.Name) || cards && strings.Contains(n.Name, "nvidia") {
			l.Packages = append(l.Packages, n)
		}
	}
	if !cards {
		return l, nil
	}
	driver, err := s.installedDriver()
	if err != nil {
		return l, err
	}
	for _, n := range driver {
		if !slices.Contains(l.Packages, n) {
			l.Packages = append(l.Packages, n)
		}
	}
	kernels, err := rpm.Kernels(context.Background(), s.machine.Host)
	l.Packages = append(l.Packages, kernels...)
	return l, err
}

// installedDriver are the driver's packages that are there: a bundle leaves out what was
// before it came. By its version the driver is told from the card's firmware, which is
// Linux's, and from the toolkit.
func (s *site) installedDriver() ([]rpm.NEVRA, error) {
	version := s.lockedDriver()
	if version == "" {
		return nil, nil
	}
	return rpm.OfVersion(context.Background(), s.machine.Host, "*nvidia*", version)
}

// ports are those of this host.
func (s *site) ports() []kubeadm.Port {
	l := kubeadm.Listens{ControlPlane: s.node.Has(config.ControlPlane), Network: s.config.NetworkPorts()}
	if s.servesRegistry() {
		l.Registry = s.config.Registry.Port
	}
	return l.Ports()
}

// portsToHold are the ports whose programs run on this host.
func (s *site) portsToHold() []preflight.Port {
	var ports []preflight.Port
	for _, p := range s.ports() {
		if p.Program != "" {
			ports = append(ports, preflight.Port{Number: p.First, Protocol: p.Protocol, For: p.Program})
		}
	}
	return ports
}

// portsToOpen are those that others reach this host by, for people.
func (s *site) portsToOpen() []string {
	var ports []string
	for _, p := range s.ports() {
		if p.From != kubeadm.OnlySelf {
			ports = append(ports, fmt.Sprintf("%s from %s", p, p.From))
		}
	}
	return append(ports, "forwarding from the interfaces of the pod network")
}
