package nodesteps

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"airgap.dev/airgap/bundle/dnf"
	"airgap.dev/airgap/bundle/rpm"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/cni"
	"airgap.dev/airgap/gpu"
	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/internal/nevra"
	"airgap.dev/airgap/internal/settings"
	"airgap.dev/airgap/internal/step"
	"airgap.dev/airgap/kubeadm/leave"
	"airgap.dev/airgap/kubeadm/runtime"
	"airgap.dev/airgap/preflight/facts"
)

// FirstSteps record the state of the host and its trusted keys, and open the firewall for the
// other hosts before any service listens.
func FirstSteps(s *site.Site) []step.Step {
	steps := append([]step.Step{leave.Record(s.Machine.Member), TrustStep(SiteTrust(), s.Required)}, choiceSteps(s)...)
	if f := wantedFirewall(s); f != nil {
		steps = append(steps, settings.FirewalldStep(s.Machine.Machine, *f), rulesStep(s))
	}
	return steps
}

// wantedFirewall returns nil if the site manages firewalld.
func wantedFirewall(s *site.Site) *settings.Firewall {
	if s.Config.HostSettings.Firewalld == settings.LeaveFirewalld {
		return nil
	}
	f := &settings.Firewall{
		Address: s.Node.Address, Ports: listening(s),
		PodSubnet: s.Config.Kubernetes.PodSubnet, PodLinks: cni.Links(s.Config.Network),
		Routed: s.Config.Network.Encapsulation == cni.Native || s.Config.Network.Encapsulation == cni.CrossSubnet,
	}
	for _, n := range s.Config.Nodes {
		f.Nodes = append(f.Nodes, n.Address)
		if n.Has(config.ControlPlane) {
			f.Masters = append(f.Masters, n.Address)
		}
	}
	return f
}

// SettingSteps are the settings that a node's programs need.
func SettingSteps(s *site.Site) []step.Step {
	m := s.Machine
	network := s.Config.Network
	steps := []step.Step{versionLockStep(s), settings.Modules(m.Machine, cni.NeedsOf(network).Modules), settings.Sysctls(m.Machine), settings.NetworkLimitsStep(m.Machine, NetworkLimits(s)), settings.NetworkManagerStep(m.Machine, cni.Links(network)), settings.MountsStep(m.Machine, waiting(s))}
	if s.Config.HostSettings.Swap == settings.DisableSwap {
		steps = append(steps, settings.SwapStep(m.Machine))
	}
	if s.Config.HostSettings.TunnelChecksum == settings.SoftwareChecksum && network.VXLANPort() > 0 {
		steps = append(steps, settings.TunnelChecksumStep(m.Machine, cni.Tunnel(network)))
	}
	return steps
}

// waiting are the directories without which the kubelet and the runtime must not start.
func waiting(s *site.Site) []settings.UnitPaths {
	images, unit := []string{"/var/lib/containerd"}, "containerd.service"
	if s.Config.Runtime.CRIO() {
		images, unit = []string{runtime.CrioDir, "/var/lib/containers"}, "crio.service"
	}
	kubelet := slices.Concat([]string{runtime.KubeletDir}, images)
	if s.Node.Has(config.ControlPlane) {
		kubelet = append(kubelet, facts.EtcdDir)
	}
	return []settings.UnitPaths{{Unit: "kubelet.service", Paths: kubelet}, {Unit: unit, Paths: images}}
}

// versionLockStep locks those of the bundle's packages that airgap alone may
// replace. Which they are is asked when its turn has come, for packages may have
// brought some of them.
func versionLockStep(s *site.Site) step.Step {
	return later(dnf.VersionLockStep(dnf.VersionLock{UndoFile: site.VersionlockUndo}), func() (step.Step, error) {
		l, err := VersionLock(s)
		return dnf.VersionLockStep(l), err
	})
}

