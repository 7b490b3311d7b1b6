// Package nodesteps has the steps that make a host ready to be a node: registry, packages,
// settings, GPUs, runtime.
package nodesteps

import (
	"crypto/ecdsa"

	"airgap.dev/airgap/bundle"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/step"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/kubeadm/runtime"
	"airgap.dev/airgap/registry"
	"airgap.dev/airgap/registry/names"
	"airgap.dev/airgap/registry/trust"
)

// RegistrySteps returns the steps of every control-plane host that store and serve the
// bundle.
func RegistrySteps(s *site.Site, v *bundle.View, trusted []*ecdsa.PublicKey, p ui.Progress) []step.Step {
	pki := trust.PKI{Dir: site.PKIDir, Group: site.ServiceGroup}
	return []step.Step{
		registry.StoreStep(s.Store, v, trusted, p),
		registry.CertificatesStep(pki, []string{s.Node.Name, s.Node.Address}),
		registry.ServiceStep(registry.Service{
			Host: host.Local{}, OptionsFile: site.RegistryOpts, Port: s.Config.Registry.Port, Peers: s.Registries()[1:],
			Addr: s.RegistryAddr(), CAFile: pki.CAFile(), Bundles: v.Bundles(),
		}),
	}
}

// Steps returns the steps of every node: packages, settings, runtime. The packages
// come from the registry at addr.
func Steps(s *site.Site, from Source, addr string, p ui.Progress) ([]step.Step, error) {
	m := s.Machine
	var l step.List
	l.Extend(beforeDriver(s))
	l.Try(PackagesOf(s, from, addr, nil))
	l.Add(SettingSteps(s)...)
	l.Extend(driverSteps(s, from, p))
	if s.Config.Runtime.Package() == "" { // else its package has brought the programs
		l.Add(runtime.LabelsStep(m.Machine), runtime.FilesStep(m.Machine, s.Config.Runtime, s.Arch(), from.files))
	}
	l.Add(runtime.FapolicydStep(m.Machine, s.Config.Runtime))
	l.Try(MirrorStep(s))
	l.Extend(RuntimeSteps(s))
	return l.Steps()
}

// RuntimeSteps start the runtime and check that images come from the right registry.
// A registry of the site has no canary image: kubeadm's first pull
// checks it.
func RuntimeSteps(s *site.Site) ([]step.Step, error) {
	options, err := Runtime(s)
	m := s.Machine.Machine
	steps := []step.Step{runtime.ServiceStep(m, options), runtime.NetworkMovedStep(m), runtime.CrictlStep(m, s.Config.Runtime)}
	if s.Config.Registry.Existing == nil {
		steps = append(steps, runtime.PullStep(s.Machine.Machine, names.Canary, options.Mirrors))
	}
	if s.Config.Runtime.PinsByLabel() {
		steps = append(steps, runtime.PinStep(s.Machine.Machine, options.Pinned))
	}
	return steps, err
}