// VersionLock has the packages of Kubernetes and of the runtime, and on a node with cards
// the driver's and the kernel's: another one of either would leave the cards without the
// other. A site that sees to the driver sees to its updates, which a lock would stop.
func VersionLock(s *site.Site) (dnf.VersionLock, error) {
	l := dnf.VersionLock{UndoFile: site.VersionlockUndo}
	cards := s.Node.Has(config.GPU) && s.Config.GPU.Source != gpu.Site
	names := []string{"kubelet", "kubeadm", "kubectl", "kubernetes-cni", "cri-tools"}
	if runtime := s.Config.Runtime.Package(); runtime != "" {
		names = append(names, runtime)
	}
	packages, _, err := Packages(s)
	if err != nil {
		return l, err
	}
	for _, p := range packages {
		n := p.NEVRA.NEVRA
		if slices.Contains(names, n.Name) || cards && strings.Contains(n.Name, "nvidia") {
			l.Packages = append(l.Packages, n)
		}
	}
	if !cards {
		return l, nil
	}
	driver, err := installedDriver(s)
	if err != nil {
		return l, err
	}
	for _, n := range driver {
		if !slices.Contains(l.Packages, n) {
			l.Packages = append(l.Packages, n)
		}
	}
	kernels, err := rpm.Kernels(context.Background(), s.Machine.Host)
	l.Packages = append(l.Packages, kernels...)
	return l, err
}

// installedDriver returns the installed packages of the driver: a bundle does not contain packages
// that were already installed. The version distinguishes the driver from the GPU firmware in
// linux-firmware, and from the toolkit.
func installedDriver(s *site.Site) ([]nevra.NEVRA, error) {
	version := lockedDriver(s)
	if version == "" {
		return nil, nil
	}
	return rpm.OfVersion(context.Background(), s.Machine.Host, "*nvidia*", version)
}

// listening returns the listeners of this host.
func listening(s *site.Site) []settings.Port {
	l := settings.Listens{ControlPlane: s.Node.Has(config.ControlPlane), Network: s.Config.NetworkPorts(), HostPort: HostPort(s)}
	if s.ServesRegistry() {
		l.Registry = s.Config.Registry.Port
	}
	return l.Ports()
}

// HostPort returns the hostPort of the pods that test the pod network; 0 if they have none.
func HostPort(s *site.Site) int {
	if s.Config.Network.TestsHostPort(s.Config.Kubernetes.ProxyMode(s.Facts)) {
		return settings.HostPort
	}
	return 0
}

// NetworkLimits are the limits that the cluster needs in this host's kernel. No program listens on the
// port of the hostPort test, so an outgoing connection may use it.
func NetworkLimits(s *site.Site) settings.NetworkLimits {
	ports := slices.DeleteFunc(listening(s), func(p settings.Port) bool { return p.Program == settings.HostPortProgram })
	return settings.NetworkLimits{Nodes: len(s.Config.Nodes), PodsPerNode: s.Config.Kubernetes.MaxPods(), Ports: ports}
}

// NodePorts returns the ranges of the ports of Services.
func NodePorts(s *site.Site) [][2]int {
	var ranges [][2]int
	for _, p := range listening(s) {
		if p.Program == "" && !slices.Contains(ranges, [2]int{p.First, p.Last}) {
			ranges = append(ranges, [2]int{p.First, p.Last})
		}
	}
	return ranges
}

// PortsToHold returns the ports of programs on this host.
func PortsToHold(s *site.Site) []facts.Port {
	var ports []facts.Port
	for _, p := range listening(s) {
		if p.Program != "" {
			ports = append(ports, facts.Port{Number: p.First, Protocol: p.Protocol, For: p.Program, Redirected: p.Program == settings.HostPortProgram})
		}
	}
	return ports
}

// PortsToOpen are those that others reach this host by, for people.
func PortsToOpen(s *site.Site) []string {
	var ports []string
	for _, p := range listening(s) {
		if p.From != settings.OnlySelf {
			ports = append(ports, fmt.Sprintf("%s from %s", p, p.From))
		}
	}
	return append(ports, "forwarding from the interfaces of the pod network")
}
